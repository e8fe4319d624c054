"""Numpy values that ``torch.load(weights_only=True)`` may build in addition to tensors.

A pickle names functions and calls them. numpy's own functions trust their arguments: a crafted
file can call ``numpy.ndarray`` for terabytes, or give a dtype a state under which the next read
leaves the buffer and ends the process. Here every such name leads to a stand-in that accepts only
what numpy itself writes for arrays and scalars of numbers, and raises UnpicklingError otherwise.
"""

from __future__ import annotations

import math
from pickle import UnpicklingError
from typing import Any, Literal

import numpy as np
from mmengine.logging.history_buffer import HistoryBuffer

_CODES = frozenset(np.dtype(code).str[1:] for code in np.typecodes['All'] if code not in 'OSUVMm')
_ORDERS: tuple[Literal['<', '>', '|', '='], ...] = ('<', '>', '|', '=')
# What numpy writes for a plain dtype after its byte order: no subarray, names, fields or sizes.
_PLAIN_STATE = (None, None, None, -1, -1, 0)


class CheckpointDtype:
    """A dtype of numbers in a checkpoint; numpy takes it wherever it takes a dtype."""

    def __init__(self, code: Any = None, align: Any = False, copy: Any = True) -> None:
        if not isinstance(code, str) or code not in _CODES:
            raise UnpicklingError(f'a checkpoint holds an array of kind {code!r}, not of numbers')
        self.dtype = np.dtype(code)

    def __setstate__(self, state: Any) -> None:
        """Take the byte order from numpy's own state tuple, and nothing else."""
        for order in _ORDERS:
            if type(state) is tuple and state == (3, order, *_PLAIN_STATE):
                self.dtype = self.dtype.newbyteorder(order)
                return
        raise UnpicklingError('a checkpoint holds a dtype that numpy does not write')

    def __reduce__(self) -> Any:
        """Saved again, it is numpy's own dtype."""
        return self.dtype.__reduce__()


class CheckpointArray(np.ndarray):
    """An array of numbers in a checkpoint, filled only by bytes that fit its shape."""

    def __new__(cls, *args: Any, **kwargs: Any) -> CheckpointArray:
        """Refuse: only ``new_array`` makes one."""
        raise UnpicklingError('a checkpoint calls numpy.ndarray')

    def __setstate__(self, state: Any) -> None:
        """Take (version, shape, dtype, is Fortran order, bytes) as numpy writes it."""
        if not isinstance(state, tuple) or len(state) != 5:
            raise UnpicklingError('a checkpoint holds an array that numpy does not write')
        version, shape, kind, fortran, raw = state
        plain = isinstance(shape, tuple) and all(type(n) is int and n >= 0 for n in shape)
        if version != 1 or not plain or type(kind) is not CheckpointDtype:
            raise UnpicklingError('a checkpoint holds an array that numpy does not write')
        size = math.prod(shape) * kind.dtype.itemsize
        if type(raw) is not bytes or len(raw) != size or len(shape) > 32:
            raise UnpicklingError(f'a checkpoint holds an array whose bytes do not fit {shape}')
        parts: Any = (version, shape, kind.dtype, bool(fortran), raw)
        super().__setstate__(parts)

    def __reduce__(self) -> Any:
        """Saved again, it is a plain array."""
        return self.view(np.ndarray).__reduce__()

    def __reduce_ex__(self, protocol: Any) -> Any:
        """As ``__reduce__``, with numpy's faster form where the protocol has it."""
        return self.view(np.ndarray).__reduce_ex__(protocol)


def new_array(kind: Any = None, shape: Any = None, code: Any = None) -> CheckpointArray:
    """Stand in for numpy's ``_reconstruct``: an empty array that a state will fill."""
    if kind is not CheckpointArray or shape != (0,) or code not in (b'b', 'b'):
        raise UnpicklingError('a checkpoint asks numpy for an array as numpy does not')
    return np.ndarray.__new__(CheckpointArray, (0,), np.int8)


def new_scalar(kind: Any = None, raw: Any = None) -> Any:
    """Stand in for numpy's ``scalar``: one number from exactly its bytes."""
    if type(kind) is not CheckpointDtype or type(raw) is not bytes:
        raise UnpicklingError('a checkpoint holds a scalar that numpy does not write')
    if len(raw) != kind.dtype.itemsize:
        raise UnpicklingError(f'a checkpoint holds a {kind.dtype} of {len(raw)} bytes')
    return np.frombuffer(raw, kind.dtype)[0]


def empty_bytes(*arguments: Any) -> bytes:
    """Stand in for ``bytes``, through which an empty array is pickled."""
    if arguments:
        raise UnpicklingError('a checkpoint calls bytes')
    return b''


def history_buffer_attribute(owner: Any = None, name: Any = None) -> Any:
    """Stand in for ``getattr``: serves HistoryBuffer's statistics alone."""
    if owner is not HistoryBuffer or name not in ('min', 'max', 'mean', 'current'):
        raise UnpicklingError(
            f'a checkpoint asks for attribute {name!r} of {owner!r}; '
            'only the statistics of HistoryBuffer are allowed'
        )
    return getattr(owner, name)


def safe_globals() -> list[Any]:
    """The classes that ``torch.serialization.add_safe_globals`` needs for mmengine checkpoints."""
    allowed: list[Any] = [
        HistoryBuffer,
        (CheckpointArray, 'numpy.ndarray'),
        (CheckpointDtype, 'numpy.dtype'),
        (history_buffer_attribute, 'builtins.getattr'),
        (empty_bytes, 'builtins.bytes'),
    ]
    for module in ('numpy.core.multiarray', 'numpy._core.multiarray'):  # numpy 1 and numpy 2
        allowed += [(new_array, f'{module}._reconstruct'), (new_scalar, f'{module}.scalar')]
    return allowed
