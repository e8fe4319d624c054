"""Predict poses with their covariances, in the image of mmpose's MMPoseInferencer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from mmengine.config import Config
from mmpose.structures import PoseDataSample
from tqdm import tqdm

from hetpose.apis.calibration.recalibration import Recalibration
from hetpose.apis.inference import people
from hetpose.apis.inference.boxes import BoxSource, Detector
from hetpose.apis.inference.conditioning import Given, check_given
from hetpose.apis.inference.film import smooth_file, smooth_live
from hetpose.apis.inference.inputs import BadInput, Images, Picture, Source, Webcam, open_inputs
from hetpose.apis.inference.network import Predictor, Report, check_predictions
from hetpose.apis.inference.outputs import Drawing, Outputs, open_outputs
from hetpose.apis.inference.smoothing import Crowd, MotionSettings
from hetpose.apis.loading import PoseModel, load_pose_model
from hetpose.apis.shipped import calibration_of, is_name
from hetpose.errors import UserError, unknown_name
from hetpose.visualization import HetPoseVisualizer
from hetpose.visualization.panels import PANELS

SMALLEST_PICTURE = 480  # pixels of the longer side; smaller images are enlarged


class HetPoseInferencer:
    """Poses, covariances and pictures from images, folders, globs, arrays, videos and cameras.

    Args:
        pose2d: Config file, mmengine Config, a model from ``load_pose_model``, or the name of a
            model that comes with hetpose, such as 'human': it brings its calibration, and people
            are found by 'person'.
        pose2d_weights: Checkpoint file; None leaves the weights random.
        device: 'cpu', 'cuda', 'cuda:1'; None takes a GPU where there is one.
        det_model: 'person', the detector that comes with hetpose; a detector of mmdet by config or
            name; or a function from a BGR image to boxes (N, 4) or (N, 5). None takes the whole
            image where no boxes are given.
        det_weights, det_cat_ids, nms_thr: As in mmpose, for a detector of mmdet.
        bbox_thr: Boxes that score less are left out; None is 0.3 for mmdet's detectors, as in
            mmpose, and 0.12 for ours.
        calibration: File of ``tools/calibrate.py``, or a Recalibration, for this model.
        cfg_options: Changes to the config, by dotted key.

    Example:
        >>> inferencer = HetPoseInferencer('config.py', 'checkpoint.pth')
        >>> for result in inferencer('images/', bboxes=None, pred_out_dir='out'):
        ...     people = result['predictions'][0]
    """

    def __init__(
        self,
        pose2d: str | Path | Config | PoseModel,
        pose2d_weights: str | Path | None = None,
        device: str | None = None,
        det_model: str | Detector | None = None,
        det_weights: str | None = None,
        det_cat_ids: int | Sequence[int] = (0,),
        bbox_thr: float | None = None,
        nms_thr: float = 0.3,
        calibration: str | Path | Recalibration | None = None,
        cfg_options: dict[str, Any] | None = None,
    ) -> None:
        if isinstance(pose2d, str) and is_name(pose2d):
            det_model = people.NAME if det_model is None else det_model
            calibration = calibration_of(pose2d) if calibration is None else calibration
        if isinstance(pose2d, PoseModel):
            if pose2d_weights is not None or cfg_options:
                raise UserError('a model that is already built takes no weights and no options')
            self.model = pose2d
        else:
            self.model = load_pose_model(pose2d, pose2d_weights, device, cfg_options)
        self.predictor = Predictor(self.model, calibration)
        self.joint_names = self.model.joint_names
        self.visualizer = HetPoseVisualizer(smallest=SMALLEST_PICTURE)
        self.visualizer.set_dataset_meta(self.model.meta)
        self.detector = people.find_detector(
            det_model, det_weights, self.model.device, det_cat_ids, bbox_thr, nms_thr
        )

    def __call__(
        self,
        inputs: Any,
        bboxes: Any = None,
        batch_size: int = 1,
        *,
        smooth: bool | MotionSettings = False,
        num_instances: int = -1,
        show_progress: bool = False,
        return_vis: bool = False,
        show: bool = False,
        wait_time: float = 0,
        draw_bbox: bool = False,
        kpt_thr: float = 0.0,
        coverage: float = 0.9,
        panels: Sequence[str] = (),
        thickness: int | None = None,
        radius: int | None = None,
        black_background: bool = False,
        show_kpt_idx: bool = False,
        vis_out_dir: str | Path = '',
        pred_out_dir: str | Path = '',
        out_dir: str | Path | None = None,
        return_datasamples: bool = False,
        full_covariance: str | None = None,
        given: Given | None = None,
        robust: bool = False,
        on_bad_input: Callable[[BadInput], None] | None = None,
    ) -> Iterator[dict[str, Any]]:
        """Predict; a generator with one item for every image or frame, in order.

        An item has ``predictions``, a list with the image's list of people as
        ``predictions.schema.json`` describes them; ``visualization``, a list with the drawing
        (RGB) if ``return_vis``; and ``input``, the image's name.

        Args:
            inputs: Path of an image, a folder or a video; a glob; an array (BGR uint8); a list;
                'webcam' or 'webcam:1' for a camera.
            bboxes: See ``BoxSource``: boxes of every image, or for each, or by name.
            batch_size: Crops that go through the network at once; a camera's go one by one.
            smooth: For a video or a camera: people are followed, and a Kalman filter whose
                measurement noise is the covariance of the frame places their joints; for a file
                backward too. MotionSettings describe how people move.
            num_instances: At most so many people in an image, those with the best boxes; -1: all.
            show_progress: Show how many of the images are done.
            kpt_thr: Joints with a lower score are not drawn. 0, unlike mmpose's 0.3: the ellipse
                already shows that a joint is uncertain.
            coverage: Probability that an ellipse holds its joint.
            panels: 'correlation' and 'heatmaps', drawn to the right of the image.
            thickness, radius: Of lines and joints, in pixels; None: by the image's size.
            black_background: Draw on black instead of the image.
            show_kpt_idx: Write the joints' numbers.
            vis_out_dir, pred_out_dir: Folders to write pictures and predictions to; with
                ``out_dir`` they default to its ``visualizations`` and ``predictions``.
            return_datasamples: Return PoseDataSample objects in place of lists of people.
            full_covariance: 'json' or 'npz': also write the full covariance, and where.
            given: Known places (x, y) by joint name: the others are conditioned on them. For one
                image with one person.
            robust: Given joints move another one only where its present place has become
                improbable; see ``condition_pose``.
            on_bad_input: Called with every input that cannot be predicted, after which the next
                one follows; None raises a UserError instead.
        """
        if out_dir is not None:
            vis_out_dir = vis_out_dir or Path(out_dir) / 'visualizations'
            pred_out_dir = pred_out_dir or Path(out_dir) / 'predictions'
        source = open_inputs(inputs)
        boxes = BoxSource(bboxes, None if bboxes is not None else self.detector, num_instances)
        self._check(source, boxes, batch_size, coverage, panels, given)
        if smooth and isinstance(source, Images):
            raise UserError('smooth joins the frames of a video or a camera; these are images')
        outputs = open_outputs(
            source,
            pred_out_dir=pred_out_dir,
            vis_out_dir=vis_out_dir,
            full_covariance=full_covariance,
            joint_names=self.joint_names,
        )
        wanted = return_vis or show or bool(str(vis_out_dir))
        drawing = Drawing(
            wanted,
            draw_bbox,
            kpt_thr,
            show,
            # A film goes on by itself; an image waits for a key.
            wait_time or (0.0 if isinstance(source, Images) else 1e-3),
            return_vis,
            coverage,
            tuple(panels),
            thickness,
            radius,
            black_background,
            show_kpt_idx,
        )
        report = on_bad_input or _raise
        heatmaps = wanted and 'heatmaps' in panels
        batch_size = 1 if isinstance(source, Webcam) else batch_size
        shown = _with_progress(source) if show_progress else source
        found = self.predictor.predict(shown, boxes, batch_size, report, heatmaps)
        if smooth:
            settings = smooth if isinstance(smooth, MotionSettings) else MotionSettings()
            found = self._smooth(found, source, settings, wanted)
        live = isinstance(source, Webcam)
        found = self._condition(found, given, robust, report)
        return self._deliver(found, outputs, drawing, return_datasamples, report, live)

    def _smooth(
        self,
        found: Iterator[tuple[Picture, PoseDataSample]],
        source: Source,
        settings: MotionSettings,
        drawn: bool,
    ) -> Iterator[tuple[Picture, PoseDataSample]]:
        crowd = Crowd(len(self.joint_names), self._links(), settings)
        if isinstance(source, Webcam):
            return smooth_live(found, crowd, self.predictor.replace)
        return smooth_file(found, crowd, self.predictor.replace, source if drawn else None)

    def _links(self) -> list[tuple[int, int]]:
        """The bones between predicted joints."""
        names = self.model.meta['keypoint_id2name']
        place = {name: k for k, name in enumerate(self.joint_names)}
        bones = ((names[a], names[b]) for a, b in self.model.meta.get('skeleton_links', ()))
        return [(place[a], place[b]) for a, b in bones if a in place and b in place]

    def _check(
        self,
        source: Source,
        boxes: BoxSource,
        batch_size: int,
        coverage: float,
        panels: Sequence[str],
        given: Given | None,
    ) -> None:
        if batch_size < 1:
            raise UserError(f'batch_size must be at least 1, got {batch_size}')
        if not 0 < coverage < 1:
            raise UserError(f'coverage must lie between 0 and 1, got {coverage}')
        for panel in set(panels) - set(PANELS):
            raise unknown_name('panel', panel, PANELS)
        if given is not None:
            check_given(given, self.joint_names)
            if not isinstance(source, Images) or len(source) != 1:
                raise UserError('given joints belong to one image; there are several inputs')
        if isinstance(source, Images):  # a video's own count of frames is an estimate
            boxes.check_length(len(source))

    def _condition(
        self,
        found: Iterator[tuple[Picture, PoseDataSample]],
        given: Given | None,
        robust: bool,
        report: Report,
    ) -> Iterator[tuple[Picture, PoseDataSample]]:
        """Every prediction, given some joints; what cannot be conditioned is reported."""
        for picture, sample in found:
            try:
                if given is not None:
                    self.predictor.condition(sample, given, robust)
            except ValueError as error:
                report(BadInput(picture.name, str(error)))
                continue
            yield picture, sample

    def _deliver(
        self,
        found: Iterator[tuple[Picture, PoseDataSample]],
        outputs: Outputs,
        drawing: Drawing,
        return_datasamples: bool,
        report: Report,
        live: bool = False,
    ) -> Iterator[dict[str, Any]]:
        """Draw, write and hand over every prediction."""
        try:
            for picture, sample in found:
                try:
                    check_predictions(sample.pred_instances)
                except ValueError as error:
                    report(BadInput(picture.name, str(error)))
                    continue
                drawn = drawing.draw(self.visualizer, picture, sample)
                outputs.add(picture, sample.pred_instances, drawn)
                people = sample if return_datasamples else outputs.json(sample.pred_instances)
                yield {
                    'predictions': [people],
                    'visualization': [drawn] if drawing.returned else [],
                    'input': picture.name,
                }
        except UserError:
            outputs.close()  # the frames before a bad one are kept
            raise
        except BaseException as error:
            if live and isinstance(error, KeyboardInterrupt | GeneratorExit):
                outputs.close()  # a camera has no other end
            else:
                outputs.abandon()
            raise
        outputs.close()


def _raise(bad: BadInput) -> None:
    raise UserError(str(bad))


def _with_progress(source: Source) -> Iterable[Picture | BadInput]:
    total = None if isinstance(source, Webcam) else len(source)
    unit = ' images' if isinstance(source, Images) else ' frames'
    return tqdm(source, total=total, unit=unit, leave=False)
