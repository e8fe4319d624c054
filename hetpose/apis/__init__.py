"""The Python interface: each name is imported when it is first used."""

from hetpose import lazy

_MODULES = {
    'add_covariance': ('converted_text',),
    'calibration.calibrate': ('calibrate',),
    'calibration.predict': ('predict_split', 'predict_splits'),
    'calibration.predictions': ('Predictions', 'read_arrays'),
    'calibration.recalibration': ('Recalibration',),
    'data.browse': ('browse',),
    'data.feature_views': ('write_views',),
    'data.prepare_pose': ('prepare_pose_sets',),
    'data.prepare_uci': ('prepare_uci_sets',),
    'data.pseudo_labels': ('make_pseudo_labels',),
    'demo.hybrid': ('results_table', 'run_demo'),
    'demo.photographs': ('draw_photographs',),
    'distillation': ('DistillSettings', 'distill'),
    'doctor': ('diagnose',),
    'export.onnx': ('export_onnx',),
    'fit.branch': ('fit_branch',),
    'fit.fit': ('fit_covariance',),
    'fit.forms': ('FitSettings',),
    'fit.training': ('TrainingSettings',),
    'inference.boxes': ('read_boxes',),
    'inference.conditioning': ('condition_prediction', 'parse_given'),
    'inference.inferencer': ('HetPoseInferencer',),
    'loading': ('PoseModel', 'load_pose_model'),
    'logs': ('plot_curves',),
    'shipped': ('calibration_of', 'pack_model'),
    'suites.results': ('write_results',),
    'suites.run': ('Given', 'find_suite', 'rebuild_reports', 'run_suite'),
    'trust': ('keep_weights',),
    'training': ('evaluate', 'join_processes', 'load_config', 'train'),
}

__getattr__, __dir__, __all__ = lazy.attach(
    __name__, {name: f'hetpose.apis.{module}' for module in _MODULES for name in _MODULES[module]}
)
