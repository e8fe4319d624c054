"""Recalibrated in the file, in input pixels, is recalibrated outside, in image pixels."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from helpers_inference import tiny_model

from hetpose.apis.calibration.recalibration import Recalibration
from hetpose.apis.export.onnx import ExportedPose
from hetpose.apis.export.recalibrated import RecalibratedPose
from hetpose.apis.loading import PoseModel
from hetpose.errors import UserError

RECALIBRATION = Recalibration((2.0, 0.5, 1.0, 3.0), (4.0, 1.0, 0.0, 9.0), 8, 9, 1.0, 0.5)


@torch.no_grad()
def test_both_units_give_the_same(model: PoseModel) -> None:
    plain = ExportedPose(model).eval()
    module = RecalibratedPose(plain, RECALIBRATION).eval()
    image, size = module.example(3, torch.Generator().manual_seed(0))
    assert module.inputs == ('image', 'pixel_size')
    keypoints, covariance = module(image, size)
    expected, before = plain(image)
    torch.testing.assert_close(keypoints, expected)
    in_image = RECALIBRATION.apply(before * size[:, None, None].square())
    torch.testing.assert_close(
        (covariance * size[:, None, None].square()).double(), in_image, rtol=1e-4, atol=1e-4
    )


@torch.no_grad()
def test_of_a_student_the_covariance_is_changed_and_the_tails_stay(tmp_path: Path) -> None:
    covariance = dict(type='StudentCovariance', scale=dict(type='AnchoredCovariance'))
    model = tiny_model(tmp_path, covariance=covariance, objective=dict(type='StudentNLLObjective'))
    plain = ExportedPose(model).eval()
    module = RecalibratedPose(plain, RECALIBRATION).eval()
    image, _ = module.example(3, torch.Generator().manual_seed(0))
    found, before = module(image, torch.ones(3)), plain(image)
    assert module.outputs == ('keypoints', 'covariance', 'degrees_of_freedom')
    torch.testing.assert_close(found[0], before[0])
    torch.testing.assert_close(found[2], before[2])
    in_image = RECALIBRATION.apply(before[1])
    torch.testing.assert_close(found[1].double(), in_image, rtol=1e-4, atol=1e-4)


def test_a_calibration_of_other_joints_is_refused(model: PoseModel) -> None:
    other = replace(RECALIBRATION, alpha=(1.0,), beta=(0.0,), dim=6)
    with pytest.raises(UserError, match='of 3 joints, the file has 4'):
        RecalibratedPose(ExportedPose(model), other)
