"""A whole MoveNet: maps, and people in input pixels."""

import torch

from tests.helpers_tfjs import small_network


def test_a_person_is_found_in_input_pixels() -> None:
    network = small_network()
    images = torch.rand(2, 3, 64, 64) * 255
    with torch.no_grad():
        maps = network.maps(images)
        keypoints, scores = network.person(images)
    assert keypoints.shape == (2, 17, 2)
    assert scores.shape == (2, 17)
    assert maps['kpt_heatmap'].min() >= 0
    assert maps['kpt_heatmap'].max() <= 1
    cells = torch.stack([scores.new_tensor([k % 16, k // 16]) for k in range(256)])
    offset = maps['kpt_offset'].unflatten(1, (17, 2)).flatten(3).flip(2).permute(0, 1, 3, 2)
    whole = 4 * (cells + offset)  # every place that a joint could be at, four pixels a cell
    away = (whole - keypoints[:, :, None]).norm(dim=-1).min(-1).values
    torch.testing.assert_close(away, torch.zeros(2, 17), atol=1e-3, rtol=0)
    assert maps['kpt_regress'].shape == (2, 34, 16, 16)


def test_many_people_have_boxes_in_input_pixels() -> None:
    network = small_network(many=True)
    for name in ('box_scale', 'box_offset'):
        network.heads[name].out.weight.data.zero_()
    network.heads['box_scale'].out.bias.data[:] = torch.tensor([6.0, 4.0])  # height, width
    with torch.no_grad():
        found = network.people(torch.rand(1, 3, 96, 64) * 255, count=3)
    assert found.keypoints.shape == (1, 3, 17, 2)
    assert found.boxes.shape == (1, 3, 4)
    assert (found.boxes[..., 2] <= 64).all()
    assert (found.boxes[..., 3] <= 96).all()
    assert (found.boxes[..., 3] > 16).any()
