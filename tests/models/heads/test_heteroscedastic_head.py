import numpy as np
import pytest
import torch
from helpers_pose import BACKBONE, CODEC, FLIP_INDICES, JOINTS, estimator, head_config, sample
from mmpose.registry import MODELS

from hetpose.errors import UserError
from hetpose.ops.soft_argmax import soft_argmax

DIM = 2 * JOINTS
TAYLOR = dict(type='TaylorInducedCovariance', order='gradient', floor=1e-2)
COVARIANCES = [
    dict(type='FactorCovariance'),
    dict(type='CholeskyCovariance'),
    dict(type='PrecisionCovariance'),
    dict(type='RootCovariance'),
    dict(type='DiagonalCovariance'),
    dict(type='AnchoredCovariance'),
    TAYLOR,
    dict(type='TaylorInducedCovariance', order='full', floor=1e-2),
]


def images(count: int = 3) -> torch.Tensor:
    return torch.randn(count, 3, 32, 32, generator=torch.Generator().manual_seed(5))


def samples(count: int = 3, **kwargs) -> list:
    return [sample(seed, **kwargs) for seed in range(count)]


@pytest.mark.parametrize('covariance', COVARIANCES, ids=lambda c: c['type'] + c.get('order', ''))
@pytest.mark.parametrize('objective', ['NLLObjective', 'W2BoundObjective', 'W2Objective'])
def test_every_pair_trains_and_predicts(covariance, objective):
    model = estimator(covariance=covariance, objective=dict(type=objective))
    losses = model.train().loss(images(), samples())
    sum(value for name, value in losses.items() if name.startswith('loss')).backward()
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    assert all(gradient.isfinite().all() for gradient in gradients)
    assert model.head.final_layer.weight.grad.abs().sum() > 0
    assert model.head.covariance_branch.net[-1].weight.grad is not None
    predicted = model.eval().predict(images(), samples())[0].pred_instances
    values = np.linalg.eigvalsh(predicted.covariances[0])
    assert values.min() > 0


def test_homoscedastic_model_has_no_covariance_network():
    covariance = dict(type='ConstantCovariance')
    model = estimator(covariance=covariance, objective=dict(type='MSEObjective'))
    assert model.head.covariance_branch.net is None
    model.head.covariance.set_anchor(4 * torch.eye(DIM))
    model.train().loss(images(), samples())['loss_objective'].backward()
    first, second, _ = (s.pred_instances for s in model.eval().predict(images(), samples()))
    np.testing.assert_allclose(first.covariances, second.covariances)


@pytest.mark.parametrize('covariance', [TAYLOR, dict(type='FactorCovariance')])
def test_covariance_sends_no_gradient_to_the_mean(covariance):
    """∂Σ/∂w = 0 for every weight but those of the covariance network."""
    model = estimator(covariance=covariance)
    predicted = model.train().head(model.extract_feat(images()))
    predicted.covariance.matrix.square().sum().backward()
    touched = {name for name, p in model.named_parameters() if p.grad is not None}
    assert touched
    assert all(name.startswith('head.covariance_branch.') for name in touched)


def test_mean_sends_gradient_through_the_bottleneck():
    model = estimator()
    model.train().head(model.extract_feat(images())).mean.square().sum().backward()
    for name in ('bottleneck.down.0.weight', 'bottleneck.lift.3.weight', 'deconv_layers.0.weight'):
        assert model.head.get_parameter(name).grad.abs().sum() > 0
    assert model.head.covariance_branch.net[-1].weight.grad is None
    assert model.backbone.patch_embed.projection.weight.grad.abs().sum() > 0


def test_missing_joints_do_not_influence_the_loss():
    """Any label of a missing joint gives the same loss, and no gradient reaches its heatmap."""
    for objective in ('NLLObjective', 'W2BoundObjective'):
        model = estimator(objective=dict(type=objective)).train()
        batch = samples(2, visible=[1, 0, 1, 1])
        model.head.covariance_branch.eval()
        before = model.loss(images(2), batch)
        for data in batch:
            data.gt_instance_labels.keypoint_labels[:, 1] = 1e4
            data.gt_fields.heatmaps[1] = 7
        after = model.loss(images(2), batch)
        for name in ('loss_heatmap', 'loss_objective'):
            torch.testing.assert_close(before[name], after[name])
        sum(after[name] for name in ('loss_heatmap', 'loss_objective')).backward()
        assert not model.head.final_layer.weight.grad[1].any()
        assert model.head.final_layer.weight.grad[0].any()


def test_loss_of_missing_joints_is_that_of_the_marginal():
    from hetpose.ops.gaussian import negative_log_likelihood

    model = estimator().eval()
    data = sample(visible=[0, 1, 1, 0])
    loss = model.loss(images(1), [data])['loss_objective']
    predicted = model.head(model.extract_feat(images(1)))
    rows = [2, 3, 4, 5]
    residual = data.gt_instance_labels.keypoint_labels.flatten(1) - predicted.mean
    sigma = predicted.covariance.matrix[0][rows][:, rows]
    torch.testing.assert_close(loss, negative_log_likelihood(residual[0, rows], sigma))


def test_a_batch_without_any_joint_has_no_loss():
    model = estimator().train()
    losses = model.loss(images(2), samples(2, visible=[0, 0, 0, 0]))
    assert losses['loss_objective'].item() == 0
    assert losses['loss_heatmap'].item() == 0
    (losses['loss_objective'] + losses['loss_heatmap']).backward()
    assert all(p.grad.isfinite().all() for p in model.parameters() if p.grad is not None)


def test_checkpoint_of_a_heatmap_head_loads_by_name():
    """Keys of mmpose's own model all fit; only bottleneck and covariance are new."""
    plain = MODELS.build(
        dict(
            type='TopdownPoseEstimator',
            backbone=BACKBONE,
            head=dict(
                type='HeatmapHead',
                in_channels=16,
                out_channels=JOINTS,
                deconv_out_channels=(12, 12),
                deconv_kernel_sizes=(4, 4),
            ),
        )
    ).eval()
    model = estimator().eval()
    torch.nn.init.normal_(plain.head.final_layer.weight, std=0.3)
    result = model.load_state_dict(plain.state_dict(), strict=False)
    assert not result.unexpected_keys
    new = ('head.bottleneck.', 'head.covariance_branch.', 'head._extra_state')
    assert all(key.startswith(new) for key in result.missing_keys)
    # The bottleneck starts small: heatmaps are almost those of the checkpoint, but J is not zero.
    heatmaps = plain.head(plain.extract_feat(images()))
    ours = model.head(model.extract_feat(images())).heatmaps
    assert (ours - heatmaps).abs().max() < 0.1 * heatmaps.std()
    assert not torch.equal(ours, heatmaps)


def test_taylor_terms_are_the_derivatives_of_the_predicted_mean():
    model = estimator(covariance=TAYLOR).eval()
    (features,) = model.extract_feat(images(2))
    z = model.head.bottleneck.down(features).detach()

    def mean(point):
        heatmaps = model.head.heatmap_decoder(features + model.head.bottleneck.lift(point))
        return soft_argmax(heatmaps, model.head.temperature).flatten(1)

    terms = model.head.taylor_terms(features, z)
    expected = torch.func.jacrev(mean)(z)
    expected = torch.stack([expected[i, :, i] for i in range(2)])
    torch.testing.assert_close(terms.jacobian, expected, rtol=1e-3, atol=1e-5)
    assert terms.jacobian.abs().max() > 0


def mirror(instances) -> tuple[np.ndarray, np.ndarray]:
    """Keypoints and Σ mirrored about the crop's centre x = 50, with the joints exchanged."""
    keypoints = instances.keypoints[0][FLIP_INDICES] * [-1, 1] + [100, 0]
    rows = np.array([[2 * j, 2 * j + 1] for j in FLIP_INDICES]).ravel()
    sign = np.tile([-1, 1], JOINTS)
    return keypoints, instances.covariances[0][np.ix_(rows, rows)] * np.outer(sign, sign)


@pytest.mark.parametrize('mode', [None, 'heatmap'])
def test_flip_test_of_a_mirrored_image_is_the_mirrored_prediction(mode):
    model = estimator(test_cfg=dict(flip_test=True, flip_mode=mode)).eval()
    straight = model.predict(images(), samples())
    flipped = model.predict(images().flip(-1), samples())
    single = estimator().eval()
    single.load_state_dict(model.state_dict())
    for a, b in zip(straight, flipped, strict=True):
        keypoints, covariance = mirror(b.pred_instances)
        np.testing.assert_allclose(a.pred_instances.keypoints[0], keypoints, atol=1e-3)
        np.testing.assert_allclose(a.pred_instances.covariances[0], covariance, atol=1e-3)
    # … while a single pass is not symmetric, so the test above can fail.
    one = single.predict(images(), samples())[0].pred_instances
    keypoints, _ = mirror(single.predict(images().flip(-1), samples())[0].pred_instances)
    assert np.abs(one.keypoints[0] - keypoints).max() > 0.1


def test_flip_test_averages_two_gaussians():
    model = estimator(test_cfg=dict(flip_test=True)).eval()
    single = estimator().eval()
    single.load_state_dict(model.state_dict())
    fused = model.predict(images(), samples())[0].pred_instances
    first = single.predict(images(), samples())[0].pred_instances
    second = single.predict(images().flip(-1), samples())[0].pred_instances
    keypoints, covariance = mirror(second)
    np.testing.assert_allclose(fused.keypoints[0], (first.keypoints[0] + keypoints) / 2, atol=1e-3)
    expected = (first.covariances[0] + covariance) / 2
    np.testing.assert_allclose(fused.covariances[0], expected, atol=1e-3)


def test_prediction_is_in_image_pixels():
    """μ_image = S μ + t and Σ_image = SΣS with S = input_scale / (heatmap_size − 1)."""
    model = estimator().eval()
    predicted = model.predict(images(), samples(scale=(40.0, 80.0)))
    heatmap = model.head(model.extract_feat(images()))
    scale = np.tile([40 / 15, 80 / 15], JOINTS)
    offset = np.tile([50 - 20, 60 - 40], JOINTS)
    for i, data in enumerate(predicted):
        got = data.pred_instances
        mean = heatmap.mean[i].detach().numpy() * scale + offset
        sigma = heatmap.covariance.matrix[i].detach().numpy() * np.outer(scale, scale)
        np.testing.assert_allclose(got.keypoints.reshape(-1), mean, rtol=1e-4)
        np.testing.assert_allclose(got.covariances[0], sigma, rtol=1e-4)
        blocks = np.stack([sigma[2 * k : 2 * k + 2, 2 * k : 2 * k + 2] for k in range(JOINTS)])
        np.testing.assert_allclose(got.keypoint_covariances[0], blocks, rtol=1e-4)


def test_scores_are_probabilities_under_the_covariance():
    """Monte Carlo: the share of draws from N(0, Σ_k) within a tenth of the longer side, 48 px."""
    model = estimator(score_radius=0.1).eval()
    got = model.predict(images(), samples())[0].pred_instances
    rng = np.random.default_rng(0)
    for k in range(JOINTS):
        draws = rng.multivariate_normal(
            np.zeros(2), got.keypoint_covariances[0, k], 40_000, check_valid='ignore'
        )
        share = (np.linalg.norm(draws, axis=1) <= 4.8).mean()
        assert got.keypoint_scores[0, k] == pytest.approx(share, abs=0.01)


def test_selected_keypoints():
    chosen = [3, 0]
    model = estimator(test_cfg=dict(flip_test=True, output_keypoint_indices=chosen)).eval()
    everything = estimator(test_cfg=dict(flip_test=True)).eval()
    everything.load_state_dict(model.state_dict())
    got = model.predict(images(), samples())[0].pred_instances
    want = everything.predict(images(), samples())[0].pred_instances
    np.testing.assert_allclose(got.keypoints, want.keypoints[:, chosen])
    np.testing.assert_allclose(got.keypoint_covariances, want.keypoint_covariances[:, chosen])
    rows = [6, 7, 0, 1]
    np.testing.assert_allclose(got.covariances[0], want.covariances[0][np.ix_(rows, rows)])
    assert got.keypoint_scores.shape == (1, 2)


def test_heatmaps_on_request():
    model = estimator(test_cfg=dict(flip_test=True, output_heatmaps=True)).eval()
    assert model.predict(images(), samples())[0].pred_fields.heatmaps.shape == (JOINTS, 16, 16)


def test_switch_changes_objective_and_keeps_weights():
    model = estimator(objective=dict(type='W2BoundObjective'), covariance=TAYLOR)
    before = {name: p.clone() for name, p in model.named_parameters()}
    model.head.switch(objective=dict(type='NLLObjective'))
    assert type(model.head.objective).__name__ == 'NLLObjective'
    assert all(torch.equal(p, before[name]) for name, p in model.named_parameters())
    with pytest.raises(ValueError, match='never trains'):
        model.head.switch(objective=dict(type='MSEObjective'))
    assert type(model.head.objective).__name__ == 'NLLObjective'


def test_switched_covariance_is_in_the_checkpoint():
    """A model in its first phase takes the second phase's parameterisation from the weights."""
    model = estimator(covariance=TAYLOR)
    model.head.switch(covariance=dict(type='AnchoredCovariance'))
    model.head.covariance.set_anchor(9 * torch.eye(DIM))
    with torch.no_grad():
        model.head.covariance_branch.net[-1].weight.normal_()
    other = estimator(covariance=TAYLOR)
    other.load_state_dict(model.state_dict())
    assert other.head.phase == model.head.phase
    a, b = (m.eval().head(m.extract_feat(images())) for m in (model, other))
    torch.testing.assert_close(a.covariance.matrix, b.covariance.matrix)
    assert (a.covariance.matrix[0] - a.covariance.matrix[1]).abs().max() > 1e-3


def test_covariance_starts_at_the_identity():
    model = estimator(lively=False, covariance=dict(type='FactorCovariance', floor=1e-6)).eval()
    sigma = model.head(model.extract_feat(images())).covariance.matrix
    torch.testing.assert_close(sigma, torch.eye(DIM).expand_as(sigma), atol=1e-4, rtol=0)


def test_constant_covariance_cannot_become_trainable():
    covariance, objective = dict(type='ConstantCovariance'), dict(type='MSEObjective')
    model = estimator(covariance=covariance, objective=objective)
    with pytest.raises(ValueError, match='no covariance network'):
        model.head.switch(
            objective=dict(type='NLLObjective'), covariance=dict(type='FactorCovariance')
        )


def test_pseudo_labels_are_asked_for():
    model = estimator(objective=dict(type='W2BoundObjective'))
    with pytest.raises(UserError, match=r'pseudo_labels\.py .*train_dataloader\.dataset\.file'):
        model.loss(images(1), [sample(pseudo=False)])


def test_learned_temperature_gets_a_gradient():
    model = estimator(learn_temperature=True)
    model.loss(images(), samples())['loss_objective'].backward()
    assert model.head.log_temperature.grad.abs() > 0
    assert 'head.log_temperature' not in estimator().state_dict()


def test_autocast_keeps_the_covariance_in_full_precision():
    model = estimator().train()
    with torch.autocast('cpu', dtype=torch.bfloat16):
        losses = model.loss(images(), samples())
        predicted = model.head(model.extract_feat(images()))
    assert predicted.covariance.matrix.dtype == torch.float32
    assert predicted.mean.dtype == torch.float32
    assert losses['loss_objective'].dtype == torch.float32


@pytest.mark.parametrize(
    ('backbone', 'head'),
    [
        (dict(type='ResNet', depth=18), dict(in_channels=512, deconv_out_channels=(8, 8, 8))),
        (
            dict(
                type='HRNet',
                in_channels=3,
                extra=dict(
                    stage1=dict(
                        num_modules=1,
                        num_branches=1,
                        block='BOTTLENECK',
                        num_blocks=(1,),
                        num_channels=(8,),
                    ),
                    stage2=dict(
                        num_modules=1,
                        num_branches=2,
                        block='BASIC',
                        num_blocks=(1, 1),
                        num_channels=(8, 16),
                    ),
                    stage3=dict(
                        num_modules=1,
                        num_branches=3,
                        block='BASIC',
                        num_blocks=(1, 1, 1),
                        num_channels=(8, 16, 32),
                    ),
                    stage4=dict(
                        num_modules=1,
                        num_branches=4,
                        block='BASIC',
                        num_blocks=(1, 1, 1, 1),
                        num_channels=(8, 16, 32, 64),
                    ),
                ),
            ),
            dict(in_channels=8, deconv_out_channels=None),
        ),
    ],
    ids=['ResNet', 'HRNet'],
)
def test_other_backbones(backbone, head):
    codec = {**CODEC, 'input_size': (64, 64)}
    kernels = None if head['deconv_out_channels'] is None else (4, 4, 4)
    config = head_config(**head, deconv_kernel_sizes=kernels, decoder=codec, covariance=TAYLOR)
    model = MODELS.build(dict(type='TopdownPoseEstimator', backbone=backbone, head=config))
    inputs = torch.randn(2, 3, 64, 64)
    losses = model.loss(inputs, samples(2))
    (losses['loss_heatmap'] + losses['loss_objective']).backward()
    predicted = model.eval().predict(inputs, samples(2))[0].pred_instances
    assert predicted.covariances.shape == (1, DIM, DIM)
    assert model.head.bottleneck.lift[0].weight.grad.abs().sum() > 0


def test_bad_sizes():
    with pytest.raises(ValueError, match='not a multiple of 4'):
        MODELS.build(head_config(decoder={**CODEC, 'heatmap_size': (18, 18)}))
    with pytest.raises(ValueError, match='temperature'):
        MODELS.build(head_config(temperature=0.0))


def test_covariance_reads_the_heatmaps_if_asked():
    torch.manual_seed(0)
    plain, reading = estimator(), estimator(heatmap_evidence=True)
    for model in (plain, reading):
        torch.nn.init.normal_(model.head.covariance_branch.net[-1].weight)
        model.eval()
        features = model.extract_feat(images())
        before = model.head.forward(features)
        model.head.final_layer.bias.data += 1.0  # higher heatmaps, the same mean and z
        after = model.head.forward(features)
        torch.testing.assert_close(after.mean, before.mean)
        same = torch.allclose(after.covariance.matrix, before.covariance.matrix)
        assert same == (model is plain)
