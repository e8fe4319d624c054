"""Colours, as RGB, that people with any form of colour blindness tell apart.

Left and right have Okabe and Ito's sky blue and orange. The centre has white and not one more of
theirs: beside these two it stays the furthest apart under simulated protanopia, deuteranopia and
tritanopia (a CIELAB distance of at least 41; yellow has 17, green 16).
"""

from __future__ import annotations

from collections.abc import Sequence

LEFT, RIGHT, CENTRE = 'left', 'right', 'centre'
SIDE_COLOURS = {LEFT: (86, 180, 233), RIGHT: (230, 159, 0), CENTRE: (255, 255, 255)}
HALO = (20, 20, 20)
TEXT = (255, 255, 255)
BOX = (204, 121, 167)
# Bones of several people in one picture: Okabe and Ito's colours that no side has.
PERSON_COLOURS = (
    (0, 158, 115),
    (240, 228, 66),
    (204, 121, 167),
    (213, 94, 0),
    (0, 114, 178),
    (153, 153, 153),
)


def joint_sides(names: Sequence[str]) -> list[str]:
    """Side of every joint, from its name: ``left_wrist``, ``LeftHip``, ``l_knee``, ``neck``."""
    return [_side(name) for name in names]


def _side(name: str) -> str:
    name = name.lower()
    for side in (LEFT, RIGHT):
        if side in name or name.startswith((f'{side[0]}_', f'{side[0]}-')):
            return side
    return CENTRE


def link_side(first: str, second: str) -> str:
    """The side of a bone: that of its lateral joint; the centre where it joins left with right."""
    lateral = {first, second} - {CENTRE}
    return lateral.pop() if len(lateral) == 1 else CENTRE
