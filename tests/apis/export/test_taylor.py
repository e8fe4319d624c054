"""The Jacobian in plain operators is that of automatic differentiation."""

import pytest
import torch
from helpers_inference import tiny_model
from torch import nn

from hetpose.apis.export.onnx import ExportedPose
from hetpose.apis.export.taylor import SoftArgmaxJacobian
from hetpose.errors import UserError
from hetpose.ops.soft_argmax import soft_argmax


@pytest.mark.parametrize('temperature', [1.0, 20.0])
def test_it_equals_autograd(temperature: float) -> None:
    decoder = nn.Sequential(
        nn.Sequential(nn.ConvTranspose2d(5, 6, 4, 2, 1), nn.BatchNorm2d(6), nn.ReLU()),
        nn.Identity(),
        nn.Conv2d(6, 3, 3, padding=1),
    )
    decoder[0][1].running_var.uniform_(0.5, 2)
    decoder[0][1].weight.data.uniform_(0.5, 2)
    decoder = decoder.double().eval()
    lift = nn.Sequential(nn.Linear(4, 5 * 9), nn.Unflatten(-1, (5, 3, 3))).double()
    features, z = torch.randn(2, 5, 3, 3).double(), torch.randn(2, 4).double()

    def mean(points: torch.Tensor) -> torch.Tensor:
        return soft_argmax(decoder(features + lift(points)), temperature).flatten(1)

    every = torch.autograd.functional.jacobian(mean, z)  # (B, 2K, B, m)
    expected = torch.stack([every[b, :, b] for b in range(2)])
    module = SoftArgmaxJacobian(decoder, lift.float(), 4)
    module.columns = module.columns.double()
    found = module(features + lift.double()(z), torch.tensor(temperature).double())
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)


def test_the_module_predicts_the_covariance_of_the_head(tmp_path) -> None:
    model = tiny_model(tmp_path, covariance=dict(type='TaylorInducedCovariance'))
    module = ExportedPose(model)
    image = torch.rand(3, 3, 32, 32) * 255
    with torch.no_grad():
        _, covariance = module(image)
        features = model.network.backbone((image[:, [2, 1, 0]] - module.mean) / module.std)
        expected = model.network.head.forward(features).covariance.matrix
    scale = module.scale.repeat(4)
    torch.testing.assert_close(covariance, expected * scale * scale[:, None], rtol=1e-4, atol=1e-4)


def test_a_layer_that_bends_is_refused() -> None:
    with pytest.raises(UserError, match='over Sigmoid cannot be exported'):
        SoftArgmaxJacobian(nn.Sequential(nn.Sigmoid()), nn.Linear(2, 2), 2)
