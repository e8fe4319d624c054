"""The labels of a batch: stacked in order, with the pseudo-labels only where they are read."""

import pytest
import torch
from mmengine.structures import InstanceData, PixelData
from mmpose.structures import PoseDataSample

from hetpose.errors import UserError
from hetpose.models.heads.pose_labels import PoseLabels
from hetpose.models.objectives import NLLObjective, W2BoundObjective


def sample(place: float, weight: float = 1.0, root: bool = True) -> PoseDataSample:
    """Two joints at (place, 0), the second of which has the weight."""
    made = PoseDataSample()
    made.gt_instance_labels = InstanceData(
        keypoint_labels=torch.tensor([[[place, 0.0], [place, 0.0]]]),
        keypoint_weights=torch.tensor([[1.0, weight]]),
    )
    if root:
        made.gt_instance_labels.pseudo_root = place * torch.eye(4)[None]
    made.gt_fields = PixelData(heatmaps=torch.full((2, 8, 8), place))
    return made


def test_labels_are_those_of_the_samples_in_order() -> None:
    labels = PoseLabels.stacked([sample(1.0), sample(2.0, weight=0.0)], W2BoundObjective())
    assert labels.target.tolist() == [[1, 0, 1, 0], [2, 0, 2, 0]]
    assert labels.mask.tolist() == [[True] * 4, [True, True, False, False]]
    assert labels.heatmaps[:, 0, 0, 0].tolist() == [1, 2]
    assert labels.root[:, 0, 0].tolist() == [1, 2]


def test_pseudo_labels_are_read_only_by_an_objective_that_needs_them() -> None:
    without = [sample(1.0, root=False)]
    assert PoseLabels.stacked(without, NLLObjective()).root is None
    with pytest.raises(UserError, match='W2BoundObjective needs pseudo-labels'):
        PoseLabels.stacked(without, W2BoundObjective())


def test_accuracy_counts_labelled_joints_only() -> None:
    labels = PoseLabels.stacked([sample(1.0), sample(2.0, weight=0.0)], NLLObjective())
    near, far = labels.target + 0.1, labels.target + torch.tensor([0.0, 0.0, 5.0, 0.0])
    assert labels.accuracy(near, 8) == 1
    assert labels.accuracy(far, 8).item() == pytest.approx(2 / 3)
