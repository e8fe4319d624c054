"""Models by name: what is shipped is loaded, what is damaged or unknown is one line."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from helpers_pose import CODEC, estimator
from mmengine.config import Config

from hetpose import zoo
from hetpose.apis import shipped
from hetpose.apis.loading import load_pose_model
from hetpose.errors import UserError
from tests.helpers_pose import BACKBONE, head_config


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small model, packed under the name 'small'."""
    monkeypatch.setattr(zoo, 'FOLDER', tmp_path)
    (tmp_path / 'checksums.json').write_text('{}')
    pipeline = [
        dict(type='LoadPoseImage'),
        dict(type='GetBBoxCenterScale'),
        dict(type='CovarianceTopdownAffine', input_size=CODEC['input_size'], use_udp=True),
        dict(type='PackPoseInputs'),
    ]
    config = Config(
        dict(
            default_scope='mmpose',
            model=dict(
                type='TopdownPoseEstimator',
                data_preprocessor=dict(type='PoseDataPreprocessor', mean=[0.0] * 3, std=[1.0] * 3),
                backbone=dict(BACKBONE, init_cfg=dict(type='Pretrained', checkpoint='absent.pth')),
                head=head_config(),
                test_cfg=dict(flip_test=False),
            ),
            test_dataloader=dict(dataset=dict(type='LSPETDataset', pipeline=pipeline)),
            test_evaluator=dict(type='HeteroscedasticPoseMetric'),
            train_cfg=dict(max_epochs=3),
        )
    )
    torch.manual_seed(0)
    torch.save(dict(state_dict=estimator().state_dict()), tmp_path / 'trained.ckpt')
    shipped.pack_model(config, tmp_path / 'trained.ckpt', 'small')
    return tmp_path


def test_a_name_is_a_whole_model(folder: Path) -> None:
    model = load_pose_model('small')
    assert model.name == 'small'
    assert len(model.joint_names) == 14  # of the test data
    trained = torch.load(folder / 'trained.ckpt', weights_only=True)['state_dict']
    for name, value in model.network.state_dict().items():
        if value.is_floating_point():
            assert value.dtype == torch.float32
            torch.testing.assert_close(value, trained[name], rtol=1e-3, atol=1e-4)
    assert 'train_cfg' not in model.config
    assert model.config.val_dataloader == model.config.test_dataloader


def test_other_weights_may_be_given(folder: Path) -> None:
    other = torch.load(folder / 'small.pth', weights_only=True)
    other['state_dict']['head.final_layer.bias'] += 7
    torch.save(other, folder / 'other.pth')
    model = load_pose_model('small', folder / 'other.pth')
    assert model.network.head.final_layer.bias.mean() > 5


def test_an_unknown_name_lists_the_known(folder: Path) -> None:
    with pytest.raises(
        UserError, match="unknown model 'horse': give a config file, or one of small"
    ):
        load_pose_model('horse')


def test_damaged_weights_are_one_line(folder: Path) -> None:
    data = bytearray((folder / 'small.pth').read_bytes())
    data[len(data) // 2] ^= 1
    (folder / 'small.pth').write_bytes(bytes(data))
    with pytest.raises(UserError, match='is damaged.*install') as error:
        load_pose_model('small')
    assert '\n' not in str(error.value)
    (folder / 'small.pth').unlink()
    with pytest.raises(UserError, match='cannot be read'):
        load_pose_model('small')


def test_files_are_not_names(folder: Path) -> None:
    assert not shipped.is_name('configs/human.py')
    assert not shipped.is_name('small.py')
    assert shipped.resolve_model('a.py', 'b.pth') == ('a.py', 'b.pth')


def test_a_model_may_have_a_recalibration(folder: Path) -> None:
    assert shipped.calibration_of('small') is None
    (folder / 'small.calibration.json').write_text('{}')
    assert shipped.calibration_of('small') == folder / 'small.calibration.json'
    assert shipped.known_models() == ['small']


@pytest.mark.parametrize('name', shipped.known_models())
def test_every_shipped_model_is_whole(name: str) -> None:
    assert (zoo.FOLDER / f'{name}.pth').stat().st_size <= 16e6
    network = load_pose_model(name).network
    assert all(value.isfinite().all() for value in network.state_dict().values())
