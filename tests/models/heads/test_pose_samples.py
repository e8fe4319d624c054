"""Real images of MPII and COCO go through data set, model and evaluator."""

from pathlib import Path

import mmpose
import numpy as np
import pytest
import torch
from mmengine.config import Config
from mmengine.dataset import pseudo_collate
from mmpose.registry import DATASETS, MODELS

from hetpose.engine import launch
from hetpose.evaluation.metrics import HeteroscedasticPoseMetric
from hetpose.paths import data_root

CONFIG = 'configs/pose/td-hybrid_vit-64x12_1xb32-40e_lspet-256x256.py'
SETS = {
    'mpii_sample': ('MPII14Dataset', 'test_mpii.json', 14),
    'coco_sample': ('CocoDataset', 'test_coco.json', 17),
}


@pytest.mark.parametrize('name', SETS)
def test_samples_predict(name, root):
    folder = data_root(name)
    if not folder.is_dir():
        pytest.skip(f'{folder} is absent: set HETPOSE_DATA')
    kind, annotations, joints = SETS[name]
    config = launch.load_config(root / CONFIG)
    dataset = DATASETS.build(
        dict(
            type=kind,
            ann_file=annotations,
            data_root=str(folder),
            data_prefix=dict(img=''),
            pipeline=config.val_pipeline,
            test_mode=True,
        )
    )
    config.model.backbone.arch.num_layers = 1
    config.model.head.out_channels = joints
    model = MODELS.build(config.model).eval()
    with torch.no_grad():
        samples = model.test_step(pseudo_collate([dataset[i] for i in range(len(dataset))]))
    metric = HeteroscedasticPoseMetric()
    metric.dataset_meta = dataset.metainfo
    metric.process({}, [sample.to_dict() for sample in samples])
    metrics = metric.evaluate(len(samples))
    assert len(samples) > 0
    for sample in samples:
        predicted = sample.pred_instances
        assert predicted.keypoints.shape == (1, joints, 2)
        assert np.linalg.eigvalsh(predicted.covariances[0]).min() > 0
        assert ((predicted.keypoint_scores >= 0) & (predicted.keypoint_scores <= 1)).all()
        # An untrained model predicts the middle of the crop, which is the middle of the box.
        x1, y1, x2, y2 = sample.gt_instances.bboxes[0]
        centre = np.array([x1 + x2, y1 + y2]) / 2
        assert np.abs(predicted.keypoints[0] - centre).max() < 0.1 * max(x2 - x1, y2 - y1)
    assert np.isfinite(metrics['pose/nll'])


def test_published_vitpose_weights_load_by_name(root):
    """mmpose's own ViTPose-S config and ours: every weight fits, the positions are resampled."""
    folder = Path(mmpose.__file__).parent / '.mim/configs/body_2d_keypoint/topdown_heatmap/coco'
    theirs = Config.fromfile(folder / 'td-hm_ViTPose-small_8xb64-210e_coco-256x192.py').model
    ours = launch.load_config(
        root / 'configs/pose/td-hybrid_vitpose-small_1xb32-100e_mpii-lsp-lspet-256x256.py'
    ).model
    ours.head.out_channels = theirs.head.out_channels
    published = MODELS.build(theirs).state_dict()
    result = MODELS.build(ours).load_state_dict(published, strict=False)
    assert not result.unexpected_keys
    new = ('head.bottleneck.', 'head.covariance_branch.', 'head._extra_state')
    assert result.missing_keys
    assert all(key.startswith(new) for key in result.missing_keys)
