"""The parts of a checkpoint that a model takes depend on why it is loaded (see test_phases)."""

from pathlib import Path

import torch
from helpers_suite import unit_config

from hetpose.engine import launch
from hetpose.engine.resume import IDENTITY


def test_a_checkpoint_tells_its_run_from_others(tmp_path: Path) -> None:
    runner = launch.build_runner(unit_config(tmp_path, 'mse', trial=3, epochs=1))
    runner.train()
    content = torch.load(Path(runner.work_dir) / 'epoch_1.pth', weights_only=True)
    assert content['meta'][IDENTITY]['trial'] == '3'
    assert content['meta'][IDENTITY]['dataset'].endswith('table.csv')


def test_a_test_enters_the_phase_of_the_checkpoint(tmp_path: Path) -> None:
    config = unit_config(tmp_path, 'anchored')
    trained = launch.build_runner(config)
    trained.train()
    expected = trained.test()
    again = unit_config(tmp_path, 'anchored')
    again.load_from = (Path(config.work_dir) / 'last_checkpoint').read_text()
    tested = launch.build_runner(again)
    assert tested.model.phase.number == 0
    measured = tested.test()
    assert tested.model.phase == trained.model.phase
    for name in ('mse', 'nll'):
        assert measured[name] == expected[name]
