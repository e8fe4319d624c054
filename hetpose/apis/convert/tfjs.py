"""Read a tfjs graph model: a JSON file with the topology, binary files with the weights."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hetpose.errors import UserError
from hetpose.paths import existing


@dataclass(frozen=True)
class Node:
    """One operation of the graph."""

    name: str
    op: str
    inputs: tuple[str, ...]
    attributes: dict[str, Any] = field(repr=False)

    def text(self, key: str) -> str:
        """A string attribute, '' where it is absent."""
        return base64.b64decode(self.attributes.get(key, {}).get('s', '')).decode()

    def texts(self, key: str) -> list[str]:
        """A list of strings."""
        values = self.attributes.get(key, {}).get('list', {}).get('s', [])
        return [base64.b64decode(value).decode() for value in values]

    def integers(self, key: str) -> list[int]:
        """A list of integers."""
        values = self.attributes.get(key, {}).get('list', {}).get('i', [])
        return [int(value) for value in values]

    def flag(self, key: str) -> bool:
        """A boolean attribute, False where it is absent."""
        return bool(self.attributes.get(key, {}).get('b', False))


@dataclass(frozen=True)
class Graph:
    """The nodes, in the file's order, and the arrays of the constants, by name."""

    path: Path
    nodes: dict[str, Node]
    weights: dict[str, np.ndarray]


def read_graph(path: str | Path) -> Graph:
    """The graph of a model.json and the weight files that its manifest names, next to it."""
    path = existing(path, 'tfjs model')
    try:
        content = json.loads(path.read_text(encoding='utf-8'))
        listed = content['modelTopology']['node']
        groups = content['weightsManifest']
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(
            f'{path} is not a tfjs graph model: {type(error).__name__} {error}'
        ) from error
    nodes = {
        item['name']: Node(
            item['name'], item['op'], tuple(item.get('input', ())), item.get('attr', {})
        )
        for item in listed
    }
    weights: dict[str, np.ndarray] = {}
    for group in groups:
        files = [
            existing(path.parent / name, 'weights of the tfjs model') for name in group['paths']
        ]
        weights.update(
            _read_group(b''.join(file.read_bytes() for file in files), group['weights'], files[0])
        )
    return Graph(path, nodes, weights)


def _read_group(data: bytes, entries: list[dict], path: Path) -> dict[str, np.ndarray]:
    """The arrays of one group, in order, each without padding."""
    arrays, start = {}, 0
    for entry in entries:
        quantised = entry.get('quantization', {})
        stored = np.dtype(quantised.get('dtype', entry['dtype'])).newbyteorder('<')
        count = int(np.prod(entry['shape'], dtype=np.int64))
        end = start + count * stored.itemsize
        if end > len(data):
            raise UserError(f'{path} is too short: it ends before {entry["name"]}')
        array = np.frombuffer(data, stored, count, start).reshape(entry['shape'])
        if quantised:
            array = array.astype(np.float32) * quantised.get('scale', 1) + quantised.get('min', 0)
            array = array.astype(entry['dtype'])
        arrays[entry['name']] = array
        start = end
    if start != len(data):
        raise UserError(f'{path} is {len(data) - start} bytes longer than its manifest')
    return arrays
