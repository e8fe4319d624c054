"""Student-t poses, from training through instances and metrics to flips and checkpoints."""

import numpy as np
import pytest
import torch
from helpers_pose import DIM, JOINTS, estimator, sample

from hetpose.evaluation.functional.calibration import squared_radius
from hetpose.evaluation.metrics.calibration import read_sample
from hetpose.evaluation.metrics.pose import HeteroscedasticPoseMetric
from hetpose.models.heads.pose_prediction import fuse_mirrored, fuse_tails
from hetpose.ops.disc import disc_probability
from hetpose.ops.distribution import Distribution
from hetpose.ops.student import covariance_from_scale, negative_log_likelihood, predictive_nll

OBJECTIVE = dict(type='StudentNLLObjective')
SCALES = [
    dict(type='CholeskyCovariance'),
    dict(type='AnchoredCovariance'),
    dict(type='LowRankAnchoredCovariance', rank=2),
    dict(type='TaylorInducedCovariance', order='gradient', floor=1e-2),
    dict(type='TaylorInducedCovariance', order='full', floor=1e-2),
]


def heavy(scale: dict) -> dict:
    return dict(type='StudentCovariance', scale=scale)


def images(count: int = 3) -> torch.Tensor:
    return torch.randn(count, 3, 32, 32, generator=torch.Generator().manual_seed(5))


def samples(count: int = 3) -> list:
    return [sample(seed) for seed in range(count)]


@pytest.mark.parametrize('scale', SCALES, ids=lambda c: c['type'] + c.get('order', ''))
def test_every_scale_trains_and_predicts(scale) -> None:
    model = estimator(covariance=heavy(scale), objective=OBJECTIVE)
    losses = model.train().loss(images(), samples())
    losses['loss_objective'].backward()
    count = model.head.covariance.num_outputs(DIM)
    assert model.head.covariance_branch.net[-1].bias.grad[count - 1] != 0
    for predicted in model.eval().predict(images(), samples()):
        instances = predicted.pred_instances
        assert instances.degrees_of_freedom.shape == (1,)
        assert instances.degrees_of_freedom[0] > 2
        assert np.linalg.eigvalsh(instances.covariances[0]).min() > 0


def test_scores_are_those_of_the_tails() -> None:
    model = estimator(covariance=heavy(SCALES[0]), objective=OBJECTIVE)
    (predicted, *_) = model.eval().predict(images(), samples())
    instances = predicted.pred_instances
    blocks = torch.as_tensor(instances.keypoint_covariances[0])
    x1, y1, x2, y2 = predicted.gt_instances.bboxes[0]
    radius = 0.05 * max(x2 - x1, y2 - y1)
    nu = torch.as_tensor(instances.degrees_of_freedom)
    expected = disc_probability(blocks, radius, degrees_of_freedom=nu)
    np.testing.assert_allclose(instances.keypoint_scores[0], expected, rtol=1e-4)


def test_metrics_read_the_tails() -> None:
    model = estimator(covariance=heavy(SCALES[0]), objective=OBJECTIVE)
    found = [output.to_dict() for output in model.eval().predict(images(), samples())]
    rows = Distribution.joined([read_sample(sample) for sample in found])
    assert rows.degrees_of_freedom.shape == (3,)
    metric = HeteroscedasticPoseMetric(heatmap_size=(16, 16), homoscedastic=False)
    metric.process(None, found)
    heavy_nll = metric.compute_metrics(metric.results)['nll_px']
    nu = rows.degrees_of_freedom
    expected = predictive_nll(rows.residual, rows.covariance, nu, rows.mask).mean().item()
    assert heavy_nll == pytest.approx(expected, rel=1e-6)


def test_a_gaussian_head_is_as_it_was() -> None:
    plain = estimator(covariance=SCALES[0], objective=dict(type='NLLObjective'))
    model = estimator(covariance=heavy(SCALES[0]), objective=OBJECTIVE)
    assert plain.state_dict().keys() == model.state_dict().keys()
    shapes = [value.shape for name, value in plain.state_dict().items() if 'extra' not in name]
    others = [value.shape for name, value in model.state_dict().items() if 'extra' not in name]
    assert shapes == others
    (predicted, *_) = plain.eval().predict(images(), samples())
    assert 'degrees_of_freedom' not in predicted.pred_instances


def test_flips_average_the_scale_and_not_the_covariance() -> None:
    """Both views have the same ellipses but for their tails: the fused ones lie between them."""
    nu = torch.tensor([2.1]), torch.tensor([5.3])
    eye = torch.eye(2)[None]
    first, second = (Distribution(torch.zeros(1, 2), covariance_from_scale(eye, v), v) for v in nu)
    fused = fuse_mirrored(first, second, [0], 0.0)
    torch.testing.assert_close(fused.scale, eye)
    areas = [
        squared_radius(0.9, 2, p.degrees_of_freedom) * p.covariance[:, 0, 0]
        for p in (second, fused, first)
    ]
    assert areas == sorted(areas)


def test_flips_fuse_the_tails() -> None:
    first, second = torch.tensor([4.0, 3.0]), torch.tensor([4.0, 6.0])
    torch.testing.assert_close(fuse_tails(first, second), torch.tensor([4.0, 4.0]))
    assert fuse_tails(None, None) is None
    model = estimator(dict(flip_test=True), covariance=heavy(SCALES[0]), objective=OBJECTIVE)
    (predicted, *_) = model.eval().predict(images(), samples())
    assert predicted.pred_instances.degrees_of_freedom[0] > 2


def test_a_checkpoint_tells_that_it_is_heavy_tailed() -> None:
    model = estimator(covariance=heavy(SCALES[0]), objective=OBJECTIVE).eval()
    other = estimator(covariance=SCALES[0], objective=dict(type='NLLObjective')).eval()
    other.load_state_dict(model.state_dict())
    ours, theirs = (m.predict(images(), samples())[0].pred_instances for m in (model, other))
    np.testing.assert_allclose(ours.degrees_of_freedom, theirs.degrees_of_freedom)
    np.testing.assert_allclose(ours.covariances, theirs.covariances)


def test_the_loss_is_the_likelihood_of_the_labels() -> None:
    model = estimator(covariance=heavy(SCALES[0]), objective=OBJECTIVE).eval()
    data = samples()
    features = model.extract_feat(images())
    predicted = model.head(features)
    target = torch.cat([s.gt_instance_labels.keypoint_labels for s in data]).flatten(-2)
    expected = negative_log_likelihood(
        target - predicted.mean,
        predicted.covariance.scale.matrix,
        predicted.covariance.degrees_of_freedom,
    )
    loss = model.head.loss(features, data)['loss_objective']
    torch.testing.assert_close(loss, expected.mean(), rtol=1e-4, atol=1e-4)
    assert target.shape == (3, 2 * JOINTS)
