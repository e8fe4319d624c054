"""Runners that train together give what each gives alone."""

import pytest
import torch
from helpers_suite import unit_config

from hetpose.engine.launch import build_runner
from hetpose.engine.lockstep import train_together, use_lockstep

EPOCHS = 4
METHODS = ('mse', 'nll', 'w2_bound', 'hybrid', 'anchored', 'nll_tic')


def runner_of(folder, method: str, suite: str = 'uci', lockstep: bool = True, **options):
    folder.mkdir(exist_ok=True)
    config = unit_config(folder, method, suite, epochs=EPOCHS, **options)
    # Adam makes the rounding of a gradient of 0 as large as any step, a larger epsilon less so.
    config.optim_wrapper.optimizer.eps = 1e-3
    config.default_hooks.checkpoint = None
    config.experiment_name = f'{method}-{folder.name}-{lockstep}'
    if lockstep:
        use_lockstep(config)
    return build_runner(config)


def assert_same(ours, theirs) -> None:
    state = theirs.model.state_dict()
    for name, value in ours.model.state_dict().items():
        if value.is_floating_point():
            torch.testing.assert_close(value, state[name], rtol=2e-3, atol=2e-3, msg=name)


def test_methods_and_trials_together_give_what_each_gives_alone(tmp_path) -> None:
    kinds = [(method, trial) for trial in range(2) for method in METHODS]
    together = [runner_of(tmp_path / f'{m}{t}', m, trial=t) for m, t in kinds]
    assert train_together(together) == [None] * len(kinds)
    for (method, trial), runner in zip(kinds, together, strict=True):
        alone = runner_of(tmp_path / f'{method}{trial}', method, lockstep=False, trial=trial)
        alone.train()
        assert runner.iter == alone.iter
        assert runner.epoch == alone.epoch
        # test_stack.py compares in float64; here rounding has grown over the steps.
        assert runner.test() == pytest.approx(alone.test(), rel=2e-2, abs=2e-2), method


def test_hooks_and_validations_are_those_of_the_plain_loop(tmp_path) -> None:
    calls: dict[bool, list] = {}
    for lockstep in (True, False):
        runner = runner_of(tmp_path / 'a', 'nll', lockstep=lockstep)
        call_hook, seen = runner.call_hook, calls.setdefault(lockstep, [])

        def note(name, runner=runner, call_hook=call_hook, seen=seen, **given):
            seen.append((name, runner.epoch, runner.iter, given.get('batch_idx')))
            call_hook(name, **given)

        runner.call_hook = note
        train_together([runner]) if lockstep else runner.train()
    # Runner.train ends before the steps are made.
    ours = [call for call in calls[True] if call[0] != 'after_run']
    assert ours == [call for call in calls[False] if call[0] != 'after_run']


def test_one_that_diverges_ends_alone(tmp_path) -> None:
    runners = [runner_of(tmp_path / str(trial), 'nll', trial=trial) for trial in range(3)]
    alone = runner_of(tmp_path / '0', 'nll', lockstep=False, trial=0)
    alone.train()
    hook = next(h for h in runners[1].hooks if type(h).__name__ == 'TrainingLossPlateauHook')
    after = hook.after_train_iter

    def broken(runner, *args, **kwargs):
        after(runner, *args, **kwargs)
        if runner.iter == 4:
            torch.nn.init.constant_(next(runner.model.mean_network.parameters()), float('nan'))

    hook.after_train_iter = broken
    failures = train_together(runners)
    assert failures[0] is failures[2] is None
    assert 'epoch 2' in str(failures[1])
    assert runners[1].iter == 5
    assert runners[2].epoch == EPOCHS
    assert_same(runners[0], alone)


def test_models_that_cannot_be_stacked_train_by_turns(tmp_path) -> None:
    alone = runner_of(tmp_path, 'nll', 'bivariate', lockstep=False)
    alone.train()
    together = [runner_of(tmp_path / name, 'nll', 'bivariate') for name in 'ab']
    assert train_together(together) == [None, None]
    for runner in together:
        assert_same(runner, alone)
