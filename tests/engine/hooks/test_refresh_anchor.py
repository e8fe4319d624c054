import torch
from mmengine.logging import MessageHub, MMLogger
from mmpose.registry import MODELS

from hetpose.engine.hooks import ObjectiveSwitchHook
from hetpose.engine.hooks.refresh_anchor import RefreshAnchorHook, SecondMoment
from hetpose.ops.gaussian import negative_log_likelihood
from hetpose.ops.moments import pair_sums, residual_covariance


def moment_of(residual: torch.Tensor, shrink: bool = False) -> torch.Tensor:
    return residual_covariance(*pair_sums(residual.double()), shrink=shrink).float()


def test_the_moment_is_that_of_all_batches_and_shrunk_where_they_are_few() -> None:
    residual = torch.randn(29, 3).double()
    moment = SecondMoment()
    for part in residual.split(20):
        moment.add(part)
    torch.testing.assert_close(moment.covariance(), moment_of(residual, shrink=True))
    moment.add(residual[:1])  # ten for each dimension
    whole = torch.cat([residual, residual[:1]])
    torch.testing.assert_close(moment.covariance(), moment_of(whole))


def test_of_many_samples_nearly_collinear_targets_stay_so() -> None:
    common = torch.randn(600, 1).double()
    moment = SecondMoment()
    moment.add(common + 1e-3 * torch.randn(600, 5).double())
    assert torch.linalg.eigvalsh(moment.covariance().double())[0] < 1e-5


def test_a_handful_of_people_makes_an_anchor_that_others_fit() -> None:
    """Of twelve people in 28 dimensions the plain moment is singular: others lie far outside."""
    residual, others = torch.randn(12, 28), torch.randn(200, 28)
    moment = SecondMoment()
    moment.add(residual)
    model = MODELS.build(dict(type='AnchoredCovariance', floor=1e-3))
    model.prepare(28)
    model.set_anchor(moment.covariance())
    matrix = model(torch.zeros(1, model.num_outputs(28)), 28).matrix
    found = negative_log_likelihood(others, matrix).mean()
    ideal = negative_log_likelihood(others, torch.eye(28)[None]).mean()
    assert found < 1.5 * ideal


def test_missing_targets_are_left_out_pair_by_pair() -> None:
    residual = torch.tensor([[1.0, 2.0], [3.0, float('nan')]])
    moment = SecondMoment()
    mask = torch.tensor([[True, True], [True, False]])
    moment.add(residual, mask)
    # One person has both: the covariance is 2 / (1 + 2). Variances of (1, 9) and (4), and of one
    # more person with the mean of all, 14 / 3.
    expected = torch.tensor([[(10 + 14 / 3) / 3, 2 / 3], [2 / 3, (4 + 14 / 3) / 2]])
    torch.testing.assert_close(moment.covariance(), expected)


def regressor(covariance: str):
    return MODELS.build(
        dict(
            type='HeteroscedasticRegressor',
            in_dim=1,
            out_dim=2,
            objective=dict(type='NLLObjective'),
            covariance=dict(type=covariance, floor=1e-6),
        )
    )


class FakeRunner:
    epoch = 0
    max_epochs = 9

    def __init__(self, model, hooks=()) -> None:
        self.model = model
        self.hooks = list(hooks)
        self.message_hub = MessageHub('refresh_anchor_test')
        self.logger = MMLogger('refresh_anchor_test')


def test_it_reads_what_the_objective_saw_in_training() -> None:
    model = regressor('AnchoredCovariance')
    hook, runner = RefreshAnchorHook(), FakeRunner(model)
    hook.before_train_epoch(runner)
    model.train()
    mean, target = torch.randn(2, 40, 2)
    covariance = model.covariance(torch.zeros(40, 3), 2)
    model.objective(mean, target, covariance)
    model.eval()
    model.objective(mean + 100, target, covariance)  # an evaluation does not count
    hook.after_train_epoch(runner)
    residual = target - mean
    matrix = model.covariance(torch.zeros(1, 3), 2).matrix[0]
    torch.testing.assert_close(matrix, moment_of(residual), atol=1e-4, rtol=1e-4)
    assert not model.objective.observers


def test_a_covariance_that_a_switch_brings_in_starts_from_the_epoch_before() -> None:
    model = regressor('CholeskyCovariance')
    anchored = dict(type='AnchoredCovariance', floor=1e-6)
    switch = ObjectiveSwitchHook([dict(epoch=1, covariance=anchored, reset_optimizer=False)])
    hook, runner = RefreshAnchorHook(), FakeRunner(model, [switch])
    hook.before_train_epoch(runner)
    model.train()
    residual = torch.randn(40, 2) @ torch.tensor([[1.0, 0.0], [0.5, 2.0]])
    model.objective(residual, torch.zeros(40, 2), model.covariance(torch.zeros(40, 3), 2))
    hook.after_train_epoch(runner)
    runner.epoch = 1
    model.switch(covariance=anchored)
    assert not model.covariance.is_set
    hook.before_train_epoch(runner)
    matrix = model.covariance(torch.zeros(1, 3), 2).matrix[0]
    torch.testing.assert_close(matrix, moment_of(residual), atol=1e-4, rtol=1e-4)


def test_residuals_that_nothing_needs_are_not_watched() -> None:
    model = regressor('CholeskyCovariance')
    RefreshAnchorHook().before_train_epoch(FakeRunner(model))
    assert not model.objective.observers
