"""The base configs of the pose data."""

from __future__ import annotations

from pathlib import Path

import mmpose
import pytest
from mmengine.config import Config
from mmengine.dataset import Compose
from mmengine.registry import init_default_scope
from mmpose.registry import DATASETS

from hetpose.apis.data.representation import unaugmented
from hetpose.datasets.transforms import check_pipeline
from hetpose.paths import data_root

init_default_scope('mmpose')
FOLDER = Path(__file__).resolve().parents[2] / 'configs/_base_/datasets'
CONFIGS = sorted(FOLDER.glob('*.py'))
FEATURES = 'FeatureViewDataset'
each_config = pytest.mark.parametrize('path', CONFIGS, ids=lambda path: path.stem)


def test_there_are_four() -> None:
    names = {path.stem for path in CONFIGS}
    assert {'synthetic_pose', 'lspet', 'mpii_lsp_lspet', 'coco17'} <= names


@each_config
def test_its_pipelines_carry_a_covariance(path: Path) -> None:
    config = Config.fromfile(path)
    for loader in (config.train_dataloader, config.val_dataloader):
        check_pipeline(Compose(loader.dataset.pipeline).transforms)
    if config.train_dataloader.dataset.type != FEATURES:  # feature views hold crops already
        assert len(unaugmented(config.train_dataloader.dataset.pipeline)) == 3


@each_config
def test_its_name_is_no_metainfo_file_of_mmpose(path: Path) -> None:
    """mmpose looks for configs/_base_/datasets/<name>.py below the working directory first."""
    theirs = Path(mmpose.__file__).parent / '.mim/configs/_base_/datasets' / path.name
    assert not theirs.exists()


def test_no_figure_of_the_test_chooses_a_checkpoint() -> None:
    config = Config.fromfile(FOLDER / 'synthetic_pose.py')
    loaders = (config.train_dataloader.dataset, config.val_dataloader, config.test_dataloader)
    seeds = [part.dataset.seed for part in loaders]
    assert len(set(seeds)) == 3
    assert config.test_dataloader.batch_size == config.val_dataloader.batch_size


def test_the_embedded_default_needs_no_data() -> None:
    config = Config.fromfile(FOLDER / 'synthetic_pose.py')
    sample = DATASETS.build(config.train_dataloader.dataset)[7]
    assert sample['inputs'].shape == (3, 128, 128)
    assert sample['data_samples'].gt_instance_labels.true_factor.shape == (1, 28, 28)


@pytest.mark.skipif(not data_root('lspet').exists(), reason='LSPET is not here')
def test_lspet_trains_and_holds_out() -> None:
    config = Config.fromfile(FOLDER / 'lspet.py')
    train, held = (
        DATASETS.build(loader.dataset)
        for loader in (config.train_dataloader, config.val_dataloader)
    )
    assert train[5]['inputs'].shape == held[5]['inputs'].shape == (3, 256, 256)
    seen = {train.get_data_info(i)['id'] for i in range(0, len(train), 40)}
    assert not seen & {held.get_data_info(i)['id'] for i in range(len(held))}
