"""Hooks of the regression suites in real runs."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers_suite import unit_config
from mmengine.hooks import Hook

from hetpose.engine import launch
from hetpose.engine.hooks import KeepBestHook
from hetpose.engine.hooks.keep_best import scores
from hetpose.engine.hooks.refresh_anchor import residual_covariance


class Watch(Hook):
    """Record the validation scores of every epoch, and the mean's weights."""

    priority = 'VERY_LOW'

    def __init__(self) -> None:
        self.scores: list[tuple[float, float]] = []
        self.weights: list[torch.Tensor] = []

    def after_train_epoch(self, runner) -> None:
        model = runner.model.eval()
        self.scores.append(scores(model, runner.val_dataloader.dataset.arrays))
        self.weights.append(next(model.mean_network.parameters()).detach().clone())
        model.train()


def run(config):
    runner, watch = launch.build_runner(config), Watch()
    runner.register_hook(watch)
    runner.train()
    return runner, watch


def kept(runner) -> tuple[float, float]:
    return scores(runner.model.eval(), runner.val_dataloader.dataset.arrays)


@pytest.mark.parametrize('method', ['nll', 'w2_bound', 'beta_nll'])
def test_the_best_mean_and_no_worse_a_covariance_are_kept(tmp_path, method) -> None:
    config = unit_config(tmp_path, method, epochs=4)
    config.optim_wrapper.optimizer.lr = 0.05  # so that the last epoch is not the best
    runner, watch = run(config)
    mse, nll = kept(runner)
    errors = [score[0] for score in watch.scores]
    assert mse == pytest.approx(min(errors), rel=1e-6)
    best = watch.weights[int(np.argmin(errors))]
    assert torch.equal(next(runner.model.mean_network.parameters()), best)
    (hook,) = [hook for hook in runner.hooks if isinstance(hook, KeepBestHook)]
    assert nll == pytest.approx(hook.state['nll'], rel=1e-5)


def test_a_fixed_mean_does_not_move_and_the_covariance_starts_homoscedastic(tmp_path) -> None:
    runner, watch = run(unit_config(tmp_path, 'anchored', epochs=3))
    frozen = watch.weights[3:]
    assert len(frozen) == 3
    assert all(torch.equal(weight, frozen[0]) for weight in frozen)
    assert runner.model.mean_frozen
    anchor = runner.model.covariance.anchor
    expected = residual_covariance(runner.model, runner.train_dataloader.dataset)
    torch.testing.assert_close(anchor @ anchor.mT, expected, atol=1e-3, rtol=1e-3)


def test_an_anchored_covariance_that_only_gets_worse_is_kept_as_it_started(tmp_path) -> None:
    config = unit_config(tmp_path, 'anchored', epochs=2)
    config.optim_wrapper.optimizer.lr = 0.2
    runner, watch = run(config)
    nll = kept(runner)[1]
    assert nll < min(score[1] for score in watch.scores[2:])


def test_the_constant_covariance_is_that_of_the_final_residuals(tmp_path) -> None:
    runner, _ = run(unit_config(tmp_path, 'homoscedastic'))
    expected = residual_covariance(runner.model, runner.train_dataloader.dataset)
    anchor = runner.model.covariance.anchor
    torch.testing.assert_close(anchor @ anchor.mT, expected, atol=2e-3, rtol=1e-3)


def test_the_trajectory_starts_before_the_first_step(tmp_path) -> None:
    config = unit_config(tmp_path, 'w2_bound', 'bivariate', epochs=1)
    runner, _ = run(config)
    record = np.load(Path(runner.work_dir) / 'trajectory.npz')
    assert record['steps'].tolist() == [0, 2, 4, 6, 8, 10]
    np.testing.assert_allclose(record['means'][0], 0)
    np.testing.assert_allclose(record['covariances'][0], np.eye(2), atol=2e-3)
    assert not np.allclose(record['means'][1], record['means'][-1])


def test_the_trajectory_of_a_resumed_run_is_whole(tmp_path) -> None:
    config = unit_config(tmp_path, 'w2_bound', 'bivariate', epochs=2)
    config.default_hooks.checkpoint.update(interval=1, max_keep_ckpts=-1)
    whole = run(config)[0].work_dir
    steps, means = _trajectory(whole)
    again = unit_config(tmp_path, 'w2_bound', 'bivariate', epochs=2)
    again.work_dir = str(tmp_path / 'again')
    again.resume, again.load_from = True, str(Path(whole) / 'epoch_1.pth')
    resumed_steps, resumed_means = _trajectory(run(again)[0].work_dir)
    np.testing.assert_array_equal(resumed_steps, steps)
    np.testing.assert_allclose(resumed_means, means, rtol=1e-5, atol=1e-6)


def _trajectory(folder) -> tuple[np.ndarray, np.ndarray]:
    with np.load(Path(folder) / 'trajectory.npz') as record:
        return record['steps'], record['means']


def test_the_cost_is_measured(tmp_path) -> None:
    runner, _ = run(unit_config(tmp_path, 'mse'))
    cost = runner.message_hub.get_info('cost')
    assert cost['milliseconds_per_step'] > 0
    assert math.isfinite(cost['peak_memory_mb'])
