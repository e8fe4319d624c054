"""The ONNX file computes what torch computes, for any batch."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers_inference import NAMES, noise_image, tiny_model
from mmengine.dataset import pseudo_collate

from hetpose.apis.export.onnx import ExportedPose, check_onnx, export_onnx
from hetpose.apis.loading import PoseModel
from hetpose.errors import UserError

pytest.importorskip('onnxscript', reason='needs hetpose[export]')


def test_the_module_is_the_model_in_pixels_of_its_input(model: PoseModel) -> None:
    """Raw crop in; mapped to the image by the warp, what comes out is the prediction."""
    data = model.pipeline()(
        dict(
            model.meta,
            img=noise_image(),
            img_path='',
            bbox=np.float32([[10, 5, 60, 50]]),
            bbox_score=np.ones(1, np.float32),
        )
    )
    (sample,) = model.network.test_step(pseudo_collate([data]))
    with torch.no_grad():
        keypoints, covariance = ExportedPose(model)(data['inputs'][None].float())
    scale = sample.input_scale / (np.array([32, 32]) - 1)
    moved = keypoints[0].numpy() * scale + sample.input_center - sample.input_scale / 2
    np.testing.assert_allclose(moved, sample.pred_instances.keypoints[0], atol=1e-3)
    spread = np.kron(np.eye(4), np.diag(scale))
    expected = spread @ covariance[0].numpy() @ spread
    np.testing.assert_allclose(
        expected, sample.pred_instances.covariances[0], rtol=1e-3, atol=0.01
    )


def test_onnx_equals_torch_for_any_batch(model: PoseModel, tmp_path: Path) -> None:
    import onnx
    import onnxruntime

    path = tmp_path / 'out' / 'model.onnx'
    assert export_onnx(model, path) < 1e-4
    session = onnxruntime.InferenceSession(str(path))
    assert session.get_inputs()[0].shape[1:] == [3, 32, 32]
    module = ExportedPose(model)
    for size in (1, 4):
        image = torch.rand(size, 3, 32, 32) * 255
        keypoints, covariance = session.run(None, {'image': image.numpy()})
        with torch.no_grad():
            expected = module(image)
        assert keypoints.shape == (size, 4, 2)
        np.testing.assert_allclose(keypoints, expected[0], atol=1e-4)
        np.testing.assert_allclose(covariance, expected[1], rtol=1e-4, atol=1e-4)
    stored = {item.key: item.value for item in onnx.load(path).metadata_props}
    assert json.loads(stored['hetpose.joint_names']) == NAMES
    module.scale *= 1.01
    with pytest.raises(UserError, match='differs from torch'):
        check_onnx(path, module)


@pytest.mark.slow
@pytest.mark.parametrize(
    'covariance',
    [
        dict(type='CholeskyCovariance'),
        dict(type='RootCovariance'),
        dict(type='DiagonalCovariance'),
        dict(type='AnchoredCovariance'),
        dict(type='TaylorInducedCovariance', order='gradient'),
    ],
    ids=lambda covariance: covariance['type'],
)
def test_other_parameterisations(tmp_path: Path, covariance: dict) -> None:
    model = tiny_model(tmp_path, covariance=covariance)
    assert export_onnx(model, tmp_path / 'x.onnx') < 1e-4


@pytest.mark.parametrize(
    ('covariance', 'reason'),
    [
        (dict(type='TaylorInducedCovariance', order='full'), 'it needs second derivatives'),
        (dict(type='PrecisionCovariance'), 'it inverts a matrix'),
    ],
)
def test_what_cannot_be_exported_says_why(tmp_path: Path, covariance: dict, reason: str) -> None:
    with pytest.raises(UserError, match=f'{covariance["type"]}.* cannot be exported: {reason}'):
        export_onnx(tiny_model(tmp_path, covariance=covariance), tmp_path / 'x.onnx')
    assert not (tmp_path / 'x.onnx').exists()


def test_a_student_exports_its_degrees_of_freedom(tmp_path: Path) -> None:
    import onnxruntime

    covariance = dict(type='StudentCovariance', scale=dict(type='AnchoredCovariance'))
    model = tiny_model(tmp_path, covariance=covariance, objective=dict(type='StudentNLLObjective'))
    path = tmp_path / 'model.onnx'
    assert export_onnx(model, path) < 1e-4
    session = onnxruntime.InferenceSession(str(path))
    names = [output.name for output in session.get_outputs()]
    assert names == ['keypoints', 'covariance', 'degrees_of_freedom']
    image = torch.rand(3, 3, 32, 32) * 255
    *_, nu = session.run(None, {'image': image.numpy()})
    with torch.no_grad():
        expected = ExportedPose(model)(image)[2]
    np.testing.assert_allclose(nu, expected, rtol=1e-4)


def test_the_scale_of_a_student_is_named_where_it_cannot_be_exported(tmp_path: Path) -> None:
    covariance = dict(type='StudentCovariance', scale=dict(type='PrecisionCovariance'))
    model = tiny_model(tmp_path, covariance=covariance, objective=dict(type='StudentNLLObjective'))
    with pytest.raises(UserError, match='PrecisionCovariance cannot be exported'):
        export_onnx(model, tmp_path / 'model.onnx')
