"""A config or an option that nothing would read is named in one line."""

from pathlib import Path

import pytest

from hetpose.engine.config_file import load_config, parse_options
from hetpose.errors import UserError

CONFIG = """
default_scope = 'mmpose'
custom_imports = dict(imports=['hetpose'])
model = dict(
    type='TopdownPoseEstimator',
    backbone=dict(type='ResNet', depth=18),
    head=dict(type='HeatmapHead', in_channels=512, out_channels=3,
        decoder=dict(type='MSRAHeatmap', input_size=(64, 64), heatmap_size=(16, 16), sigma=2)))
default_hooks = dict(checkpoint=dict(type='CheckpointHook', interval=1, priority='LOW'))
optim_wrapper = dict(optimizer=dict(type='Adam', lr=1e-3))
train_pipeline = [dict(type='LoadImage'), dict(type='GetBBoxCenterScale')]
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / 'config.py'
    path.write_text(CONFIG)
    return path


@pytest.mark.parametrize(
    ('option', 'message'),
    [
        ('modle.backbone.depth', "unknown key 'modle'; did you mean 'model'"),
        ('model.backbone.dept', "unknown key 'dept'; did you mean 'depth'"),
        ('model.head.decoder.colour', 'known here: .*sigma'),
        ('train_pipeline.7.type', "'7' is no index of a list of 2"),
        ('optim_wrapper.optimizer.lr.x', 'optim_wrapper.optimizer.lr is a value'),
    ],
)
def test_an_unknown_option_is_named(path: Path, option: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        load_config(path, {option: 1})


@pytest.mark.parametrize(
    'option',
    ['model.backbone.depth', 'model.backbone.frozen_stages', 'resume', 'train_pipeline.1.padding'],
)
def test_what_the_config_or_the_class_knows_is_taken(path: Path, option: str) -> None:
    config = load_config(path, {option: 1})
    *parents, last = option.split('.')
    node = config
    for part in parents:
        node = node[int(part)] if part.isdigit() else node[part]
    assert node[last] == 1


def test_a_key_that_nothing_reads_is_an_error(path: Path) -> None:
    path.write_text(CONFIG.replace('out_channels=3', 'out_channels=3, temprature=2'))
    with pytest.raises(UserError, match=r"model.head: HeatmapHead takes no 'temprature'"):
        load_config(path)


@pytest.mark.parametrize(
    ('text', 'message'),
    [('x = (', 'cannot be read'), ('x = y', 'cannot be read'), ("_base_ = ['no.py']", 'no.py')],
)
def test_a_broken_config_is_named(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / 'c.py').write_text(text)
    with pytest.raises(UserError, match=rf'c\.py.*{message}'):
        load_config(tmp_path / 'c.py')


def test_a_missing_config_is_named() -> None:
    with pytest.raises(UserError, match=r'config not found: nowhere\.py'):
        load_config('nowhere.py')


@pytest.mark.parametrize(
    ('line', 'message'),
    [
        ('train_dataloader = dict(batchsize=4)', "train_dataloader takes no 'batchsize'; did you"),
        ('train_cfg = dict(max_epoch=4)', "train_cfg takes no 'max_epoch'; did you mean 'max_ep"),
        ('optim_wrapper = dict(clip=1)', "optim_wrapper takes no 'clip'"),
    ],
)
def test_what_has_no_type_is_known_by_its_place(path: Path, line: str, message: str) -> None:
    path.write_text(f'{CONFIG}\n{line}\n')
    with pytest.raises(UserError, match=message):
        load_config(path)


def test_options_are_read_as_mmengine_reads_them(path: Path) -> None:
    options = parse_options(['model.backbone.depth=34', 'a=[1,2]', 'b=x=y'])
    assert options == {'model.backbone.depth': 34, 'a': [1, 2], 'b': 'x=y'}
    assert parse_options([]) == {}
    assert load_config(path, ['model.backbone.depth=34']).model.backbone.depth == 34


def test_an_option_without_a_value_is_named(path: Path) -> None:
    with pytest.raises(UserError, match='--cfg-options resume: expected KEY=VALUE'):
        load_config(path, ['a=1', 'resume'])


@pytest.mark.parametrize(
    'option',
    [
        'val_cfg.type',
        'test_cfg.fp16',
        'auto_scale_lr.enable',
        'default_hooks.mine',
        'train_cfg.type',
    ],
)
def test_what_mmengine_reads_is_taken(path: Path, option: str) -> None:
    path.write_text(
        CONFIG + 'train_cfg = dict(max_epochs=1)\nval_cfg = dict()\ntest_cfg = dict()\n'
        'auto_scale_lr = dict(base_batch_size=32)\n'
    )
    value = dict(type='IterTimerHook') if option == 'default_hooks.mine' else 'EpochBasedTrainLoop'
    load_config(path, {option: value if option != 'test_cfg.fp16' else True})


@pytest.mark.parametrize(
    ('token', 'value'),
    [
        ('a=/my data/labels 1.npz', '/my data/labels 1.npz'),
        ('a=/my data/a,b.npz', '/my data/a,b.npz'),
        ("a='two words'", 'two words'),
        ("a=['one word', 'x']", ['one word', 'x']),
        ('a=[1, 2]', [1, 2]),
        ('a=1, 2', (1, 2)),
        ('a=1', 1),
    ],
)
def test_spaces_in_a_value_are_kept(token: str, value) -> None:
    assert parse_options([token]) == {'a': value}
