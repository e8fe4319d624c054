import pytest
import torch
from torch.optim.lr_scheduler import ReduceLROnPlateau

from hetpose.engine.hooks.plateau import TrainingLossPlateauHook
from hetpose.models.phase import Phase, Switchable


class Hub(dict):
    def get_info(self, key, default=None):
        return self.get(key, default)

    update_info = dict.__setitem__


class FakeRunner:
    """The attributes of a Runner that the hook reads."""

    def __init__(self, decoupled: bool = False) -> None:
        parameters = [torch.nn.Parameter(torch.zeros(1)) for _ in range(2)]
        groups = [
            {'name': name, 'params': [parameter]}
            for name, parameter in zip(('mean', 'covariance'), parameters, strict=True)
        ]
        self.optim_wrapper = torch.optim.SGD(groups, lr=1.0)
        self.message_hub = Hub()
        self.model = Switchable()
        self.model.objective = torch.nn.Module()
        self.model.objective.decoupled = decoupled

    @property
    def rates(self) -> list[float]:
        return [group['lr'] for group in self.optim_wrapper.param_groups]


def epoch(hook, runner, loss: float, squared_error: float = 0.0) -> None:
    hook.before_train_epoch(runner)
    for part in (-1.0, 1.0):  # the mean counts
        outputs = {
            'loss': torch.tensor(loss + part),
            'squared_error': torch.tensor(squared_error),
        }
        hook.after_train_iter(runner, 0, outputs=outputs)
    hook.after_train_epoch(runner)


@pytest.mark.parametrize('offset', [0.0, 100.0])
def test_it_does_what_torch_does(offset: float) -> None:
    losses = (torch.rand(60) + offset).tolist()
    reference = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    scheduler = ReduceLROnPlateau(reference, factor=0.25, patience=3, min_lr=1e-3)
    hook, runner = TrainingLossPlateauHook(factor=0.25, patience=3, min_lr=1e-3), FakeRunner()
    for loss in losses:
        scheduler.step(torch.tensor(loss - 1.0 + loss + 1.0).item() / 2)
        epoch(hook, runner, loss)
        assert runner.rates == pytest.approx([reference.param_groups[0]['lr']] * 2)
    assert runner.rates[0] < 1.0


def test_decoupled_parts_are_watched_apart() -> None:
    hook, runner = TrainingLossPlateauHook(patience=2), FakeRunner(decoupled=True)
    for step in range(6):
        error = 1.0 / (step + 1)  # the mean goes on learning, the covariance does not
        epoch(hook, runner, loss=error + 5.0, squared_error=error)
    assert runner.rates[0] == 1.0
    assert runner.rates[1] < 1.0


def test_a_new_phase_starts_a_new_count() -> None:
    hook, runner = TrainingLossPlateauHook(patience=2), FakeRunner()
    epoch(hook, runner, 1.0)
    runner.model.phase = Phase(1)
    for step in range(4):
        epoch(hook, runner, 100.0 - step)  # far above the old best, and falling
    assert runner.rates == [1.0, 1.0]


def test_the_count_lives_in_the_message_hub() -> None:
    """A checkpoint stores the hub, so a resumed run goes on counting."""
    runner = FakeRunner()
    for _ in range(4):
        epoch(TrainingLossPlateauHook(patience=2), runner, 1.0)
    assert runner.rates[0] == 0.25


def test_any_model_will_do() -> None:
    runner = FakeRunner()
    runner.model = torch.nn.Linear(1, 1)
    for _ in range(4):
        epoch(TrainingLossPlateauHook(patience=2), runner, 1.0)
    assert runner.rates == [0.25, 0.25]
