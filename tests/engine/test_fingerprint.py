from helpers_suite import unit_config

from hetpose.engine.fingerprint import fingerprint


def test_methods_of_a_trial_start_alike(tmp_path, root) -> None:
    methods = sorted(path.stem for path in (root / 'configs' / 'uci').glob('*.py'))
    prints = [fingerprint(unit_config(tmp_path, method)) for method in methods]
    assert len(prints) >= 12
    assert all(print_ == prints[0] for print_ in prints)


def test_trials_differ_in_everything(tmp_path) -> None:
    one, other = (fingerprint(unit_config(tmp_path, 'nll', trial=trial)) for trial in (0, 1))
    assert all(other[key] != one[key] for key in one)


def test_it_notices_another_order_of_batches(tmp_path) -> None:
    config = unit_config(tmp_path, 'nll')
    whole = fingerprint(config)
    config.train_dataloader.sampler.shuffle = False
    changed = fingerprint(config)
    assert changed['batches'] != whole['batches']
    assert changed['data'] == whole['data']
