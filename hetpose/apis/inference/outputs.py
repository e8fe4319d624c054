"""The outputs of an inferencer: JSON, NPZ and pictures, each file whole or absent.

The formats are described in ``predictions.schema.json``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from mmengine.structures import InstanceData
from mmpose.structures import PoseDataSample

from hetpose.apis.inference.inputs import Images, Picture, Source, Video, Webcam
from hetpose.errors import UserError
from hetpose.fileio import atomic_path, write_image, write_json
from hetpose.visualization import HetPoseVisualizer

FULL_COVARIANCE = ('json', 'npz')
_WRITABLE = {'.jpg', '.jpeg', '.png', '.bmp', '.webp', '.tif', '.tiff'}


@dataclass(frozen=True)
class Drawing:
    """The settings of a picture; they are the arguments of ``HetPoseInferencer``."""

    wanted: bool
    draw_bbox: bool = False
    kpt_thr: float = 0.0
    show: bool = False
    wait_time: float = 0.0
    returned: bool = False
    coverage: float = 0.9
    panels: tuple[str, ...] = ()
    thickness: int | None = None
    radius: int | None = None
    black_background: bool = False
    show_kpt_idx: bool = False

    def draw(
        self, visualizer: HetPoseVisualizer, picture: Picture, sample: PoseDataSample
    ) -> np.ndarray | None:
        """The picture (H, W, 3), RGB, with its people; None where no picture is wanted."""
        if not self.wanted:
            return None
        image = np.ascontiguousarray(picture.image[..., ::-1])
        visualizer.coverage, visualizer.panels = self.coverage, self.panels
        visualizer.thickness, visualizer.joint_radius = self.thickness, self.radius
        return visualizer.add_datasample(
            Path(picture.name).name,
            np.zeros_like(image) if self.black_background else image,
            sample,
            draw_gt=False,
            draw_bbox=self.draw_bbox,
            show_kpt_idx=self.show_kpt_idx,
            kpt_thr=self.kpt_thr,
            show=self.show,
            wait_time=self.wait_time,
        )


def schema() -> dict[str, Any]:
    """The JSON Schema of prediction files."""
    path = Path(__file__).with_name('predictions.schema.json')
    return json.loads(path.read_text(encoding='utf-8'))


def to_json(instances: InstanceData, full_covariance: bool = False) -> list[dict[str, Any]]:
    """Instances as JSON values: what mmpose writes, the joints' 2×2 covariances, the full one."""
    people = []
    for i in range(len(instances.keypoints)):
        person = {
            'keypoints': instances.keypoints[i].tolist(),
            'keypoint_scores': instances.keypoint_scores[i].tolist(),
            'covariance': instances.keypoint_covariances[i].tolist(),
            'bbox': [instances.bboxes[i].tolist()],  # mmpose wraps the box in a list
            'bbox_score': float(instances.bbox_scores[i]),
        }
        if 'keypoint_probabilities' in instances:
            person['keypoint_probabilities'] = instances.keypoint_probabilities[i].tolist()
        if 'degrees_of_freedom' in instances:
            person['degrees_of_freedom'] = float(instances.degrees_of_freedom[i])
        if full_covariance:
            person['full_covariance'] = instances.covariances[i].tolist()
        if 'track_ids' in instances:
            person['track_id'] = int(instances.track_ids[i])
        people.append(person)
    return people


def to_arrays(frames: Sequence[InstanceData], frame_ids: Sequence[int]) -> dict[str, np.ndarray]:
    """The people of all frames as arrays: keypoints (N, K, 2), covariances (N, 2K, 2K), ..."""
    counts = [len(instances.keypoints) for instances in frames]
    arrays = {'frame_id': np.repeat(np.asarray(frame_ids, dtype=np.int64), counts)}
    names = ['keypoints', 'keypoint_scores', 'covariances', 'bboxes', 'bbox_scores']
    for name in ('track_ids', 'degrees_of_freedom', 'keypoint_probabilities'):
        names += [name] if all(name in instances for instances in frames) else []
    for name in names:
        arrays[name] = np.concatenate([np.asarray(instances[name]) for instances in frames])
    return arrays


class Outputs:
    """Writes what was asked for; the base writes nothing."""

    def __init__(
        self,
        pred_out_dir: str | Path = '',
        vis_out_dir: str | Path = '',
        full_covariance: str | None = None,
        joint_names: Sequence[str] = (),
    ) -> None:
        if full_covariance not in (None, *FULL_COVARIANCE):
            raise UserError(f'full_covariance must be json or npz, got {full_covariance!r}')
        self.predictions = _folder(pred_out_dir)
        self.pictures = _folder(vis_out_dir)
        self.full_covariance = full_covariance
        self.joint_names = list(joint_names)
        if full_covariance == 'npz' and self.predictions is None:
            raise UserError('full_covariance npz is written next to the JSON: give pred_out_dir')

    def json(self, instances: InstanceData) -> list[dict[str, Any]]:
        """One image's predictions, as they are written and returned."""
        return to_json(instances, self.full_covariance == 'json')

    def add(self, picture: Picture, instances: InstanceData, drawn: np.ndarray | None) -> None:
        """Take one image's predictions and its drawing, RGB."""

    def close(self) -> None:
        """Finish what is written at the end."""

    def abandon(self) -> None:
        """Leave no half-written file behind."""

    def _save_arrays(
        self, path: Path, frames: Sequence[InstanceData], frame_ids: Sequence[int]
    ) -> None:
        arrays: dict[str, Any] = to_arrays(frames, frame_ids)
        with atomic_path(path) as temporary:
            np.savez_compressed(temporary, joint_names=np.array(self.joint_names), **arrays)


class ImageOutputs(Outputs):
    """One JSON, one NPZ and one picture for every image, written at once."""

    def refuse_overwriting(self, images: Images) -> None:
        """A drawing must not replace the image that it was made from."""
        for item, output in zip(images.items, images.outputs, strict=True):
            if self.pictures is None or isinstance(item, np.ndarray):
                continue
            if self._picture_path(output).resolve() == Path(item).resolve():
                raise UserError(f'vis_out_dir {self.pictures}: would overwrite the input {item}')

    def _picture_path(self, output: Path) -> Path:
        assert self.pictures is not None
        suffix = output.suffix if output.suffix.lower() in _WRITABLE else '.png'
        return self.pictures / output.with_suffix(suffix)

    def add(self, picture: Picture, instances: InstanceData, drawn: np.ndarray | None) -> None:
        if self.predictions is not None:
            target = self.predictions / picture.output
            write_json(target.with_suffix('.json'), self.json(instances))
            if self.full_covariance == 'npz':
                self._save_arrays(target.with_suffix('.npz'), [instances], [picture.index])
        if self.pictures is not None and drawn is not None:
            write_image(self._picture_path(picture.output), drawn[..., ::-1])


class VideoOutputs(Outputs):
    """One JSON, one NPZ and one video (mp4) for all frames, in place when the last is done."""

    def __init__(self, video: Video | Webcam, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.stem, self.fps = video.path.stem, video.fps
        self.frames: list[InstanceData] = []
        self.frame_ids: list[int] = []
        self._open = ExitStack()
        self._writer: cv2.VideoWriter | None = None
        self._temporary, self._written = Path(), 0
        if self.pictures is not None and video.path.resolve() == self._path().resolve():
            raise UserError(f'vis_out_dir {self.pictures}: would overwrite the input {video.path}')

    def _path(self) -> Path:
        assert self.pictures is not None
        return self.pictures / f'{self.stem}.mp4'

    def add(self, picture: Picture, instances: InstanceData, drawn: np.ndarray | None) -> None:
        if self.predictions is not None:
            self.frames.append(instances)
            self.frame_ids.append(picture.index)
        if self.pictures is not None and drawn is not None:
            self._write_frame(drawn)

    def _write_frame(self, drawn: np.ndarray) -> None:
        if self._writer is None:
            self._temporary = self._open.enter_context(atomic_path(self._path()))
            code = cv2.VideoWriter.fourcc(*'mp4v')
            size = (drawn.shape[1], drawn.shape[0])
            self._writer = cv2.VideoWriter(str(self._temporary), code, self.fps, size)
            if not self._writer.isOpened():
                self.abandon()
                self._writer = None
                raise UserError(
                    f'cannot write {self._path()}: OpenCV has no mp4 encoder here, or the disk is '
                    'full'
                )
        self._writer.write(np.ascontiguousarray(drawn[..., ::-1]))
        self._written += 1

    def close(self) -> None:
        if self.predictions is not None and self.frames:
            target = self.predictions / f'{self.stem}.json'
            pairs = zip(self.frame_ids, self.frames, strict=True)
            write_json(target, [{'frame_id': i, 'instances': self.json(f)} for i, f in pairs])
            if self.full_covariance == 'npz':
                self._save_arrays(target.with_suffix('.npz'), self.frames, self.frame_ids)
        if self._writer is not None:
            self._writer.release()
            self._check_film()
        self._open.close()

    def _check_film(self) -> None:
        """Raise where the film is not whole: on a full disk OpenCV's writer loses frames."""
        film = cv2.VideoCapture(str(self._temporary))
        found = int(film.get(cv2.CAP_PROP_FRAME_COUNT)) if film.isOpened() else 0
        film.release()
        if found < self._written:
            self.abandon()
            raise UserError(
                f'cannot write {self._path()}: {found} of {self._written} frames are in it, '
                'is the disk full?'
            )

    def abandon(self) -> None:
        if self._writer is not None:
            self._writer.release()
        # atomic_path replaces its target unless it sees an exception.
        self._open.__exit__(GeneratorExit, GeneratorExit(), None)


def _folder(path: str | Path) -> Path | None:
    if not str(path):
        return None
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f'cannot write to folder {path}: {error.strerror}') from error
    return Path(path)


def open_outputs(source: Source, **settings: Any) -> Outputs:
    """The writer that fits the inputs."""
    if not isinstance(source, Images):
        return VideoOutputs(source, **settings)
    outputs = ImageOutputs(**settings)
    outputs.refuse_overwriting(source)
    return outputs
