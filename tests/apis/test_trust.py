"""A trusted old checkpoint loses everything but its weights."""

from argparse import Namespace
from pathlib import Path

import pytest
import torch

from hetpose.apis.trust import keep_weights
from hetpose.engine.checkpoint import read_checkpoint
from hetpose.errors import UserError


@pytest.mark.parametrize('key', ['state_dict', 'model', None])
def test_the_weights_survive_and_the_objects_do_not(tmp_path: Path, key: str | None) -> None:
    weights = {'a.weight': torch.arange(3.0), 'b.bias': torch.ones(2, 2)}
    args = {'args': Namespace(lr=1)}  # what torch refuses to build
    content = {key: weights, **args} if key else {**weights, **args}
    torch.save(content, tmp_path / 'old.pth')
    with pytest.raises(UserError, match='trust_checkpoint'):
        read_checkpoint(tmp_path / 'old.pth')
    assert keep_weights(tmp_path / 'old.pth', tmp_path / 'new.pth') == 2
    loaded = read_checkpoint(tmp_path / 'new.pth')
    assert loaded.keys() == {'state_dict'}
    assert all(torch.equal(loaded['state_dict'][name], weights[name]) for name in weights)


def test_a_pickled_model_gives_its_weights(tmp_path: Path) -> None:
    model = torch.nn.Linear(2, 3)
    torch.save(model, tmp_path / 'old.pth')
    assert keep_weights(tmp_path / 'old.pth', tmp_path / 'new.pth') == 2
    assert torch.equal(read_checkpoint(tmp_path / 'new.pth')['state_dict']['bias'], model.bias)


def test_what_holds_no_weights_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    torch.save({'state_dict': {}}, tmp_path / 'empty.pth')
    (tmp_path / 'torn.pth').write_bytes(b'PK\x03\x04 torn')
    for name, message in (('empty', 'no weights'), ('torn', 'cannot'), ('none', 'not found')):
        with pytest.raises(UserError, match=message):
            keep_weights(tmp_path / f'{name}.pth', tmp_path / 'new.pth')
    assert not (tmp_path / 'new.pth').exists()
