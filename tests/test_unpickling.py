"""Checkpoints of mmengine load whole, and a crafted one ends in an error, not in a crash."""

import io
import pickle
import warnings
from pathlib import Path
from typing import Any

import mmpose
import numpy as np
import pytest
import torch
from mmengine.logging.history_buffer import HistoryBuffer
from mmengine.runner import checkpoint
from mmpose.datasets.datasets.utils import parse_pose_metainfo

import hetpose  # noqa: F401
from hetpose import unpickling

PACKAGED = Path(mmpose.__file__).parent / '.mim' / 'configs' / '_base_' / 'datasets'


def through_a_file(value: Any) -> Any:
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return torch.load(file, weights_only=True)


def same(left: Any, right: Any) -> bool:
    if isinstance(left, np.ndarray):
        return left.dtype.newbyteorder('=') == right.dtype and np.array_equal(
            left, right, equal_nan=True
        )
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[k], right[k]) for k in left)
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    return type(left) is type(right) and left == right


def test_the_meta_of_every_packaged_data_set_loads() -> None:
    files = sorted(PACKAGED.glob('*.py'))
    assert len(files) >= 55
    empty = 0
    for file in files:
        meta = parse_pose_metainfo(dict(from_file=str(file)))
        assert same(meta, through_a_file(meta)), file.name
        empty += not len(meta['sigmas'])
    assert empty >= 20  # the case that torch pickles through the global `bytes`


@pytest.mark.parametrize('kind', ['?', 'b', 'B', 'h', 'i', 'l', 'L', 'e', 'f', 'd', 'F', 'D'])
@pytest.mark.parametrize('order', ['<', '>'])
def test_numbers_of_every_kind_survive(kind: str, order: str) -> None:
    dtype = np.dtype(kind).newbyteorder(order)
    array = np.asfortranarray(np.arange(6).reshape(2, 3).astype(dtype))
    loaded = through_a_file({'a': array, 's': np.dtype(kind).type(1), 'e': array[:0]})
    assert same({'a': array, 'e': array[:0]}, {k: loaded[k] for k in 'ae'})
    assert loaded['s'] == 1
    assert type(loaded['s']) is np.dtype(kind).type


def test_a_loaded_array_is_saved_again_as_a_plain_one() -> None:
    loaded = through_a_file([np.arange(3), np.zeros(0)])
    for protocol in (2, 4, 5):
        stored = pickle.dumps(loaded, protocol)
        assert b'hetpose' not in stored
        assert type(pickle.loads(stored)[0]) is np.ndarray


class Call:
    """Pickles as a call of a function, and a state for its result."""

    def __init__(self, function: Any, arguments: tuple, state: Any = None) -> None:
        self.parts = (function, arguments, state) if state is not None else (function, arguments)

    def __reduce__(self) -> tuple:
        return self.parts


def rebuild(state: tuple) -> Call:
    from numpy.core.multiarray import _reconstruct

    return Call(_reconstruct, (np.ndarray, (0,), b'b'), state)


def plain(code: str) -> Call:
    return Call(np.dtype, (code, False, True), (3, '<', None, None, None, -1, -1, 0))


CRAFTED = {
    'a call of ndarray': Call(np.ndarray, ((1 << 40,),)),
    'bytes by the terabyte': Call(bytes, (1 << 40,)),
    'bytes of an iterable': Call(bytes, ([1, 2],)),
    'an array of objects': np.array([object], dtype=object),
    'an array of objects from bytes': rebuild((1, (1,), plain('O8'), False, b'\x01' * 8)),
    'fewer bytes than the shape': rebuild((1, (1 << 20,), plain('f8'), False, b'\0' * 8)),
    'a negative shape': rebuild((1, (-1,), plain('f8'), False, b'')),
    'a shape of 64 axes': rebuild((1, (1,) * 64, plain('f8'), False, b'\0' * 8)),
    'a huge shape times zero': rebuild((1, (1 << 62, 1 << 62), plain('f8'), False, b'')),
    'text for bytes': rebuild((1, (1,), plain('f8'), False, 'aaaaaaaa')),
    'a dtype with fields': Call(
        np.dtype, ('f8', False, True), (3, '|', None, ('a',), {'a': 1}, 1 << 30, 1, 0)
    ),
    'a dtype of structures': Call(np.dtype, ([('a', 'O')], False, True)),
    'a short scalar': Call(np.core.multiarray.scalar, (plain('f8'), b'\0')),
    'a foreign attribute': Call(getattr, (np.ndarray, 'tofile')),
    'an attribute of a buffer': Call(getattr, (HistoryBuffer, '__init__')),
    'a function': Call(print, ('code from a checkpoint',)),
}


@pytest.mark.parametrize('name', CRAFTED)
def test_a_crafted_checkpoint_is_refused(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        with pytest.raises(pickle.UnpicklingError):
            through_a_file({'x': CRAFTED[name]})


def test_stand_ins_without_arguments_are_refused_too() -> None:
    for function in (unpickling.CheckpointArray, unpickling.new_array, unpickling.new_scalar):
        with pytest.raises(pickle.UnpicklingError):
            function()
    with pytest.raises(pickle.UnpicklingError):
        unpickling.CheckpointArray.__new__(unpickling.CheckpointArray, (1 << 40,))


def test_mmengine_reads_weights_only_whatever_torch_does_by_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.save({'x': Call(Path.touch, (tmp_path / 'touched',))}, tmp_path / 'c.pth')
    original = torch.load

    def old_torch(*args: Any, weights_only: bool = False, **kwargs: Any) -> Any:
        return original(*args, weights_only=weights_only, **kwargs)

    monkeypatch.setattr(torch, 'load', old_torch)
    with pytest.raises(pickle.UnpicklingError):
        checkpoint._load_checkpoint(str(tmp_path / 'c.pth'), map_location='cpu')
    assert not (tmp_path / 'touched').exists()
    assert checkpoint.load_url.keywords == {'weights_only': True}
