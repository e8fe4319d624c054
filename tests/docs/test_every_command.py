"""Every command that README, the docs and ``--help`` show runs, shortened by options only.

A new command is run here without being named: in a folder that holds what such commands read,
with the options of ``SHORT``. What cannot run so stands in ``ELSEWHERE``, with the test that runs
it, or in ``NOT_RUN``, with the reason. Words in capitals (CONFIG, FILE.pth) become ``FILES``.
"""

import argparse
import importlib
import json
import multiprocessing.context
import shlex
import shutil
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
from helpers_commands import as_hetpose, shown_commands
from helpers_posthoc import write_foreign
from helpers_suite import write_table
from helpers_tfjs import small_network, write_movenet
from helpers_training import pose_config

from hetpose import cli, zoo
from hetpose.datasets import SyntheticPose
from hetpose.datasets.regression.uci import UCI_SETS

ROOT = Path(__file__).resolve().parents[2]

# Patterns of commands (fnmatch) → the test that runs them.
ELSEWHERE = {
    'hetpose add-covariance td-hm_res50*': 'docs/test_readme_swap.py',
    'hetpose train my_config.py': 'docs/test_readme_swap.py',
    'hetpose * rtmpose.py *': 'docs/test_posthoc.py',
    'hetpose * work_dirs/rtmpose/*': 'docs/test_posthoc.py',
    'hetpose * fish/*': 'docs/test_tutorials.py',
    'hetpose * mine/*': 'docs/test_tutorials.py',
    'bash tools/dist_train.sh *': 'tools/test_dist_train.py',
    'bash tools/dist_test.sh *': 'tools/test_dist_test.py',
    'torchrun * pseudo-labels *': 'apis/data/test_representation.py',
    'torchrun * fit-covariance *': 'tools/test_dist_fit.py',
    'hetpose results*': 'apis/suites/test_results.py',
    'hetpose distill *': 'apis/test_distillation.py',
    'hetpose export CONFIG *': 'docs/test_export.py',
    'hetpose prepare-pose mpii --mpii-mat *': 'apis/data/test_prepare_pose.py',
    'hetpose prepare-pose lsp lspet --download': 'apis/data/test_prepare_pose.py',
    'python tests/kill_harness.py *': 'test_kills.py',
}
# Patterns of commands → why no test runs them.
NOT_RUN = {
    'make *': 'installs an environment; what make then starts is a command of this list',
    'source *': 'a shell reads it',
    'hetpose infer webcam *': 'needs a camera',
    'hetpose benchmark *': 'a slow machine fails it; tests/benchmarks runs each of them small',
    'hetpose calibrate human *': 'needs the photographs of LSPET',
    'hetpose test human*': 'needs the photographs of LSPET',
    'hetpose * $S *': 'needs the photographs of LSPET and MoveNet',
    'hetpose fit-branch *': 'needs the photographs of LSPET and MoveNet',
    'hetpose pack-model configs/pose/human.py *': 'needs a model that was trained on LSPET',
    'hetpose feature-views *': 'needs the photographs of LSPET and MoveNet; '
    'tests/apis/data/test_feature_views.py runs it on small ones',
    'hetpose * *_movenet-thunder_*': 'needs the photographs of LSPET and MoveNet',
    'hetpose * $H *': 'needs the photographs of LSPET and MoveNet',
    'hetpose logs work_dirs/hybrid *': 'needs the logs of the commands before it',
    'hetpose fit-covariance configs/frozen/*': 'needs the photographs of LSPET and MoveNet',
    'hetpose convert-movenet * --lspet *': 'needs the photographs of LSPET',
}

LOADERS = ('train_dataloader', 'val_dataloader', 'test_dataloader')
POSE = [
    'train_dataloader.dataset.dataset.length=12',
    *(f'{name}.dataset.length=6' for name in LOADERS[1:]),
    *(f'{name}.{key}' for name in LOADERS
      for key in ('batch_size=6', 'num_workers=0', 'persistent_workers=False')),
]  # fmt: skip
# The longer config states in iterations when its schedule starts again, with the switch.
LONG = ['train_cfg.max_epochs=5', 'param_scheduler.1.begin=8', 'param_scheduler.1.end=10']
# Command → options that shorten it; those of --cfg-options apart.
SHORT = {
    'suite': ['--epochs', '2', '--trials', '1', '--jobs', '1'],
    'demo': ['--no-photos'],
    'fit-covariance': ['--epochs', '1'],
    'browse': ['--num', '2'],
    'pseudo-labels': ['--no-progress'],
}
DATASETS = {'bivariate': 'far', 'univariate': 'growing', 'multivariate': 'd4', 'uci': 'concrete'}
FILES = {
    'CONFIG': 'small.py',
    'CHECKPOINT': 'work/epoch_100.pth',
    'FILE.pth': 'work/epoch_100.pth',
    'FILE': 'labels.npz',
    'DIR': 'somewhere',
    '/data/uci': 'data/uci',
}
FILES_OF = {
    'fit-covariance': {'CONFIG': 'foreign.py', 'CHECKPOINT': 'foreign.pth'},
    'add-covariance': {'CONFIG': 'rtmpose-m_8xb256-420e_coco-256x192.py'},
}

SHOWN = shown_commands(ROOT)
COMMANDS: dict[str, str] = {}
for _command, _page in SHOWN.items():
    COMMANDS.setdefault(as_hetpose(ROOT, _command), _page)


def matching(table: dict[str, str], command: str) -> list[str]:
    return [pattern for pattern in table if fnmatch(command, pattern)]


def of_suite(words: list[str]) -> list[str]:
    """One method on one data set."""
    named = [word for word in words if word in ('my_method.py', 'anchored-no_prior')]
    more = ['--methods', *(named or ['w2_bound'])]
    if '--dims' in words:
        return [*more, '--dims', '4']
    return more if '--csv' in words else [*more, '--datasets', DATASETS[words[0]]]


def config_options(name: str, words: list[str]) -> list[str]:
    """What follows --cfg-options, for commands that have it."""
    config = next((word for word in words if word.endswith('.py')), '')
    if name in ('infer', 'export', 'suite') or '--photos-only' in words:
        return []
    if 'synthetic-128x128' in config or name == 'demo':
        return [*POSE, *(LONG if '24e_synthetic' in config else [])]
    if config.startswith('configs/'):
        return ['epochs=2', 'train_dataloader.batch_size=512']
    if '--resume' in words:
        return ['train_cfg.max_epochs=4']
    return ['train_dataloader.dataset.dataset.length=40'] if '--local-linear' in words else []


def shortened(command: str) -> list[str]:
    """The words after ``hetpose``, with files for placeholders and options that shorten it."""
    name, *words = shlex.split(command)[1:]
    files = {**FILES, **FILES_OF.get(name, {})}
    words = [files.get(word, word.replace('=FILE', '=labels.npz')) for word in words]
    if not {'--report', '--photos-only'} & set(words):
        words += SHORT.get(name, [])
        words += of_suite(words) if name == 'suite' else []
    options = config_options(name, words)
    if options and '--cfg-options' not in words:
        words.append('--cfg-options')  # where it is there, it stands last
    return [name, *words, *options]


HERE = [c for c in COMMANDS if not matching(ELSEWHERE, c) and not matching(NOT_RUN, c)]
RUN = list(dict.fromkeys(tuple(shortened(command)) for command in HERE))
DONE: set[tuple[str, ...]] = set()


def run(words: Sequence[str]) -> None:
    """Run a command once; the folder is made by commands of the list."""
    if tuple(words) not in DONE:
        assert not cli.dispatch(list(words))
        DONE.add(tuple(words))


def write_films_and_photos(folder: Path) -> None:
    data = SyntheticPose(length=3, image_size=128)
    (folder / 'photos').mkdir()
    film = cv2.VideoWriter(
        str(folder / 'film.mp4'), cv2.VideoWriter_fourcc(*'mp4v'), 5, (128, 128)
    )
    for i in range(3):
        cv2.imwrite(str(folder / 'photos' / f'{i}.jpg'), data.image(i))
        film.write(data.image(i))
    film.release()
    shutil.copy(folder / 'photos' / '0.jpg', folder / 'photo.jpg')
    boxes = {f'{i}.jpg': [[10, 10, 110, 120]] for i in range(3)}
    (folder / 'boxes.json').write_text(json.dumps(boxes))


def write_tables(folder: Path) -> None:
    (folder / 'data' / 'uci').mkdir(parents=True)
    for name in UCI_SETS:
        write_table(folder / 'data' / 'uci' / f'{name}.csv', rows=160, columns=6)
    table = write_table(folder / 'measurements.csv', rows=160, columns=6)
    table.write_text(table.read_text().replace('column0,column1', 'pressure,flow'))
    (folder / 'my_method.py').write_text("_base_ = ['configs/uci/w2_bound.py']\n")
    rng = np.random.default_rng(0)
    target = rng.normal(size=(200, 2, 2))
    covariance = np.broadcast_to(np.eye(4), (200, 4, 4))
    np.savez(folder / 'predictions.npz', mean=0 * target, cov=covariance, target=target)
    for name in ('a', 'b'):
        log = folder / 'work_dirs' / name / '1' / 'vis_data' / 'scalars.json'
        log.parent.mkdir(parents=True)
        rows = [{'loss': 2.0 / i, 'pose/nll': 3.0 / i, 'step': i} for i in range(1, 5)]
        log.write_text('\n'.join(map(json.dumps, rows)))


@pytest.fixture(scope='module', autouse=True)
def _quick_workers():
    """The processes of a suite fork from one that has imported everything."""
    context = multiprocessing.context.ForkServerContext
    original = context.set_forkserver_preload
    context.set_forkserver_preload = lambda self, _: original(self, ['hetpose.registration'])
    yield
    context.set_forkserver_preload = original


@pytest.fixture(scope='module')
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all that the commands read."""
    folder = tmp_path_factory.mktemp('world')
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv('HETPOSE_DATA', str(folder / 'data'))
        shutil.copytree(zoo.FOLDER, folder / 'zoo')
        for name in ('tools', 'configs'):
            (folder / name).symlink_to(ROOT / name)
        shutil.copytree(ROOT / 'docs' / 'images', folder / 'docs' / 'images')
        write_films_and_photos(folder)
        write_tables(folder)
        write_foreign(folder, 'heatmap', 40)
        for picture in (folder / 'images').iterdir():
            shutil.copy(picture, folder / 'photos')
        write_movenet(small_network(), folder).rename(folder / 'movenet-thunder.json')
        torch.save(dict(state_dict={'w': torch.ones(2)}), folder / 'OLD.pth')
        pose_config(folder).dump(str(folder / 'small.py'))
        run(['train', 'small.py', '--work-dir', 'work'])
        shutil.copy('work/epoch_3.pth', 'work/epoch_100.pth')
        run(shortened('hetpose pseudo-labels CONFIG --out FILE'))
        run(shortened('hetpose suite uci --datasets red_wine --methods mse'))
        run(shortened('hetpose demo'))
    return folder


@pytest.mark.filterwarnings('ignore')
@pytest.mark.parametrize('words', RUN, ids=' '.join)
def test_it_runs(words: tuple[str, ...], world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(world)
    monkeypatch.setenv('HETPOSE_DATA', str(world / 'data'))
    if words[0] == 'pack-model':
        monkeypatch.setattr(zoo, 'FOLDER', world / 'zoo')  # never the package itself
    run(words)


@pytest.mark.parametrize('command', COMMANDS)
def test_the_options_exist(command: str) -> None:
    """Also of what is not run: its arguments are those of the command."""
    if not command.startswith('hetpose '):
        return
    name, *words = shlex.split(command)[1:]
    assert name in cli.COMMANDS
    parser = argparse.ArgumentParser()
    importlib.import_module(f'hetpose.commands.{name.replace("-", "_")}').add_arguments(parser)
    parser.parse_args(words)


@pytest.mark.parametrize('pattern', [*ELSEWHERE, *NOT_RUN])
def test_an_exception_is_of_use(pattern: str) -> None:
    assert any(fnmatch(command, pattern) for command in COMMANDS), 'no page shows it any more'


@pytest.mark.parametrize('test', sorted(set(ELSEWHERE.values())))
def test_the_other_test_is_there(test: str) -> None:
    assert 'def test_' in (ROOT / 'tests' / test).read_text(encoding='utf-8')


def test_commands_are_found_and_a_new_one_is_run() -> None:
    assert len(COMMANDS) > 60
    assert {'README.md', 'docs/posthoc.md', 'hetpose/commands/infer.py'} <= set(COMMANDS.values())
    for command in ('hetpose train new.py', 'hetpose infer other.jpg'):
        assert not matching(ELSEWHERE, command)
        assert not matching(NOT_RUN, command)
        assert shortened(command)
