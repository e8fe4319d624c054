"""A unit of a suite from its few variables to trained, resumed and tested runs."""

import pytest
import torch
from helpers_suite import unit_config, write_table
from mmengine.logging import MMLogger

from hetpose.engine import launch
from hetpose.engine.hooks.cost import COST_KEY
from hetpose.engine.suite import phases, resolve
from hetpose.errors import UserError

METHODS = [
    'mse',
    'homoscedastic',
    'nll',
    'nll_diagonal',
    'beta_nll',
    'faithful',
    'kl',
    'w2',
    'w2_bound',
    'nll_tic',
    'hybrid',
    'anchored',
    'anchored_student',
]
SCORES = ('mse', 'nll', 'tac')


def trained(config) -> dict[str, float]:
    runner = launch.build_runner(config)
    runner.train()
    assert runner.message_hub.get_info(COST_KEY)['milliseconds_per_step'] > 0
    return runner.test()


@pytest.mark.parametrize('method', METHODS)
def test_every_method_trains_and_is_scored(tmp_path, method) -> None:
    metrics = trained(unit_config(tmp_path, method))
    wanted = SCORES[:1] if method == 'mse' else SCORES
    assert all(torch.isfinite(torch.tensor(metrics[name])) for name in wanted)


def test_anchored_has_the_mean_of_mse(tmp_path) -> None:
    anchored, mse = (trained(unit_config(tmp_path, name))['mse'] for name in ('anchored', 'mse'))
    assert anchored == pytest.approx(mse, rel=1e-12)  # sums of other arrays round differently


@pytest.mark.parametrize('method', ['hybrid', 'anchored', 'homoscedastic'])
def test_a_resumed_run_ends_where_a_whole_one_does(tmp_path, method) -> None:
    whole = trained(unit_config(tmp_path, method, epochs=4))
    config = unit_config(tmp_path, method, epochs=4)
    config.default_hooks.checkpoint.interval = 1
    first = launch.build_runner(config)
    stop_after(first, epochs=3 if method != 'anchored' else 6)
    first.train()
    config.resume = True
    resumed = trained(config)
    for name in SCORES:
        assert resumed[name] == pytest.approx(whole[name], rel=1e-6)


def stop_after(runner, epochs: int) -> None:
    """End the training of a runner early, as if it had been killed after a checkpoint."""

    class Stop(type(runner._hooks[0])):
        def after_train_epoch(self, runner) -> None:
            runner.train_loop.stop_training = runner.epoch + 1 >= epochs

    runner.register_hook(Stop(), priority='LOWEST')


@pytest.mark.parametrize('method', ['hybrid', 'anchored', 'homoscedastic'])
def test_a_tested_checkpoint_scores_as_the_run_did(tmp_path, method) -> None:
    config = unit_config(tmp_path, method)
    metrics = trained(config)
    config.load_from = (tmp_path / config.work_dir / 'last_checkpoint').read_text()
    again = launch.build_runner(config).test()
    for name in SCORES:
        assert again[name] == pytest.approx(metrics[name], rel=1e-6)


def test_a_warm_up_trains_the_mean_first(tmp_path) -> None:
    config = resolve(unit_config(tmp_path, 'w2_bound', warmup=True, epochs=10))
    assert config.model.objective.type == 'MSEObjective'
    (switch,) = config.custom_hooks[0].switches
    assert switch.epoch == 5
    assert switch.objective.type == 'W2BoundObjective'
    assert 'nll' in trained(unit_config(tmp_path, 'w2_bound', warmup=True))


def test_phases_are_squeezed_behind_a_warm_up() -> None:
    method = dict(
        objective=dict(type='W2BoundObjective'),
        covariance=dict(type='FactorCovariance'),
        phases=[dict(at=0.5, objective=dict(type='NLLObjective'))],
    )
    first, later, length = phases(method, warmup=True)
    assert first['covariance'] is None
    assert [phase['at'] for phase in later] == [0.5, 0.75]
    assert length == 1.0


def test_a_method_that_trains_its_mean_alone_has_no_warm_up(tmp_path) -> None:
    with pytest.raises(UserError, match='already trains its mean alone'):
        resolve(unit_config(tmp_path, 'anchored', warmup=True))


@pytest.mark.parametrize(
    ('method', 'idle'), [('mse', True), ('anchored', True), ('nll', False), ('hybrid', False)]
)
def test_processes_look_for_idle_networks_only_where_there_are_some(tmp_path, method, idle):
    assert resolve(unit_config(tmp_path, method)).find_unused_parameters == idle


def test_the_floor_reaches_every_phase(tmp_path) -> None:
    config = resolve(unit_config(tmp_path, 'hybrid', floor=0.05))
    assert config.model.covariance.floor == 0.05
    assert config.custom_hooks[0].switches[0].covariance.floor == 0.05


def test_no_weights_are_chosen_without_held_out_data(tmp_path) -> None:
    config = resolve(unit_config(tmp_path, 'nll', protocol='paper'))
    assert 'KeepBestHook' not in [hook.type for hook in config.custom_hooks]


@pytest.mark.parametrize(
    ('suite', 'method', 'options'),
    [
        ('univariate', 'natural', {'source': dict(count=400)}),
        ('multivariate', 'nll', {'dataset': 'd2', 'source': dict(count=200)}),
        ('bivariate', 'w2_bound', {}),
    ],
)
def test_synthetic_suites_know_the_truth(tmp_path, suite, method, options) -> None:
    metrics = trained(unit_config(tmp_path, method, suite, **options))
    assert metrics['kl'] > 0
    assert metrics['w2'] > 0


def test_phases_that_cannot_work_are_refused_at_once(tmp_path) -> None:
    config = unit_config(tmp_path, 'natural', 'univariate', warmup=True, source=dict(count=400))
    with pytest.raises(UserError, match='no warmup'):
        resolve(config)
    config = unit_config(tmp_path, 'beta_nll')
    config.method.covariance.type = 'FactorCovariance'
    with pytest.raises(UserError, match='diagonal covariance only'):
        resolve(config)


def test_a_unit_runs_without_validation(tmp_path) -> None:
    config = unit_config(tmp_path, 'homoscedastic')
    config.val_cfg = config.val_dataloader = config.val_evaluator = None
    assert 'nll' in trained(config)


@pytest.mark.parametrize(
    ('option', 'variable'),
    [('train_cfg.max_epochs', 'epochs'), ('randomness.seed', 'trial'), ('model.seed', 'trial')],
)
def test_what_a_suite_fills_in_cannot_be_said_twice(tmp_path, option, variable) -> None:
    with pytest.raises(UserError, match=f'{option}: a suite sets it from {variable}'):
        resolve(unit_config(tmp_path, 'nll', **{option: 5}))


def test_other_settings_of_randomness_are_kept(tmp_path) -> None:
    config = resolve(unit_config(tmp_path, 'nll', trial=3, **{'randomness.deterministic': True}))
    assert config.randomness == dict(deterministic=True, seed=3)


def test_a_last_batch_of_one_sample_is_left_out(tmp_path) -> None:
    table = write_table(tmp_path / 'odd.csv', rows=122)  # 97 to train with: 3 · 32 + 1
    config = unit_config(tmp_path, 'nll', dataset=str(table))
    assert resolve(config).train_dataloader.drop_last
    assert 'nll' in trained(config)
    assert not resolve(unit_config(tmp_path, 'nll')).train_dataloader.drop_last


def test_a_phase_without_a_covariance_keeps_the_last_one(tmp_path) -> None:
    config = unit_config(tmp_path, 'hybrid')
    del config.method.phases[0]['covariance']
    config.method.phases[0]['objective'] = dict(type='NLLObjective')
    (switch,) = resolve(config).custom_hooks[0].switches
    assert switch.covariance is None


def test_a_phase_that_would_never_begin_is_refused(tmp_path) -> None:
    with pytest.raises(UserError, match='epochs=1: NLLObjective would .* never'):
        resolve(unit_config(tmp_path, 'hybrid', epochs=1))


def test_the_epochs_of_networks_that_train_in_turn_are_told(tmp_path, monkeypatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(MMLogger, 'info', lambda _, text, *args: told.append(str(text)))
    runner = launch.build_runner(unit_config(tmp_path, 'anchored', epochs=5))
    assert runner.max_epochs == 10
    assert 'epochs=5 is for each network in turn: 10 in all' in told
