"""A graph of our own comes back as the network that it was written from."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from hetpose.apis.convert import movenet, movenet_lspet
from hetpose.errors import UserError
from tests.helpers_tfjs import coded, small_network, write_movenet


@pytest.mark.parametrize('many', [False, True])
def test_the_converted_network_is_the_one_written(tmp_path: Path, many: bool) -> None:
    network = small_network(many)
    converted = movenet.convert(write_movenet(network, tmp_path))
    expected = network.state_dict()
    assert converted.state_dict().keys() == expected.keys()
    for name, value in converted.state_dict().items():
        torch.testing.assert_close(value, expected[name], rtol=0, atol=0)


def test_a_checkpoint_keeps_network_and_settings(tmp_path: Path) -> None:
    network = small_network()
    movenet.save(network, tmp_path / 'small.pth', 'small.json')
    image = torch.rand(1, 3, 64, 64) * 255
    with torch.no_grad():
        expected, found = network.maps(image), movenet.load(tmp_path / 'small.pth').maps(image)
    for name in expected:
        torch.testing.assert_close(found[name], expected[name])
    torch.save(dict(state_dict={}), tmp_path / 'other.pth')
    with pytest.raises(UserError, match='not a MoveNet'):
        movenet.load(tmp_path / 'other.pth')


def change(path: Path, part: str, edit: dict) -> None:
    content = json.loads(path.read_text())
    node = next(n for n in content['modelTopology']['node'] if part in n['name'] and n['attr'])
    node['attr'].update(edit)
    path.write_text(json.dumps(content))


@pytest.mark.parametrize(
    ('part', 'edit'),
    [
        ('block_4_depthwise', dict(fused_ops=dict(list=dict(s=[coded('BiasAdd')])))),
        ('resize', dict(half_pixel_centers=dict(b=False), align_corners=dict(b=True))),
        ('Conv1', dict(fused_ops=dict(list=dict(s=[coded('BiasAdd'), coded('Relu')])))),
    ],
)
def test_a_graph_that_computes_something_else_is_refused(
    tmp_path: Path, part: str, edit: dict
) -> None:
    network = small_network()
    network.backbone.stem.bias.data += 5  # so that the ReLU6 has something to cut
    path = write_movenet(network, tmp_path)
    movenet.convert(path)
    change(path, part, edit)
    with pytest.raises(UserError, match='differs by'):
        movenet.convert(path)


def test_another_network_is_refused(tmp_path: Path) -> None:
    path = write_movenet(small_network(), tmp_path)
    path.write_text(path.read_text().replace('block_4_project', 'stage_4_project'))
    with pytest.raises(UserError, match='stage_4_project'):
        movenet.convert(path)


def test_spreads_are_moments_around_the_joint() -> None:
    heatmap = torch.zeros(1, 1, 5, 7)
    heatmap[0, 0, 2, 1], heatmap[0, 0, 2, 5] = 3.0, 3.0
    found = movenet_lspet.spreads(heatmap, torch.tensor([[[3.0, 1.0]]]))
    torch.testing.assert_close(found, torch.tensor([[[4.0, 0.0, 1.0]]]))


def test_pck_counts_annotated_joints_within_the_box() -> None:
    joints = np.zeros((1, 14, 2), np.float32)
    found = dict(
        id=np.array([1]),
        joints=joints,
        present=np.arange(14)[None] < 4,
        keypoints=np.zeros((1, 12, 2), np.float32),
        extent=np.array([100.0]),
        warp=np.array([[[2.0, 0, 0], [0, 2.0, 0]]]),  # the crop doubles the image: box of 200
    )
    found['keypoints'][0, :4, 0] = [0, 9.9, 20.1, 41]
    assert movenet_lspet.correct(found, 0.1)[:4].tolist() == [1, 1, 0, 0]
    assert movenet_lspet.report(found)[1:] == [
        'PCK at 0.05 of the joint box: 0.500',
        'PCK at 0.1 of the joint box: 0.500',
        'PCK at 0.2 of the joint box: 0.750',
    ]
