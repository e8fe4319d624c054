"""The curve keeps every evaluation."""

from types import SimpleNamespace

from hetpose.engine import hooks
from hetpose.engine.hooks.curve import CurveHook


def test_points():
    hook = CurveHook()
    for epoch in (1, 3):
        hook.after_val_epoch(SimpleNamespace(epoch=epoch), {'regression/nll': 1.5, 'mse': 2})
    assert hook.points == [{'epoch': e, 'nll': 1.5, 'mse': 2.0} for e in (1, 3)]


def test_the_package_exports_it() -> None:
    assert hooks.CurveHook is CurveHook
    assert 'CurveHook' in hooks.__all__
