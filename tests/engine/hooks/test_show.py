"""Every n-th sample is drawn, also one that is no file."""

from pathlib import Path
from types import SimpleNamespace

import cv2
import numpy as np
import pytest
from mmengine.config import ConfigDict
from mmengine.structures import InstanceData
from mmpose.structures import PoseDataSample

from hetpose.datasets.pose import SyntheticPose
from hetpose.engine import launch
from hetpose.engine.hooks.show import ShowPoseHook, sample_image
from hetpose.errors import UserError
from hetpose.visualization import HetPoseVisualizer


def output(dataset: SyntheticPose, index: int) -> PoseDataSample:
    info = dataset.get_data_info(index)
    made = PoseDataSample(metainfo=dict(id=index, img_path=info['img_path']))
    made.pred_instances = InstanceData(
        keypoints=info['keypoints'],
        keypoint_scores=np.ones((1, 14)),
        keypoints_visible=np.ones((1, 14)),
        bboxes=info['bbox'],
        covariances=20 * np.eye(28)[None],
    )
    made.gt_instances = InstanceData(bboxes=info['bbox'])
    return made


@pytest.mark.parametrize('phase', ['val', 'test'])
def test_every_third_sample_of_a_rendered_set_is_drawn(tmp_path: Path, phase: str) -> None:
    HetPoseVisualizer.get_instance(f'show-{phase}')
    dataset = SyntheticPose(length=8, image_size=64)
    loader = SimpleNamespace(dataset=dataset)
    runner = SimpleNamespace(val_dataloader=loader, test_dataloader=loader, epoch=2)
    hook = ShowPoseHook(enable=True, out_dir=str(tmp_path / 'show'), interval=3)
    getattr(hook, f'before_{phase}_epoch')(runner)
    for first in (0, 4):
        outputs = [output(dataset, index) for index in range(first, first + 4)]
        getattr(hook, f'after_{phase}_iter')(runner, first, None, outputs)
    drawn = sorted((tmp_path / 'show').iterdir())
    prefix = 'epoch_2_' if phase == 'val' else ''
    assert [path.name for path in drawn] == [f'{prefix}{n:06d}_{n}.jpg' for n in (0, 3, 6)]
    assert cv2.imread(str(drawn[1])).shape[0] >= 64


def test_a_missing_image_is_named() -> None:
    sample = PoseDataSample(metainfo=dict(id=1, img_path='nowhere.jpg'))
    with pytest.raises(UserError, match=r'nowhere\.jpg'):
        sample_image(SimpleNamespace(), sample)


def test_show_dir_takes_the_place_of_mmposes_hook() -> None:
    config = ConfigDict(
        default_hooks=dict(visualization=dict(type='PoseVisualizationHook', enable=False))
    )
    launch.use_visualization(config, 'pictures', 16)
    hook = config.default_hooks.visualization
    assert hook == dict(type='ShowPoseHook', enable=True, out_dir='pictures', interval=16)
