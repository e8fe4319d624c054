"""The curve keeps every evaluation."""

from types import SimpleNamespace

from helpers_suite import unit_config
from mmpose.registry import HOOKS

from hetpose.engine.hooks.curve import CurveHook
from hetpose.engine.launch import build_runner


def test_a_point_is_what_was_measured_under_its_short_name() -> None:
    hook = HOOKS.build(dict(type='CurveHook'))
    metrics = {'regression/nll': 1.5, 'mse': 2}
    for epoch in (1, 3):
        hook.after_val_epoch(SimpleNamespace(epoch=epoch), metrics)
    metrics['mse'] = 0  # what the evaluator does later changes no point
    assert hook.points == [{'epoch': e, 'nll': 1.5, 'mse': 2.0} for e in (1, 3)]


def test_a_run_has_a_point_for_every_validation(tmp_path) -> None:
    config = unit_config(tmp_path, 'mse', epochs=4)
    config.train_cfg.val_interval = 2
    runner = build_runner(config)
    hook = CurveHook()
    runner.register_hook(hook)
    runner.train()
    assert [point['epoch'] for point in hook.points] == [2, 4]
    assert hook.points[0]['mse'] != hook.points[1]['mse'], 'another epoch, other weights'
