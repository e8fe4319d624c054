"""Training and evaluation from Python are those of the command line."""

import json

import pytest

from hetpose import apis
from hetpose.errors import UserError
from hetpose.paths import data_root

OPTIONS = ['dataset=4', 'epochs=1', 'source.count=64']


def test_a_model_is_trained_and_evaluated(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    apis.train('multivariate/mse', work_dir='run', options=OPTIONS, validate=False)
    metrics = apis.evaluate(
        'multivariate/mse', 'run/epoch_1.pth', work_dir='test', options=OPTIONS, out='m.json'
    )
    assert json.loads((tmp_path / 'm.json').read_text()) == metrics
    assert metrics['mse'] > 0


def test_a_dump_is_a_pickle_file() -> None:
    with pytest.raises(UserError, match='its name must end in .pkl'):
        apis.evaluate('multivariate/mse', 'x.pth', dump='x.json')


def test_a_base_batch_size_is_needed_to_scale_by_it(tmp_path) -> None:
    with pytest.raises(UserError, match='has no auto_scale_lr.base_batch_size'):
        apis.train('multivariate/mse', work_dir=str(tmp_path), auto_scale_lr=True)


def test_a_config_needs_weights_and_a_name_must_be_known() -> None:
    with pytest.raises(UserError, match='the checkpoint is missing'):
        apis.evaluate('configs/pose/human.py')
    with pytest.raises(UserError, match="unknown model 'horse'.*human"):
        apis.evaluate('horse')


@pytest.mark.skipif(not data_root('lspet').exists(), reason='LSPET is not here')
def test_a_model_by_name_is_evaluated(tmp_path) -> None:
    options = {'test_dataloader.dataset.indices': 2, 'test_dataloader.num_workers': 0}
    metrics = apis.evaluate('human', work_dir=str(tmp_path), options=options)
    assert 0 <= metrics['pose/pck_05'] <= metrics['pose/pck_10'] <= metrics['pose/pck_20'] <= 1
    assert metrics['pose/nll'] > 0
