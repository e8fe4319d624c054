"""The joints and channels that a head of mmpose declares."""

import pytest
from helpers_posthoc import CHANNELS, HEADS, JOINTS
from mmpose.registry import MODELS
from torch import nn

from hetpose.errors import UserError
from hetpose.models.heads.foreign_head import channels_of, joints_of, warps_to_centres


@pytest.mark.parametrize('kind', HEADS)
def test_joints_and_channels_of_every_kind(kind):
    head = MODELS.build(HEADS[kind][1])
    assert joints_of(head) == JOINTS
    assert channels_of(head) == CHANNELS
    assert warps_to_centres(getattr(head, 'decoder', None)) == kind.startswith('udp')


def test_a_head_that_does_not_say_is_asked_for_it():
    with pytest.raises(UserError, match='give num_keypoints'):
        joints_of(nn.Identity())
    with pytest.raises(UserError, match='give feature_channels'):
        channels_of(nn.Identity())
