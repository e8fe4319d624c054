import cv2
import numpy as np
from mmengine.structures import InstanceData
from mmpose.structures import PoseDataSample

from hetpose.apis.demo.gallery import BAND, COLUMNS, PANEL, ROWS, draw_panel, write_gallery
from hetpose.datasets import SyntheticPose


def prediction(dataset: SyntheticPose, index: int, variance: float) -> InstanceData:
    return InstanceData(
        keypoints=dataset.clean_keypoints(index)[None].astype(np.float32),
        keypoint_covariances=np.tile(variance * np.eye(2, dtype=np.float32), (1, 14, 1, 1)),
    )


def test_panel_shows_the_predicted_ellipse():
    """A larger covariance tints more of the picture."""
    dataset = SyntheticPose(length=1, image_size=64)
    plain = cv2.cvtColor(dataset.image(0), cv2.COLOR_BGR2RGB)
    plain = cv2.resize(plain, (PANEL, PANEL), interpolation=cv2.INTER_CUBIC).astype(int)
    panels = [draw_panel(dataset, 0, prediction(dataset, 0, v)).astype(int) for v in (1.0, 16.0)]
    small, large = (int((np.abs(panel - plain).sum(-1) > 20).sum()) for panel in panels)
    assert large > 1.5 * small


def test_gallery_of_fewer_samples_than_panels(tmp_path):
    dataset = SyntheticPose(length=3, image_size=64)
    samples = []
    for index in range(3):
        sample = PoseDataSample()
        sample.pred_instances = prediction(dataset, index, 4.0)
        samples.append(sample)
    write_gallery(tmp_path / 'gallery.png', dataset, samples)
    picture = cv2.imread(str(tmp_path / 'gallery.png'))
    assert picture.shape == (BAND + ROWS * PANEL, COLUMNS * PANEL, 3)
