"""A wrapped head predicts what it predicted before, and the covariance of its errors."""

import numpy as np
import pytest
import torch
from helpers_posthoc import (
    COVARIANCE,
    HEADS,
    JOINTS,
    OBJECTIVE,
    batch,
    build,
    enliven,
    foreign_config,
    predict,
    wrapped_config,
)
from mmpose.registry import MODELS

from hetpose.errors import UserError
from hetpose.models.heads.foreign_head import refuse_head

FLIP_TEST = dict(flip_test=True, flip_mode='heatmap', shift_coords=True)


def pair(kind, **test_cfg):
    """A model, and the same model wrapped, with its weights under their own names."""
    foreign = build(foreign_config(kind, **test_cfg))
    wrapped = build(wrapped_config(kind, test_cfg), seed=1)
    result = wrapped.load_state_dict(foreign.state_dict(), strict=False)
    assert not result.unexpected_keys
    assert all(name.startswith('head.errors.') for name in result.missing_keys)
    enliven(wrapped)
    return foreign, wrapped


@pytest.mark.parametrize('flip', [False, True], ids=['straight', 'flip'])
@pytest.mark.parametrize('kind', HEADS)
def test_keypoints_and_scores_are_the_wrapped_heads_bit_for_bit(kind, flip):
    test_cfg = dict(FLIP_TEST) if flip else {}
    if kind == 'udp_combined' and flip:
        test_cfg['flip_mode'] = 'udp_combined'
    foreign, wrapped = pair(kind, **test_cfg)
    for theirs, ours in zip(predict(foreign), predict(wrapped), strict=True):
        for name in theirs.all_keys():
            assert np.array_equal(theirs[name], ours[name]), name
        assert ours.covariances.shape == (1, 2 * JOINTS, 2 * JOINTS)
        assert ours.covariances.dtype == np.float64
        assert np.array_equal(ours.covariances, ours.covariances.swapaxes(-1, -2))
        assert np.linalg.eigvalsh(ours.covariances).min() > 0
        for k in range(JOINTS):
            block = ours.covariances[0, 2 * k : 2 * k + 2, 2 * k : 2 * k + 2]
            assert np.array_equal(ours.keypoint_covariances[0, k], block)
        assert ((ours.keypoint_probabilities > 0) & (ours.keypoint_probabilities < 1)).all()


@pytest.mark.parametrize('kind', HEADS)
def test_covariance_depends_on_the_image(kind):
    _, wrapped = pair(kind)
    first, second, _ = (found.covariances for found in predict(wrapped))
    assert not np.allclose(first, second)


def test_heatmaps_and_chosen_joints_follow_the_test_settings():
    settings = dict(output_heatmaps=True, output_keypoint_indices=[2, 0])
    foreign, wrapped = pair('heatmap', **settings)
    everything = predict(pair('heatmap')[1])[0]
    images, samples = batch()
    with torch.no_grad():
        ours = wrapped.predict(images, samples)[0]
        theirs = foreign.predict(images, batch()[1])[0]
    assert torch.equal(ours.pred_fields.heatmaps, theirs.pred_fields.heatmaps)
    rows = [4, 5, 0, 1]
    np.testing.assert_array_equal(
        ours.pred_instances.covariances[0], everything.covariances[0][np.ix_(rows, rows)]
    )
    assert ours.pred_instances.keypoint_covariances.shape == (1, 2, 2, 2)
    assert ours.pred_instances.keypoint_probabilities.shape == (1, 2)


def test_covariance_scales_with_the_crop():
    _, wrapped = pair('rtmcc')
    images, samples = batch()
    larger = batch()[1]
    for found in larger:
        found.set_metainfo(dict(input_scale=2 * found.metainfo['input_scale']))
    with torch.no_grad():
        small = wrapped.predict(images, samples)[0].pred_instances.covariances
        large = wrapped.predict(images, larger)[0].pred_instances.covariances
    np.testing.assert_allclose(large, 4 * small, rtol=1e-12)


def test_own_checkpoint_loads_whole():
    _, wrapped = pair('rle')
    again = build(wrapped_config('rle'), seed=5)
    again.load_state_dict(wrapped.state_dict(), strict=True)
    for first, second in zip(predict(wrapped), predict(again), strict=True):
        assert np.array_equal(first.covariances, second.covariances)


@pytest.mark.parametrize('kind', ['heatmap', 'udp', 'rtmcc', 'rle', 'integral'])
def test_loss_is_the_likelihood_of_the_residuals_in_the_image(kind):
    """Training sees the crop and prediction the image: both must mean the same errors."""
    _, wrapped = pair(kind)
    images, samples = batch()
    if kind == 'udp':  # whose crop spans input_size - 1 pixels
        for found in samples:
            size = np.float32(found.metainfo['input_size'])
            found.gt_instances.transformed_keypoints *= (size - 1) / size
    with torch.no_grad():
        loss = wrapped.loss(images, samples)['loss_objective']
        found = wrapped.predict(images, samples)
    expected = []
    for one in found:
        truth, ours = one.gt_instances, one.pred_instances
        mask = np.repeat(truth.keypoints_visible[0] > 0, 2)
        residual = (truth.keypoints - ours.keypoints).reshape(-1)[mask].astype(np.float64)
        unit = (128 / 100) ** 2
        sigma = ours.covariances[0][np.ix_(mask, mask)] / unit
        distance = residual @ np.linalg.solve(sigma, residual) / unit
        constant = mask.sum() * np.log(2 * np.pi)
        expected.append(0.5 * (constant + np.linalg.slogdet(sigma)[1] + distance))
    assert loss.item() == pytest.approx(np.mean(expected), rel=1e-4)


def test_training_touches_the_error_model_only():
    _, wrapped = pair('heatmap')
    wrapped.train()
    assert not any(module.training for module in wrapped.head.head.modules())
    wrapped.backbone.requires_grad_(False).eval()
    images, samples = batch()
    before = {name: value.clone() for name, value in wrapped.state_dict().items()}
    optimizer = torch.optim.SGD([p for p in wrapped.parameters() if p.requires_grad], lr=0.1)
    wrapped.loss(images, samples)['loss_objective'].backward()
    optimizer.step()
    changed = {
        name
        for name, value in wrapped.state_dict().items()
        if not torch.equal(value, before[name])
    }
    assert changed
    assert all(name.startswith('head.errors.') for name in changed)


def test_a_backbone_that_would_learn_is_refused():
    _, wrapped = pair('heatmap')
    with pytest.raises(UserError, match='FreezeWrappedHook'):
        wrapped.loss(*batch())


def test_labels_outside_the_crops_frame_are_refused():
    _, wrapped = pair('heatmap')
    images, samples = batch()
    for found in samples:
        del found.gt_instances.transformed_keypoints
    with torch.no_grad(), pytest.raises(UserError, match='pack_transformed=True'):
        wrapped.loss(images, samples)


@pytest.mark.parametrize(
    ('head', 'reason'),
    [
        (dict(type='AssociativeEmbeddingHead'), 'all people of an image at once'),
        (dict(type='mmpose.RTMOHead'), 'all people of an image at once'),
        (dict(type='TemporalRegressionHead'), 'three coordinates'),
    ],
)
def test_a_head_that_cannot_be_wrapped_says_why(head, reason):
    with pytest.raises(UserError, match=reason) as caught:
        refuse_head(head)
    assert '\n' not in str(caught.value)
    with pytest.raises(UserError, match=reason):
        MODELS.build(
            dict(
                type='PosthocCovarianceHead', head=head, covariance=COVARIANCE, objective=OBJECTIVE
            )
        )


def test_a_head_without_a_decoder_is_refused():
    config = wrapped_config('heatmap')
    config['head']['head'].pop('decoder')
    with pytest.raises(UserError, match='without a decoder'):
        MODELS.build(config)
