"""Sides of joints and bones."""

import pytest

from hetpose.visualization.drawing import joint_sides, link_side


def test_sides_follow_the_names() -> None:
    names = ['left_wrist', 'RightHip', 'r_knee', 'neck', 'L-ear', 'head']
    assert joint_sides(names) == ['left', 'right', 'right', 'centre', 'left', 'centre']


@pytest.mark.parametrize(
    ('first', 'second', 'side'),
    [
        ('left', 'left', 'left'),
        ('centre', 'right', 'right'),
        ('left', 'right', 'centre'),
        ('centre', 'centre', 'centre'),
    ],
)
def test_a_bone_has_the_side_of_its_lateral_joint(first: str, second: str, side: str) -> None:
    assert link_side(first, second) == link_side(second, first) == side
