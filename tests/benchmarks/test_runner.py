from mmengine.registry import init_default_scope

from hetpose.benchmarks import runner


def test_both_loops_take_the_same_steps(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv('HETPOSE_DATA', str(tmp_path / 'absent'))
    monkeypatch.setattr(runner, 'SHAPE', (150, 4))
    init_default_scope('mmpose')
    config = runner.unit_config(tmp_path, epochs=1)
    assert runner.with_runner(config) > 0
    assert runner.bare(config) > 0
