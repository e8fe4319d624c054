"""A setting that would silently train something else is an error that names its key."""

from pathlib import Path

import pytest
from helpers_suite import unit_config
from helpers_training import STEPS, pose_config

from hetpose.engine import launch, running
from hetpose.engine.pose_setup import check_evaluators
from hetpose.engine.training_setup import check_training
from hetpose.errors import UserError


def checked(config) -> None:
    check_training(launch.build_runner(config), STEPS)


def test_a_good_config_passes(tmp_path: Path) -> None:
    checked(pose_config(tmp_path))
    checked(unit_config(tmp_path, 'anchored'))


def test_a_switch_that_is_never_reached(tmp_path: Path) -> None:
    with pytest.raises(UserError, match='epoch 1 is never reached, training ends after 1'):
        checked(pose_config(tmp_path, epochs=1))


def test_a_switch_beside_a_loop_of_iterations(tmp_path: Path) -> None:
    config = pose_config(tmp_path)
    config.train_cfg = dict(by_epoch=False, max_iters=9, val_interval=9)
    with pytest.raises(UserError, match='counts iterations'):
        checked(config)


def test_a_restart_that_misses_the_switch(tmp_path: Path) -> None:
    config = pose_config(tmp_path)
    config.param_scheduler[1] = dict(
        type='LinearLR', start_factor=0.1, begin=STEPS + 1, end=STEPS + 3, by_epoch=False
    )
    with pytest.raises(
        UserError, match=r'param_scheduler\.1 begins at iteration 4, .* iteration 3'
    ):
        checked(config)
    config.param_scheduler[1]['begin'] = STEPS
    checked(config)
    config.param_scheduler[1] = dict(type='LinearLR', start_factor=0.1, begin=2, end=3)
    with pytest.raises(UserError, match='begins at epoch 2'):
        checked(config)


def test_an_anchor_that_nothing_sets(tmp_path: Path) -> None:
    config = pose_config(tmp_path)
    config.custom_hooks = [h for h in config.custom_hooks if h.type != 'RefreshAnchorHook']
    with pytest.raises(UserError, match='AnchoredCovariance .*RefreshAnchorHook'):
        checked(config)


def test_a_switch_to_a_covariance_that_the_network_is_too_small_for(tmp_path: Path) -> None:
    """A Student-t of a full Taylor covariance needs one output more than there are."""
    config = pose_config(tmp_path)
    dim = 2 * config.model.head.out_channels
    (hook,) = (h for h in config.custom_hooks if h.type == 'ObjectiveSwitchHook')
    scale = dict(type='TaylorInducedCovariance', order='full')
    hook.switches[-1].update(
        objective=dict(type='StudentNLLObjective', prior=0.0),
        covariance=dict(type='StudentCovariance', scale=scale),
    )
    needed = dim**2 + 3
    with pytest.raises(
        UserError, match=f'StudentCovariance needs {needed} .*covariance_outputs={needed}'
    ):
        checked(config)
    config.model.head.covariance_outputs = needed
    checked(config)


def test_a_metric_in_other_units(tmp_path: Path) -> None:
    config = pose_config(tmp_path)
    check_evaluators(config)
    config.test_evaluator = [dict(config.val_evaluator, heatmap_size=(64, 64))]
    with pytest.raises(UserError, match=r'test_evaluator.heatmap_size is \(64, 64\)'):
        launch.build_runner(config)


@pytest.mark.parametrize('hook', ['KeepBestHook', 'TrajectoryHook', 'FreezeMeanHook'])
def test_a_hook_of_the_suites_in_a_pose_config(tmp_path: Path, hook: str) -> None:
    config = pose_config(tmp_path)
    config.custom_hooks.append(
        dict(type=hook, epoch=1) if hook == 'FreezeMeanHook' else dict(type=hook)
    )
    with pytest.raises(UserError, match=f'{hook} needs a HeteroscedasticRegressor'):
        running.train(launch.build_runner(config))
