import numpy as np
import pytest
from mmpose.datasets.transforms import GenerateTarget, PackPoseInputs, TopdownAffine

from hetpose.models.codecs import SoftArgmaxCodec

RNG = np.random.default_rng(0)
POINTS = RNG.uniform(20, 235, (1, 5, 2)).astype(np.float32)


def test_labels_are_where_the_heatmaps_peak():
    codec = SoftArgmaxCodec()
    encoded = codec.encode(POINTS)
    y, x = np.mgrid[:64, :64]
    mass = encoded['heatmaps'].sum((1, 2))
    centre = np.stack([(encoded['heatmaps'] * c).sum((1, 2)) / mass for c in (x, y)], -1)
    np.testing.assert_allclose(centre, encoded['keypoint_labels'][0], atol=0.02)
    np.testing.assert_allclose(encoded['heatmaps'].max((1, 2)), 1, atol=0.15)


@pytest.mark.parametrize('stride', [None, 8])
@pytest.mark.parametrize('use_udp', [True, False])
def test_image_to_heatmap_and_back_is_exact(use_udp, stride):
    """Warp, encode, decode and mmpose's own map to the image return the image's keypoints."""
    centre, scale = np.float32([[300, 200]]), np.float32([[250, 250]])
    image_points = centre[:, None] + RNG.uniform(-100, 100, (1, 5, 2)).astype(np.float32)
    results = dict(
        img=np.zeros((400, 600, 3), np.uint8),
        bbox_center=centre,
        bbox_scale=scale,
        keypoints=image_points,
        keypoints_visible=np.ones((1, 5), np.float32),
    )
    results = TopdownAffine(input_size=(256, 256), use_udp=use_udp)(results)
    codec = SoftArgmaxCodec(use_udp=use_udp, stride=stride)
    labels = codec.encode(results['transformed_keypoints'])['keypoint_labels'][0]
    if stride is not None:
        np.testing.assert_allclose(labels, results['transformed_keypoints'][0] / 8, rtol=1e-5)
    decoded, _ = codec.decode(labels)
    back = decoded / 256 * scale + centre - scale / 2
    np.testing.assert_allclose(back, image_points, atol=1e-3)


@pytest.mark.parametrize('use_udp', [True, False])
def test_mirror_offset(use_udp):
    """The label of a mirrored point is the mirrored label."""
    codec = SoftArgmaxCodec(use_udp=use_udp)
    mirrored = POINTS * [-1, 1] + [255, 0]
    x = codec.encode(POINTS)['keypoint_labels'][..., 0]
    x_mirrored = codec.encode(mirrored.astype(np.float32))['keypoint_labels'][..., 0]
    np.testing.assert_allclose(x_mirrored, codec.mirror_offset - x, atol=1e-4)


def test_root_is_symmetric_and_squares_to_the_scaled_covariance():
    codec = SoftArgmaxCodec(input_size=(256, 128))
    factor = RNG.normal(size=(1, 10, 10)).astype(np.float32)
    points = POINTS * [1, 0.4]
    root = codec.encode(points, transformed_pseudo_factor=factor)['pseudo_root'][0]
    scale = np.diag(np.tile(1 / codec.scale_factor, 5))
    np.testing.assert_allclose(root, root.T, atol=1e-5)
    np.testing.assert_allclose(root @ root, scale @ factor[0] @ factor[0].T @ scale, atol=1e-4)


def test_missing_joints_leave_no_trace():
    """NaN in the coordinates and factor rows of a missing joint reach nothing."""
    points, visible = POINTS.copy(), np.ones((1, 5), np.float32)
    factor = RNG.normal(size=(1, 10, 10)).astype(np.float32)
    visible[0, 1], points[0, 1], factor[0, 2:4] = 0, np.nan, np.nan
    points[0, 3] = [300, 20]
    encoded = SoftArgmaxCodec().encode(points, visible, factor, factor)
    assert encoded['keypoint_weights'].tolist() == [[1, 0, 1, 0, 1]]
    assert all(np.isfinite(value).all() for value in encoded.values())
    assert not encoded['heatmaps'][[1, 3]].any()


def test_rows_of_the_root_are_those_of_all_joints():
    """The visible rows of Σ̃'s root are the target: a predicted Σ = Σ̃ has a bound of zero."""
    factor = RNG.normal(size=(1, 10, 10)).astype(np.float32)
    visible = np.ones((1, 5), np.float32)
    whole = SoftArgmaxCodec().encode(POINTS, visible, factor)['pseudo_root']
    visible[0, 1] = 0
    np.testing.assert_array_equal(
        SoftArgmaxCodec().encode(POINTS, visible, factor)['pseudo_root'], whole
    )


def test_packed_by_mmpose():
    """Labels and the truth in image pixels get where the head and the metric look."""
    factor = np.eye(10, dtype=np.float32)[None]
    results = dict(
        img=np.zeros((256, 256, 3), np.uint8),
        bbox=np.zeros((1, 4)),
        keypoints=POINTS,
        transformed_keypoints=POINTS,
        keypoints_visible=np.ones((1, 5), np.float32),
        pseudo_factor=factor,
        true_factor=factor,
        transformed_pseudo_factor=factor,
        transformed_true_factor=2 * factor,
    )
    results = GenerateTarget(encoder=dict(type='SoftArgmaxCodec'))(results)
    packed = PackPoseInputs(meta_keys=())(results)['data_samples']
    assert packed.gt_instance_labels.pseudo_root.shape == (1, 10, 10)
    assert packed.gt_instance_labels.true_factor[0, 0, 0].item() == pytest.approx(2 * 63 / 255)
    np.testing.assert_array_equal(packed.gt_instances.true_factor, factor)
    assert packed.gt_fields.heatmaps.shape == (5, 64, 64)


def test_image_without_annotation_passes():
    assert SoftArgmaxCodec().encode(np.zeros([]), np.ones((1, 1, 1))) == {}


def test_bad_arguments():
    with pytest.raises(ValueError, match='sigma'):
        SoftArgmaxCodec(sigma=0)
    with pytest.raises(ValueError, match='stride'):
        SoftArgmaxCodec(stride=0)
    with pytest.raises(ValueError, match='one instance'):
        SoftArgmaxCodec().encode(np.zeros((2, 5, 2), np.float32))
    with pytest.raises(ValueError, match='5 joints'):
        SoftArgmaxCodec().encode(POINTS, transformed_pseudo_factor=np.zeros((1, 8, 8)))
