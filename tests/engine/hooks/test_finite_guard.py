"""A loss or gradient that is not finite never reaches the weights."""

from pathlib import Path

import pytest
import torch
from helpers_suite import unit_config
from helpers_training import pose_config
from mmengine.hooks import Hook

from hetpose.engine import launch, running
from hetpose.engine.hooks.finite_guard import SKIPPED, FiniteGuardHook, _check_gradients
from hetpose.errors import UserError
from hetpose.models.regressors import DivergedError

BAD_STEP = 4  # the second batch of the second epoch of a suite on its table


class Spoil(Hook):
    """Spoil the data of some steps, and watch the weights."""

    def __init__(self, spoil, steps=(BAD_STEP,)) -> None:
        self.spoil, self.steps = spoil, steps
        self.finite = True

    def before_train_iter(self, runner, batch_idx: int, data_batch=None) -> None:
        if runner.iter in self.steps:
            self.before = {n: v.clone() for n, v in runner.model.state_dict().items()}
            self.spoil(data_batch)

    def after_train_iter(self, runner, batch_idx: int, data_batch=None, outputs=None) -> None:
        if runner.iter in self.steps:
            for name, value in runner.model.state_dict().items():
                assert torch.equal(value, self.before[name]), name


def huge_target(batch: dict) -> None:
    batch['y'][0, 0] = 1e30  # its square is infinite


def nan_target(batch: dict) -> None:
    batch['y'][0, 0] = float('nan')


def suite_runner(tmp_path: Path, method: str = 'nll', guard: dict | None = None):
    config = unit_config(tmp_path, method, epochs=3)
    config.default_hooks.checkpoint.interval = 1
    if guard is not None:
        config.custom_hooks.append(dict(type='FiniteGuardHook', **guard))
    return launch.build_runner(config)


def test_a_loss_that_is_not_finite_stops_and_tells(tmp_path: Path) -> None:
    runner = suite_runner(tmp_path)
    spoil = Spoil(huge_target)
    runner.register_hook(spoil)
    with pytest.raises(DivergedError) as caught:
        runner.train()
    assert caught.value.step == BAD_STEP
    for name, value in runner.model.named_parameters():
        assert torch.equal(value, spoil.before[name])
    told = str(caught.value)
    for part in ('NLLObjective', 'epoch 2, batch 2', 'smallest eigenvalue', 'epoch_1.pth'):
        assert part in told
    assert '\n' not in told


def test_bad_data_is_named_with_its_batch(tmp_path: Path) -> None:
    runner = suite_runner(tmp_path)
    runner.register_hook(Spoil(nan_target))
    with pytest.raises((UserError, DivergedError), match=r'NaN.*epoch 2, batch 2'):
        runner.train()


@pytest.mark.parametrize('spoil', [huge_target, nan_target])
def test_skipped_batches_leave_no_trace(tmp_path: Path, spoil) -> None:
    """Neither weights nor running statistics nor moments: ``Spoil`` compares them."""
    runner = suite_runner(tmp_path, guard=dict(action='skip'))
    runner.register_hook(Spoil(spoil, steps=(3, 4)))
    runner.train()
    assert runner.iter == 9
    assert runner.message_hub.get_info(SKIPPED) == 2
    assert all(torch.isfinite(v).all() for v in runner.model.state_dict().values())


def test_skips_are_bounded(tmp_path: Path) -> None:
    runner = suite_runner(tmp_path, guard=dict(action='skip', max_skips=2))
    runner.register_hook(Spoil(huge_target, steps=range(3, 9)))
    with pytest.raises(DivergedError, match='2 batches were skipped before'):
        runner.train()
    assert runner.iter == 5


def test_a_gradient_that_is_not_finite_stops_before_the_step() -> None:
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    optimizer.register_step_pre_hook(lambda one, *_: _check_gradients(one, model))
    before = model.weight.clone()
    for bad in (float('nan'), float('inf')):
        model.bias.grad = torch.tensor([0.0, bad])
        with pytest.raises(FloatingPointError, match='gradient of bias'):
            optimizer.step()
    model.bias.grad = torch.tensor([3e38, 0.0])  # large, and finite
    optimizer.step()
    assert torch.equal(model.weight, before)


def test_a_pose_run_names_its_samples(tmp_path: Path) -> None:
    config = pose_config(tmp_path, epochs=1)
    config.param_scheduler = config.custom_hooks = []
    runner = launch.build_runner(config)

    def nan_heatmap(batch: dict) -> None:
        batch['data_samples'][1].gt_fields.heatmaps[0, 0, 0] = float('nan')

    runner.register_hook(Spoil(nan_heatmap, steps=(1,)))
    with pytest.raises(UserError) as caught:
        running.train(runner)
    for part in ('loss_heatmap nan', 'samples', 'smallest eigenvalue', 'none yet', 'batch 2'):
        assert part in str(caught.value)
    assert not list(Path(runner.work_dir).glob('*.pth'))


def test_a_model_is_left_as_it_was(tmp_path: Path) -> None:
    runner = suite_runner(tmp_path, 'mse')
    runner.train()
    assert 'train_step' not in vars(runner.model)
    assert 'parse_losses' not in vars(runner.model)
    assert sum(isinstance(hook, FiniteGuardHook) for hook in runner.hooks) == 1


def test_the_action_must_be_known() -> None:
    with pytest.raises(ValueError, match="'stop' or 'skip'"):
        FiniteGuardHook(action='ignore')
