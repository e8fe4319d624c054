"""The registered visualizer draws what a sample holds, and fits mmpose's callers."""

import numpy as np
import pytest
from mmengine.structures import InstanceData, PixelData
from mmpose.registry import VISUALIZERS
from mmpose.structures import PoseDataSample

from hetpose.visualization import HetPoseVisualizer
from hetpose.visualization.drawing import SIDE_COLOURS

META = dict(
    keypoint_id2name={0: 'left_wrist', 1: 'right_wrist', 2: 'neck'},
    skeleton_links=[(0, 2), (1, 2)],
)
IMAGE = np.full((120, 160, 3), 90, np.uint8)


@pytest.fixture
def visualizer() -> HetPoseVisualizer:
    # Registries keep one visualizer of a name.
    made = VISUALIZERS.build(dict(type='HetPoseVisualizer', name='test'))
    made.panels = ()
    made.set_dataset_meta(META)
    return made


def sample(**fields) -> PoseDataSample:
    made = PoseDataSample()
    keypoints = np.array([[[40.0, 60.0], [120.0, 60.0], [80.0, 20.0]]])
    made.pred_instances = InstanceData(
        keypoints=keypoints,
        keypoints_visible=np.array([[0.9, 0.8, 0.1]]),
        bboxes=np.array([[20.0, 5.0, 140.0, 100.0]]),
        **fields,
    )
    return made


def differs(a: np.ndarray, b: np.ndarray, x: int, y: int, reach: int = 12) -> bool:
    window = np.s_[y - reach : y + reach, x - reach : x + reach]
    return bool((a[window] != b[window]).any())


def test_blocks_and_the_full_covariance_draw_alike(visualizer: HetPoseVisualizer) -> None:
    full = np.diag([30.0, 60, 20, 20, 50, 10])[None]
    blocks = np.stack([np.diag([30.0, 60]), np.diag([20.0, 20]), np.diag([50.0, 10])])[None]
    pictures = [
        visualizer.add_datasample('x', IMAGE, sample(**fields), draw_gt=False)
        for fields in (dict(covariances=full), dict(keypoint_covariances=blocks))
    ]
    np.testing.assert_array_equal(*pictures)
    plain = visualizer.add_datasample('x', IMAGE, sample(), draw_gt=False)
    assert differs(pictures[0], plain, 40, 60)


def test_the_ellipse_of_a_student_is_its_own(visualizer: HetPoseVisualizer) -> None:
    """Of one covariance the 90% ellipse is the smaller, the heavier the tails."""
    full = np.diag([150.0, 150, 100, 100, 50, 50])[None]
    drawn = {}
    for nu in (None, np.inf, 2.1):
        tails = {} if nu is None else {'degrees_of_freedom': np.array([nu])}
        made = sample(covariances=full, **tails)
        drawn[nu] = visualizer.add_datasample('x', IMAGE, made, draw_gt=False)
    np.testing.assert_array_equal(drawn[None], drawn[np.inf])
    assert differs(drawn[None], IMAGE, 40, 60 + 26, 4)
    assert not differs(drawn[2.1], IMAGE, 40, 60 + 26, 4)
    assert differs(drawn[2.1], drawn[None], 40, 60 + 11, 4)


def test_ground_truth_shows_its_known_covariance(visualizer: HetPoseVisualizer) -> None:
    made = sample()
    made.gt_instances = InstanceData(
        keypoints=made.pred_instances.keypoints, true_factor=np.eye(6)[None] * 6
    )
    both = visualizer.add_datasample('x', IMAGE, made, kpt_thr=0)
    assert both.shape == (120, 320, 3)
    assert differs(both[:, :160], both[:, 160:], 40, 60)


def test_low_scores_are_left_out(visualizer: HetPoseVisualizer) -> None:
    picture = visualizer.add_datasample('x', IMAGE, sample(), draw_gt=False, kpt_thr=0.3)
    assert not differs(picture, IMAGE, 80, 20)
    picture = visualizer.add_datasample('x', IMAGE, sample(), draw_gt=False, kpt_thr=0.0)
    assert differs(picture, IMAGE, 80, 20)


def test_boxes_also_where_they_leave_the_image(visualizer: HetPoseVisualizer) -> None:
    made = sample()
    made.pred_instances.bboxes = np.array([[-20.0, 5.0, 140.0, 300.0]])
    picture = visualizer.add_datasample('x', IMAGE, made, draw_gt=False, draw_bbox=True)
    assert picture.shape == IMAGE.shape
    assert differs(picture, IMAGE, 140, 60, 4)


def test_panels_and_heatmaps(visualizer: HetPoseVisualizer) -> None:
    made = sample(covariances=np.eye(6)[None])
    made.pred_fields = PixelData(heatmaps=np.random.default_rng(0).random((3, 120, 160)))
    visualizer.panels = ('correlation', 'heatmaps')
    picture = visualizer.add_datasample('x', IMAGE, made, draw_gt=False)
    assert picture.shape[0] == 120
    assert picture.shape[1] > 2 * 160
    visualizer.panels = ()
    below = visualizer.add_datasample('x', IMAGE, made, draw_gt=False, draw_heatmap=True)
    assert below.shape == (240, 160, 3)


def test_the_image_given_is_left_alone(visualizer: HetPoseVisualizer) -> None:
    before = IMAGE.copy()
    visualizer.add_datasample('x', IMAGE, sample(covariances=np.eye(6)[None] * 9), draw_gt=False)
    np.testing.assert_array_equal(IMAGE, before)


def test_it_writes_a_file(visualizer: HetPoseVisualizer, tmp_path) -> None:
    path = tmp_path / 'x.png'
    visualizer.add_datasample('x', IMAGE, sample(), draw_gt=False, out_file=str(path))
    assert path.exists()


@pytest.mark.parametrize('wrong', [dict(coverage=1.2), dict(panels=['graph'])])
def test_bad_arguments(wrong: dict) -> None:
    with pytest.raises(ValueError, match='coverage|panels'):
        HetPoseVisualizer(**wrong)


def test_a_frame_without_people_is_as_wide_as_one_with(visualizer: HetPoseVisualizer) -> None:
    """A video drops, without a word, the frames of another size."""
    made = sample(covariances=np.eye(6)[None])
    made.pred_fields = PixelData(heatmaps=np.random.default_rng(0).random((3, 120, 160)))
    empty = PoseDataSample(pred_instances=InstanceData(), gt_instances=InstanceData())
    for visualizer.panels in (('heatmaps',), ('correlation', 'heatmaps')):
        wide = visualizer.add_datasample('x', IMAGE, made, draw_gt=False)
        assert visualizer.add_datasample('x', IMAGE, empty, draw_gt=False).shape == wide.shape


def test_people_in_a_group_have_bones_of_their_own_colour() -> None:
    """Alone, bones have the colours of the sides; together, each person has one."""
    sides = np.array(list(SIDE_COLOURS.values()))
    joints = np.array([[[30.0, 20], [30, 80]], [[100, 20], [100, 80]]])
    for count in (1, 2):
        visualizer = HetPoseVisualizer(legend=False)
        visualizer.set_dataset_meta(
            dict(keypoint_id2name={0: 'left_hip', 1: 'left_knee'}, skeleton_links=[(0, 1)])
        )
        people = InstanceData(keypoints=joints[:count], keypoint_scores=np.ones((count, 2)))
        image = np.full((100, 140, 3), 90, np.uint8)
        drawn = visualizer._draw_instances_kpts(image, people)
        found = drawn[50, [30, 100][:count]].astype(float)
        nearest = np.linalg.norm(found[:, None] - sides, axis=-1).min(-1)
        assert (nearest < 40).all() == (count == 1)
        assert count == 1 or np.linalg.norm(found[0] - found[1]) > 80
