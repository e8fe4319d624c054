"""Predictions agree with the pipeline run by hand, with their files and with their pictures."""

import json
from pathlib import Path

import cv2
import jsonschema
import numpy as np
import pytest
import torch
from helpers_inference import NAMES, noise_image, tiny_model, write_images, write_tiny, write_video
from mmengine.dataset import pseudo_collate
from scipy.stats import chi2

from hetpose import cli
from hetpose.apis.calibration.recalibration import Recalibration, weights_fingerprint
from hetpose.apis.inference.conditioning import condition_pose
from hetpose.apis.inference.inferencer import HetPoseInferencer
from hetpose.apis.inference.outputs import schema
from hetpose.apis.loading import PoseModel
from hetpose.errors import UserError
from hetpose.ops.spd import joint_blocks
from hetpose.paths import data_root

BOXES = [[10, 5, 60, 50, 0.5], [-25, -10, 50, 90]]  # the second reaches out of the image


@pytest.fixture
def inferencer(model: PoseModel) -> HetPoseInferencer:
    return in_pixels(HetPoseInferencer(model))


def in_pixels(inferencer: HetPoseInferencer) -> HetPoseInferencer:
    """One whose pictures of small images have the pixels of the image."""
    inferencer.visualizer.smallest = 0
    return inferencer


def people(inferencer: HetPoseInferencer, inputs, **options) -> list[dict]:
    (result,) = inferencer(inputs, full_covariance='json', **options)
    return result['predictions'][0]


def by_hand(model: PoseModel, image: np.ndarray, box: list[float]) -> dict:
    """mmpose's own steps for one box, with the affine map to the image written out."""
    pipeline = model.pipeline()
    data = dict(model.meta, img=image, img_path='', bbox=np.float32([box[:4]]))
    data = pipeline(data | dict(bbox_score=np.ones(1, np.float32)))
    with torch.no_grad():
        batch = model.network.data_preprocessor(pseudo_collate([data]))
        found = model.network.head.forward(model.network.extract_feat(batch['inputs']))
    meta = data['data_samples'].metainfo
    scale = meta['input_scale'] / (np.array([32, 32]) - 1)  # UDP: pixels span size − 1
    scale = scale * model.network.head.decoder.scale_factor
    offset = meta['input_center'] - meta['input_scale'] / 2
    spread = np.kron(np.eye(4), np.diag(scale))
    covariance = spread @ found.covariance.matrix[0].numpy() @ spread.T
    return dict(
        keypoints=found.mean[0].numpy().reshape(-1, 2) * scale + offset, covariance=covariance
    )


@pytest.mark.parametrize('box', BOXES)
def test_a_box_predicts_as_the_pipeline_by_hand(
    inferencer: HetPoseInferencer, model: PoseModel, box: list[float]
) -> None:
    image = noise_image()
    (person,) = people(inferencer, image, bboxes=[box])
    expected = by_hand(model, image, box)
    np.testing.assert_allclose(person['keypoints'], expected['keypoints'], atol=1e-3)
    np.testing.assert_allclose(person['full_covariance'], expected['covariance'], rtol=1e-4)
    np.testing.assert_allclose(
        person['covariance'], joint_blocks(expected['covariance']), rtol=1e-4
    )
    assert person['bbox'] == [box[:4]]
    assert person['bbox_score'] == (box[4] if len(box) > 4 else 1)


def ramp(height: int, width: int, scale: float = 1, shift: tuple[float, float] = (0, 0)):
    """A plane of grey values, which interpolation reproduces; enlarged and moved."""
    y, x = np.mgrid[:height, :width]
    values = 40 + (x - shift[0]) / scale + 0.7 * (y - shift[1]) / scale
    return np.repeat(values.clip(0, 255).round().astype(np.uint8)[..., None], 3, axis=2)


def test_a_larger_image_scales_means_and_covariances(inferencer: HetPoseInferencer) -> None:
    """An image enlarged by s and moved by t, its box with it: μ → sμ + t and Σ → s²Σ."""
    box, scale, shift = np.array([30.0, 25, 80, 70]), 3, (7.0, 11.0)
    (first,) = people(inferencer, ramp(100, 120), bboxes=[box.tolist()])
    large = ramp(330, 400, scale, shift)
    (second,) = people(inferencer, large, bboxes=[(scale * box + np.tile(shift, 2)).tolist()])
    moved = scale * np.array(first['keypoints']) + shift
    np.testing.assert_allclose(second['keypoints'], moved, atol=0.5)  # grey values are rounded
    enlarged = scale**2 * np.array(first['full_covariance'])
    difference = np.abs(second['full_covariance'] - enlarged).max()
    assert difference < 0.02 * np.abs(enlarged).max()
    np.testing.assert_allclose(second['keypoint_scores'], first['keypoint_scores'], rtol=0.05)


def test_padding_moves_a_box_that_reaches_out(inferencer: HetPoseInferencer) -> None:
    """A border of black, which the warp fills in anyway, only shifts the coordinates."""
    image, box = noise_image(), np.array([-25.0, -10, 50, 90])
    padded = cv2.copyMakeBorder(image, 40, 40, 40, 40, cv2.BORDER_CONSTANT, value=0)
    (first,) = people(inferencer, image, bboxes=[box.tolist()])
    (second,) = people(inferencer, padded, bboxes=[(box + 40).tolist()])
    np.testing.assert_allclose(second['keypoints'], np.array(first['keypoints']) + 40, atol=1e-2)
    np.testing.assert_allclose(second['covariance'], first['covariance'], rtol=1e-3)


@pytest.mark.parametrize('size', [1, 2, 5])
def test_batches_change_nothing(inferencer: HetPoseInferencer, size: int, tmp_path: Path) -> None:
    write_images(tmp_path, 3)
    boxes = [[BOXES[0]], [], [BOXES[1], BOXES[0]]]
    single = [r['predictions'][0] for r in inferencer(tmp_path, boxes)]
    results = list(inferencer(tmp_path, boxes, batch_size=size))
    assert [Path(r['input']).name for r in results] == ['0.png', '1.png', '2.png']
    assert [len(r['predictions'][0]) for r in results] == [1, 0, 2]
    for one, other in zip(single, results, strict=True):
        for a, b in zip(one, other['predictions'][0], strict=True):
            np.testing.assert_allclose(a['keypoints'], b['keypoints'], atol=1e-3)
            np.testing.assert_allclose(a['covariance'], b['covariance'], rtol=1e-4)


@pytest.mark.parametrize('full', [None, 'json', 'npz'])
def test_files_follow_the_schema_and_hold_what_was_returned(
    inferencer: HetPoseInferencer, tmp_path: Path, full: str | None
) -> None:
    write_images(tmp_path / 'in', 2)
    out = tmp_path / 'out'
    results = list(
        inferencer(tmp_path / 'in', [BOXES[0], BOXES[1]], out_dir=out, full_covariance=full)
    )
    for result in results:
        stem = Path(result['input']).stem
        written = json.loads((out / 'predictions' / f'{stem}.json').read_text())
        jsonschema.validate(written, schema())
        assert written == result['predictions'][0]
        assert ('full_covariance' in written[0]) == (full == 'json')
        picture = cv2.imread(str(out / 'visualizations' / f'{stem}.png'))
        assert picture.shape == cv2.imread(result['input']).shape
    if full == 'npz':
        arrays = np.load(out / 'predictions' / '0.npz')
        assert arrays['covariances'].shape == (2, 8, 8)
        assert arrays['joint_names'].tolist() == NAMES
        written = json.loads((out / 'predictions' / '0.json').read_text())
        blocks = joint_blocks(arrays['covariances'])
        np.testing.assert_allclose(blocks, [person['covariance'] for person in written])
        np.testing.assert_allclose(arrays['keypoints'], [p['keypoints'] for p in written])


def test_the_schema_sees_what_is_wrong(inferencer: HetPoseInferencer) -> None:
    (person,) = people(inferencer, noise_image())
    jsonschema.validate([person], schema())
    jsonschema.validate([dict(frame_id=0, instances=[person])], schema())
    for wrong in (
        {**person, 'covariance': person['full_covariance']},
        {k: v for k, v in person.items() if k != 'covariance'},
        {**person, 'keypoint_scores': [2.0]},
        {**person, 'bbox': person['bbox'][0]},
    ):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate([wrong], schema())


def test_pictures_and_numbers_agree_in_pixels(model: PoseModel, tmp_path: Path) -> None:
    """The line of an ellipse lies at its coverage's radius from the mean that the JSON states."""
    image = np.zeros((240, 320, 3), np.uint8)
    inferencer = HetPoseInferencer(model, calibration=Recalibration((0.02,), (0.0,), 8, 1, 0, 0))
    in_pixels(inferencer).visualizer.legend = False
    inferencer.visualizer.skeleton = []
    for coverage in (0.5, 0.9):
        (result,) = inferencer(
            image, [[60, 40, 260, 200]], return_vis=True, coverage=coverage, full_covariance='json'
        )
        (person,), (drawn,) = result['predictions'][0], result['visualization']
        assert drawn.shape == image.shape
        y, x = np.nonzero((drawn > 150).all(-1))  # white: the neck and the head
        means = np.array(person['keypoints'])[2:]
        inverse = np.linalg.inv(np.array(person['covariance'])[2:])
        offset = np.stack([x, y], -1)[:, None] - means
        radius = np.sqrt(np.einsum('nki,kij,nkj->nk', offset, inverse, offset))
        size = np.sqrt(np.linalg.eigvalsh(np.array(person['covariance'])[2:])).min()
        near_mean = np.linalg.norm(offset, axis=-1) < 6  # the joint's dot
        on_line = np.abs(radius - np.sqrt(chi2(2).ppf(coverage))) < 2 / size
        assert (near_mean | on_line).any(-1).mean() > 0.98
        assert on_line.any(0).all()


def test_a_video_has_one_file_of_frames(inferencer: HetPoseInferencer, tmp_path: Path) -> None:
    path = write_video(tmp_path / 'v.avi', 5)
    results = list(inferencer(path, out_dir=tmp_path / 'out', full_covariance='npz', batch_size=2))
    written = json.loads((tmp_path / 'out' / 'predictions' / 'v.json').read_text())
    jsonschema.validate(written, schema())
    assert [frame['frame_id'] for frame in written] == [0, 1, 2, 3, 4]
    assert [frame['instances'] for frame in written] == [r['predictions'][0] for r in results]
    arrays = np.load(tmp_path / 'out' / 'predictions' / 'v.npz')
    assert arrays['frame_id'].tolist() == [0, 1, 2, 3, 4]
    video = cv2.VideoCapture(str(tmp_path / 'out' / 'visualizations' / 'v.mp4'))
    assert int(video.get(cv2.CAP_PROP_FRAME_COUNT)) == 5
    assert video.get(cv2.CAP_PROP_FRAME_WIDTH) == 80


def test_a_video_that_is_stopped_leaves_no_half_file(
    inferencer: HetPoseInferencer, tmp_path: Path
) -> None:
    results = inferencer(write_video(tmp_path / 'v.avi'), out_dir=tmp_path / 'out')
    next(results)
    results.close()
    assert not [path for path in (tmp_path / 'out').rglob('*') if path.is_file()]


def test_a_short_video_keeps_its_frames(inferencer: HetPoseInferencer, tmp_path: Path) -> None:
    path = write_video(tmp_path / 'v.avi', 12)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    bad: list = []
    count = len(list(inferencer(path, out_dir=tmp_path / 'out', on_bad_input=bad.append)))
    written = json.loads((tmp_path / 'out' / 'predictions' / 'v.json').read_text())
    assert 0 < len(written) == count < 12
    assert [str(item) for item in bad] == [f'{path}: ended after {count} of 12 frames']


def test_earlier_outputs_stay_when_a_later_input_is_bad(
    inferencer: HetPoseInferencer, tmp_path: Path
) -> None:
    paths = write_images(tmp_path / 'in', 3)
    paths[1].write_text('no image')
    bad: list = []
    results = list(
        inferencer(paths, pred_out_dir=tmp_path / 'out', batch_size=4, on_bad_input=bad.append)
    )
    assert len(results) == 2
    assert [str(item) for item in bad] == [f'{paths[1]}: is not an image']
    assert sorted(path.name for path in (tmp_path / 'out').iterdir()) == ['0.json', '2.json']
    with pytest.raises(UserError, match='is not an image'):
        list(inferencer(paths, pred_out_dir=tmp_path / 'again', batch_size=4))
    assert [path.name for path in (tmp_path / 'again').iterdir()] == ['0.json']


def test_boxes_outside_are_named(inferencer: HetPoseInferencer) -> None:
    bad: list = []
    boxes = [[[0, 0, 9, 9]], [[200, 0, 300, 50]]]
    assert len(list(inferencer([noise_image()] * 2, boxes, on_bad_input=bad.append))) == 1
    assert 'box 0 [200, 0, 300, 50] lies outside the image of 80 × 60 pixels' in str(bad[0])


def test_a_detector_finds_the_boxes(model: PoseModel) -> None:
    boxes = np.array([[10, 5, 60, 50, 0.7], [0, 0, 30, 40, 0.6]])
    inferencer = HetPoseInferencer(model, det_model=lambda image: boxes)
    found = people(inferencer, noise_image())
    np.testing.assert_allclose([person['bbox'][0] for person in found], boxes[:, :4])
    np.testing.assert_allclose([person['bbox_score'] for person in found], boxes[:, 4])


def test_a_built_model_takes_neither_weights_nor_options(model: PoseModel) -> None:
    for extra in (dict(pose2d_weights='x.pth'), dict(cfg_options={'model.head.score_radius': 1})):
        with pytest.raises(UserError, match='already built'):
            HetPoseInferencer(model, **extra)


def test_given_joints_condition_the_others(inferencer: HetPoseInferencer) -> None:
    image = noise_image()
    (plain,) = people(inferencer, image)
    given = {'neck': (30.0, 40.0)}
    (person,) = people(inferencer, image, given=given)
    keypoints, covariance, _ = condition_pose(
        np.array(plain['keypoints']), np.array(plain['full_covariance']), given, NAMES
    )
    np.testing.assert_allclose(person['keypoints'], keypoints, atol=1e-4)
    np.testing.assert_allclose(person['full_covariance'], covariance, atol=1e-3)
    assert person['keypoints'][2] == [30, 40]
    assert person['keypoint_scores'][2] == pytest.approx(1)
    assert person['keypoint_scores'][0] > plain['keypoint_scores'][0]


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        (dict(given={'nek': (1, 2)}), "unknown joint 'nek'; known: head, left_wrist, neck"),
        (dict(given={'neck': (1, 2)}, inputs=[noise_image()] * 2), 'belong to one image'),
        (dict(given={'neck': (1, 2)}, bboxes=[BOXES[0], BOXES[1]]), 'one person, not 2'),
        (dict(coverage=1.0), 'coverage must lie between 0 and 1'),
        (dict(batch_size=0), 'batch_size'),
        (dict(panels=['graph']), "unknown panel 'graph'; known: correlation, heatmaps"),
        (dict(full_covariance='csv'), 'json or npz'),
        (dict(full_covariance='npz'), 'give pred_out_dir'),
        (dict(bboxes=[[BOXES[0]], [BOXES[1]]]), 'boxes for 2 inputs were given, there are 1'),
    ],
)
def test_wrong_arguments_are_one_line(
    inferencer: HetPoseInferencer, options: dict, message: str
) -> None:
    inputs = options.pop('inputs', noise_image())
    with pytest.raises(UserError, match=message):
        list(inferencer(inputs, **options))


def test_a_calibration_scales_covariances_and_scores(model: PoseModel, tmp_path: Path) -> None:
    fitted = Recalibration(
        alpha=(0.25,),
        beta=(2.0,),
        dim=8,
        count=10,
        nll_before=0.0,
        nll_after=0.0,
        joint_names=tuple(NAMES),
        model='tiny',
        weights=weights_fingerprint(model.network),
    )
    fitted.save(tmp_path / 'calibration.json')
    (plain,) = people(HetPoseInferencer(model), noise_image())
    calibrated = HetPoseInferencer(model, calibration=tmp_path / 'calibration.json')
    (person,) = people(calibrated, noise_image())
    expected = 0.25 * np.array(plain['full_covariance']) + 2 * np.eye(8)
    np.testing.assert_allclose(person['full_covariance'], expected, rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(person['covariance'], joint_blocks(expected), rtol=1e-5, atol=1e-4)
    assert person['keypoints'] == plain['keypoints']
    assert (np.array(person['keypoint_scores']) > plain['keypoint_scores']).all()


def test_a_calibration_of_another_model_is_refused(model: PoseModel, tmp_path: Path) -> None:
    path = tmp_path / 'other.json'
    Recalibration((1.0,), (0.0,), 28, 1, 0.0, 0.0, model='other').save(path)
    with pytest.raises(UserError, match=r'other\.json belongs to another model: its dim is 28'):
        HetPoseInferencer(model, calibration=path)
    path.write_text('{}')
    with pytest.raises(UserError, match='not a calibration file'):
        HetPoseInferencer(model, calibration=path)
    with pytest.raises(UserError, match='fitted in mm; poses are in pixels'):
        HetPoseInferencer(model, calibration=Recalibration((1.0,), (0.0,), 8, 1, 0, 0, units='mm'))


def test_an_input_is_never_overwritten(inferencer: HetPoseInferencer, tmp_path: Path) -> None:
    write_images(tmp_path, 1)
    with pytest.raises(UserError, match='would overwrite the input'):
        inferencer(tmp_path, vis_out_dir=tmp_path)


def test_a_prediction_that_is_not_finite_is_reported(inferencer: HetPoseInferencer) -> None:
    broken = HetPoseInferencer(inferencer.model)
    (sample,) = next(iter(inferencer(noise_image(), return_datasamples=True)))['predictions']
    sample.pred_instances.covariances[:] = np.nan
    broken.predictor.predict = lambda *args: iter([(_picture(), sample)])  # type: ignore
    with pytest.raises(UserError, match='covariances that are not finite'):
        list(broken(noise_image()))
    sample.pred_instances.covariances[:] = np.diag([-1.0, *[1.0] * 7])
    broken.predictor.predict = lambda *args: iter([(_picture(), sample)])  # type: ignore
    with pytest.raises(UserError, match='negative eigenvalue'):
        list(broken(noise_image()))


def _picture():
    from hetpose.apis.inference.inputs import Picture

    return Picture(0, 'x.png', Path('x.png'), noise_image())


def test_panels_stand_beside_the_image(inferencer: HetPoseInferencer) -> None:
    image = noise_image(200, 240)
    (plain,) = inferencer(image, return_vis=True)
    (result,) = inferencer(image, return_vis=True, panels=['correlation', 'heatmaps'])
    drawn = result['visualization'][0]
    assert drawn.shape[0] == 200
    np.testing.assert_array_equal(drawn[:, :240], plain['visualization'][0])
    assert drawn.shape[1] > 2 * 240


def test_with_flip_testing_a_mirrored_image_has_the_mirrored_prediction(tmp_path: Path) -> None:
    inferencer = HetPoseInferencer(tiny_model(tmp_path, test_cfg=dict(flip_test=True)))
    image = noise_image(100, 120)
    (person,) = people(inferencer, image, bboxes=[[30, 25, 80, 70]])
    mirror = np.ascontiguousarray(image[:, ::-1])
    (mirrored,) = people(inferencer, mirror, bboxes=[[119 - 80, 25, 119 - 30, 70]])
    swapped = np.array(mirrored['keypoints'])[[1, 0, 2, 3]] * [-1, 1] + [119, 0]
    np.testing.assert_allclose(person['keypoints'], swapped, atol=0.1)
    blocks = np.array(mirrored['covariance'])[[1, 0, 2, 3]] * [[1, -1], [-1, 1]]
    np.testing.assert_allclose(person['covariance'], blocks, rtol=0.02, atol=0.5)


@pytest.mark.skipif(
    not data_root('coco_sample').exists(), reason='needs coco_sample under HETPOSE_DATA'
)
def test_the_coco_samples(model: PoseModel, tmp_path: Path) -> None:
    folder = data_root('coco_sample')
    content = json.loads((folder / 'test_coco.json').read_text())
    boxes: dict[str, list] = {image['file_name']: [] for image in content['images']}
    names = {image['id']: image['file_name'] for image in content['images']}
    for annotation in content['annotations']:
        x, y, width, height = annotation['bbox']
        boxes[names[annotation['image_id']]].append([x - 30, y - 30, x + width, y + height])
    inferencer = HetPoseInferencer(model)
    for result in inferencer(folder, boxes, 8, out_dir=tmp_path, full_covariance='json'):
        source = Path(result['input'])
        written = json.loads((tmp_path / 'predictions' / f'{source.stem}.json').read_text())
        jsonschema.validate(written, schema())
        drawn = cv2.imread(str(tmp_path / 'visualizations' / source.name))
        image = cv2.imread(str(source))
        assert drawn.shape == image.shape
        for person, box in zip(written, boxes[source.name], strict=True):
            expected = by_hand(model, image, box)
            np.testing.assert_allclose(person['keypoints'], expected['keypoints'], atol=0.02)
            np.testing.assert_allclose(
                person['full_covariance'], expected['covariance'], rtol=1e-3, atol=1e-2
            )


def test_config_and_checkpoint_files_are_enough(tmp_path: Path) -> None:
    inferencer = HetPoseInferencer(*write_tiny(tmp_path), device='cpu')
    assert len(people(inferencer, noise_image())) == 1


def test_two_generators_of_one_inferencer_do_not_disturb_each_other(
    inferencer: HetPoseInferencer, tmp_path: Path
) -> None:
    write_images(tmp_path, 3)
    options = dict(return_vis=True, bboxes=[BOXES[0]])
    alone = [r['visualization'][0] for r in inferencer(tmp_path, panels=['heatmaps'], **options)]
    first, second = inferencer(tmp_path, panels=['heatmaps'], **options), None
    for expected in alone:
        np.testing.assert_array_equal(next(first)['visualization'][0], expected)
        second = second or inferencer(tmp_path, **options)
        next(second)


def test_a_covariance_with_a_negative_eigenvalue_is_refused(
    model: PoseModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A foreign head might deliver one."""
    inferencer = HetPoseInferencer(model)
    merge = inferencer.predictor._merge

    def broken(*args):
        sample = merge(*args)
        sample.pred_instances.covariances = -sample.pred_instances.covariances
        return sample

    monkeypatch.setattr(inferencer.predictor, '_merge', broken)
    with pytest.raises(UserError, match='negative eigenvalue'):
        list(inferencer(noise_image()))


def test_a_student_model_writes_its_degrees_of_freedom(tmp_path: Path) -> None:
    covariance = dict(type='StudentCovariance', scale=dict(type='CholeskyCovariance'))
    objective = dict(type='StudentNLLObjective')
    model = tiny_model(tmp_path, covariance=covariance, objective=objective)
    student = in_pixels(HetPoseInferencer(model))
    (person,) = people(student, noise_image())
    assert person['degrees_of_freedom'] > 2
    jsonschema.validate([person], schema())
    (given,) = people(student, noise_image(), given={'neck': (30.0, 40.0)})
    assert given['degrees_of_freedom'] == pytest.approx(person['degrees_of_freedom'] + 2)
    assert 1 in given['keypoint_scores']
    assert all(0 <= score <= 1 for score in given['keypoint_scores'])
    drawing = dict(return_vis=True, given={'neck': (30.0, 40.0)}, kpt_thr=0)
    (result,) = student(noise_image(), **drawing)
    picture = result['visualization'][0]
    assert picture.shape == (60, 80, 3)
    assert (picture[36:45, 26:35] != noise_image()[36:45, 26:35]).any()  # the given joint
    none = list(student(noise_image(), bboxes=[[]], full_covariance='npz', pred_out_dir=tmp_path))
    assert none[0]['predictions'] == [[]]
    with np.load(next(iter(tmp_path.glob('*.npz')))) as arrays:
        assert arrays['degrees_of_freedom'].shape == (0,)


def test_small_images_make_readable_pictures(model: PoseModel, tmp_path: Path) -> None:
    write_images(tmp_path, 1)
    options = dict(bboxes=[BOXES[0]], return_vis=True)
    (result,) = HetPoseInferencer(model)(tmp_path, **options)
    assert result['visualization'][0].shape == (360, 480, 3)
    (again,) = in_pixels(HetPoseInferencer(model))(tmp_path, **options)
    assert result['predictions'] == again['predictions']  # the numbers are those of the image


def test_lines_joints_and_background_are_chosen(inferencer: HetPoseInferencer) -> None:
    image = noise_image(240, 320)
    pictures = {}
    for name, options in dict(
        plain={},
        thick=dict(thickness=9),
        large=dict(radius=12),
        numbered=dict(show_kpt_idx=True),
        black=dict(black_background=True),
    ).items():
        (result,) = inferencer(image, return_vis=True, **options)
        pictures[name] = result['visualization'][0]
    for name in ('thick', 'large', 'numbered', 'black'):
        assert (pictures[name] != pictures['plain']).any(), name
    assert pictures['black'].mean() < pictures['plain'].mean()


def test_progress_is_shown_where_it_is_asked_for(inferencer, tmp_path, capsys) -> None:
    write_images(tmp_path, 2)
    list(inferencer(str(tmp_path)))
    assert 'images' not in capsys.readouterr().err
    list(inferencer(str(tmp_path), show_progress=True))
    assert '/2 ' in capsys.readouterr().err


def test_the_command_tells_where_it_wrote(tmp_path, capsys) -> None:
    config, checkpoint = write_tiny(tmp_path)
    write_images(tmp_path / 'in', 1)
    words = ['infer', tmp_path / 'in', '--config', config, '--checkpoint', checkpoint]
    out = ['--vis-out-dir', tmp_path / 'seen', '--pred-out-dir', tmp_path / 'read']
    assert not cli.dispatch([str(word) for word in (*words, *out, '--device', 'cpu')])
    told = capsys.readouterr().out
    assert f'pictures: {tmp_path / "seen"}' in told
    assert f'predictions: {tmp_path / "read"}' in told
