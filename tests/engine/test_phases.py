import pytest
from mmengine.config import Config
from torch import nn

from hetpose.engine.phases import enter_phase


class Switchable(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.calls: list = []

    def switch(self, objective=None, covariance=None) -> None:
        self.calls.append((objective, covariance))


CONFIG = Config(
    dict(
        custom_hooks=[
            dict(type='RefreshAnchorHook'),
            dict(
                type='ObjectiveSwitchHook',
                switches=[dict(epoch=8, covariance='c'), dict(epoch=3, objective='o')],
            ),
        ]
    )
)


@pytest.mark.parametrize(
    ('epochs_done', 'calls'),
    [(None, []), (3, []), (4, [('o', None)]), (9, [('o', None), (None, 'c')])],
)
def test_switches_behind_the_checkpoint_are_made_in_order(epochs_done, calls):
    model = Switchable()
    enter_phase(model, CONFIG, {'meta': {'epoch': epochs_done}} if epochs_done else {})
    assert model.calls == calls


def test_a_config_without_hooks_changes_nothing():
    enter_phase(nn.Linear(1, 1), Config({}), {'meta': {'epoch': 5}})
