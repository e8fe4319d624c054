"""The whole chain on a handful of figures: it runs, resumes and writes what it promises."""

import json

import cv2
import numpy as np
import pytest

from hetpose import apis
from hetpose.apis.demo.gallery import PANEL
from hetpose.apis.demo.hybrid import results_table, run_demo
from hetpose.engine import launch
from hetpose.errors import UserError

CONFIG = 'configs/pose/td-hybrid_vit-96x4_1xb32-8e_synthetic-128x128.py'


def small_config(root, epochs: int = 2):
    config = launch.load_config(root / CONFIG)
    config.model.backbone.arch.num_layers = 1
    config.train_cfg.max_epochs = epochs
    config.custom_hooks[0].switches[0].epoch = 1
    config.param_scheduler[1].update(begin=1, end=2)
    config.train_dataloader.dataset.dataset.length = 48
    for loader in (config.train_dataloader, config.val_dataloader, config.test_dataloader):
        loader.update(batch_size=16, num_workers=0, persistent_workers=False)
    for loader in (config.val_dataloader, config.test_dataloader):
        loader.dataset.length = 20
    config.log_level = 'WARNING'
    return config


def nll_of(work_dir, epoch: int) -> float:
    """The NLL that ``hetpose test`` measures for the checkpoint of an epoch."""
    (config,) = work_dir.glob('*.py')  # as it was trained
    checkpoint = work_dir / f'epoch_{epoch}.pth'
    return apis.evaluate(config, checkpoint, work_dir=str(work_dir / 'test'))['pose/nll']


@pytest.fixture(scope='module')
def finished(root_path, tmp_path_factory):
    work_dir = tmp_path_factory.mktemp('demo')
    return work_dir, run_demo(small_config(root_path), work_dir, resume=True)  # from nothing


@pytest.fixture(scope='module')
def root_path(request):
    return request.config.rootpath


def test_results_are_written(finished):
    work_dir, results = finished
    stored = json.loads((work_dir / 'results.json').read_text())
    assert stored == results
    assert set(results) == {'pseudo_labels', 'before_switch', 'after_switch', 'seconds'}
    assert all(np.isfinite(results[name]['w2']) for name in list(results)[:3])
    assert results['before_switch']['nll'] == pytest.approx(nll_of(work_dir, 1))
    assert results['after_switch']['nll'] == pytest.approx(nll_of(work_dir, 2))
    table = (work_dir / 'results.md').read_text()
    assert table == results_table(results)
    assert table.count('\n') == 6


def test_gallery_is_a_picture(finished):
    work_dir, _ = finished
    picture = cv2.imread(str(work_dir / 'gallery.png'))
    assert picture.shape[1] == 4 * PANEL
    assert picture.std() > 10


def test_a_longer_run_takes_up_where_it_ended(finished, root_path):
    work_dir, results = finished
    again = run_demo(small_config(root_path, epochs=3), work_dir, resume=True)
    assert (work_dir / 'epoch_3.pth').is_file()
    assert again['before_switch'] == pytest.approx(results['before_switch'], nan_ok=True)
    assert again['after_switch']['nll'] == pytest.approx(nll_of(work_dir, 3))


@pytest.mark.parametrize('switch', [0, 2])
def test_a_switch_that_never_comes_is_refused_before_training(root_path, tmp_path, switch):
    config = small_config(root_path)
    config.custom_hooks[0].switches[0].epoch = switch
    with pytest.raises(UserError, match=f'switch comes at epoch {switch} of 2'):
        run_demo(config, tmp_path)
    assert not list(tmp_path.iterdir())
