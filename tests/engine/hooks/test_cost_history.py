"""The history of a scalar stays short, and its latest values are those that were logged."""

from types import SimpleNamespace

import pytest
from mmengine.logging import MessageHub
from mmpose.registry import HOOKS


def test_the_latest_values_stay() -> None:
    hub = MessageHub('short-history')
    hook = HOOKS.build(dict(type='ShortHistoryHook', keep=10))
    for step in range(37):
        hub.update_scalar('loss', float(step))
        hook.after_train_iter(SimpleNamespace(iter=step, message_hub=hub), step)
        buffer = hub.get_scalar('loss')
        assert len(buffer.data[0]) <= 20
        assert buffer.current() == step
        assert buffer.mean(5) == pytest.approx(
            sum(range(max(0, step - 4), step + 1)) / min(5, step + 1)
        )
    assert buffer.data[0].tolist() == list(range(20, 37))


def test_it_must_keep_something() -> None:
    with pytest.raises(ValueError, match='keep must be at least 1'):
        HOOKS.build(dict(type='ShortHistoryHook', keep=0))
