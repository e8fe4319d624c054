"""People drawn into maps are found where they were drawn."""

import torch

from hetpose.ops.centre_decoding import decode_people, decode_person

H, W, K = 12, 16, 2


def empty() -> dict[str, torch.Tensor]:
    return dict(
        heatmap=torch.full((1, K, H, W), 0.01),
        regress=torch.zeros(1, 2 * K, H, W),
        centre=torch.full((1, 1, H, W), 0.01),
        offset=torch.zeros(1, 2 * K, H, W),
    )


def put(maps: dict, centre: tuple, joints: list, score: float = 0.9) -> None:
    """A person with its middle and its joints at cells (x, y), and offsets of (0.25, −0.5)."""
    cx, cy = centre
    maps['centre'][0, 0, cy, cx] = score
    for k, (x, y) in enumerate(joints):
        maps['heatmap'][0, k, y, x] = score
        maps['regress'][0, 2 * k, cy, cx], maps['regress'][0, 2 * k + 1, cy, cx] = y - cy, x - cx
        maps['offset'][0, 2 * k, y, x], maps['offset'][0, 2 * k + 1, y, x] = -0.5, 0.25


def test_one_person() -> None:
    maps = empty()
    put(maps, (8, 5), [(3, 9), (12, 2)])
    points, scores = decode_person(**maps, centre_weight=torch.ones(H, W))
    torch.testing.assert_close(points, torch.tensor([[[3.25, 8.5], [12.25, 1.5]]]))
    torch.testing.assert_close(scores, torch.full((1, K), 0.9))


def test_the_weight_of_the_middle_decides_between_two() -> None:
    maps, weight = empty(), torch.full((H, W), 0.1)
    put(maps, (2, 2), [(1, 1), (4, 4)], 0.95)
    put(maps, (8, 5), [(9, 9), (12, 2)], 0.9)
    weight[5, 8] = 1.0
    points, _ = decode_person(**maps, centre_weight=weight)
    torch.testing.assert_close(points[0, 0], torch.tensor([9.25, 8.5]))
    points, _ = decode_person(**maps, centre_weight=torch.ones(H, W))
    torch.testing.assert_close(points[0, 0], torch.tensor([1.25, 0.5]))


def test_many_people_and_their_boxes() -> None:
    maps = empty()
    put(maps, (3, 4), [(2, 2), (4, 6)], 0.9)
    put(maps, (11, 6), [(10, 4), (13, 8)], 0.8)
    scale, shift = torch.full((1, 2, H, W), 0.0), torch.zeros(1, 2, H, W)
    scale[0, :, 4, 3] = torch.tensor([6.0, 4.0])  # height, width
    scale[0, :, 6, 11] = torch.tensor([8.0, 20.0])  # wider than the map
    shift[0, :, 4, 3] = torch.tensor([0.5, 0.25])
    found = decode_people(**maps, box_scale=scale, box_offset=shift, people=2)
    torch.testing.assert_close(found.boxes[0, 0], torch.tensor([1.25, 1.5, 5.25, 7.5]))
    torch.testing.assert_close(found.boxes[0, 1], torch.tensor([1.0, 2.0, 16.0, 10.0]))
    torch.testing.assert_close(found.keypoints[0, 0], torch.tensor([[2.25, 1.5], [4.25, 5.5]]))
    torch.testing.assert_close(found.keypoints[0, 1], torch.tensor([[10.25, 3.5], [13.25, 7.5]]))
    torch.testing.assert_close(found.scores[0], torch.tensor([0.81, 0.64]))


def test_a_joint_outside_the_box_is_not_the_persons() -> None:
    maps = empty()
    put(maps, (3, 4), [(2, 2), (9, 6)], 0.9)
    scale = torch.zeros(1, 2, H, W)
    scale[0, :, 4, 3] = torch.tensor([6.0, 4.0])
    found = decode_people(**maps, box_scale=scale, box_offset=torch.zeros(1, 2, H, W), people=1)
    assert found.keypoints[0, 0, 1, 0] < 6
    assert found.keypoint_scores[0, 0, 1] < 0.02
    torch.testing.assert_close(found.scores[0, 0], torch.tensor(0.81))  # joint 0 alone counts
