"""The file's arrays come out as they went in, and a damaged file is one line."""

import json
from pathlib import Path

import numpy as np
import pytest

from hetpose.apis.convert.tfjs import read_graph
from hetpose.errors import UserError
from tests.helpers_tfjs import GraphWriter, coded


def small_file(folder: Path) -> tuple[Path, np.ndarray]:
    writer = GraphWriter()
    array = np.arange(6, dtype=np.float32).reshape(2, 3) / 4
    writer.constant('w', array)
    writer.constant('n', np.array([3, 5]), 'int32')
    writer.node('c', 'Conv2D', ('x', 'w'), padding=dict(s=coded('SAME')), flag=dict(b=True))
    return writer.save(folder), array


def test_weights_and_attributes(tmp_path: Path) -> None:
    path, array = small_file(tmp_path)
    graph = read_graph(path)
    np.testing.assert_array_equal(graph.weights['w'], array)
    assert graph.weights['w'].dtype == np.float32
    assert graph.weights['n'].tolist() == [3, 5]
    node = graph.nodes['c']
    assert (node.text('padding'), node.flag('flag'), node.inputs) == ('SAME', True, ('x', 'w'))
    assert node.integers('strides') == []


def test_affine_quantisation(tmp_path: Path) -> None:
    path, _ = small_file(tmp_path)
    content = json.loads(path.read_text())
    content['weightsManifest'][0]['weights'] = [
        dict(
            name='q',
            shape=[3],
            dtype='float32',
            quantization=dict(dtype='uint8', scale=0.5, min=-1),
        )
    ]
    path.write_text(json.dumps(content))
    (tmp_path / 'model.bin').write_bytes(bytes([0, 2, 10]))
    np.testing.assert_allclose(read_graph(path).weights['q'], [-1, 0, 4])


@pytest.mark.parametrize(('change', 'words'), [(-1, 'too short'), (2, '2 bytes longer')])
def test_a_file_of_another_length(tmp_path: Path, change: int, words: str) -> None:
    path, _ = small_file(tmp_path)
    file = tmp_path / 'model.bin'
    data = file.read_bytes()
    file.write_bytes(data[:change] if change < 0 else data + bytes(change))
    with pytest.raises(UserError, match=words):
        read_graph(path)


def test_what_is_not_a_graph(tmp_path: Path) -> None:
    path = tmp_path / 'model.json'
    path.write_text('{"format": "layers-model"}')
    with pytest.raises(UserError, match='not a tfjs graph model'):
        read_graph(path)
    with pytest.raises(UserError, match='not found'):
        read_graph(tmp_path / 'absent.json')
