"""A terminal is told in a few lines that a run starts; the log file has the whole description."""

from helpers_training import pose_config, train


def test_the_description_goes_to_the_log_file(tmp_path, capsys):
    config = pose_config(tmp_path, epochs=2)
    config.log_level = 'INFO'
    config.default_hooks.logger.interval = 1
    train(config)
    shown = capsys.readouterr().out
    before, step, _ = shown.partition('Epoch(train)')
    assert step
    assert before.count('\n') < 15
    (log,) = (tmp_path / 'run').glob('*/*.log')
    assert str(log) in before
    written = log.read_text()
    for part in ('System environment:', 'Config:\n', 'Hooks will be executed', 'embed_dims'):
        assert part in written
        assert part not in shown
