"""A model as an ONNX file: image tensor in, mean and covariance out."""

from __future__ import annotations

import contextlib
import copy
import importlib.util
import io
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from hetpose.apis.calibration.recalibration import Recalibration
from hetpose.apis.export.recalibrated import RecalibratedPose
from hetpose.apis.export.taylor import SoftArgmaxJacobian
from hetpose.apis.inference.network import Predictor
from hetpose.apis.loading import PoseModel
from hetpose.errors import UserError
from hetpose.fileio import atomic_path
from hetpose.models.heads.error_model import UNITS
from hetpose.models.heads.posthoc_head import PosthocCovarianceHead
from hetpose.ops.affine import transform_covariance
from hetpose.ops.taylor.terms import TaylorTerms

INPUT = 'image'
OUTPUTS = ('keypoints', 'covariance')
TAILS = 'degrees_of_freedom'
TOLERANCE = 1e-4
_PACKAGES = ('onnx', 'onnxscript', 'onnxruntime')
_REFUSED = {
    'PrecisionCovariance': 'it inverts a matrix, and ONNX has no operator for that',
}


class ExportedPose(nn.Module):
    """Image (B, 3, H, W) → keypoints (B, K, 2) and covariance (B, 2K, 2K), in input pixels.

    A Student-t has a third output, its degrees of freedom (B,).

    The image holds the values 0 to 255 in the channel order of the training images (BGR for
    mmpose); the normalisation is part of the module. Input pixels count from the middle of the
    first pixel of the crop.
    """

    mean: Tensor
    std: Tensor
    scale: Tensor
    units = (
        'keypoints: pixels of the input, (x, y); covariance: pixels², order x1, y1, x2, y2, ...'
    )

    def __init__(self, model: PoseModel) -> None:
        super().__init__()
        network = copy.deepcopy(model.network)  # the caller's stays where it is
        self.backbone = network.backbone
        self.neck = network.neck if network.with_neck else None
        self.head = network.head
        order = self.head.covariance.taylor_order
        if order == 'gradient':
            self.jacobian = SoftArgmaxJacobian(
                self.head.heatmap_decoder, self.head.bottleneck.lift, self.head.bottleneck.dim
            )
            # The exporter cannot trace how the head makes its Taylor terms.
            self.head.taylor_provider = self._taylor_terms
        preprocessor = network.data_preprocessor
        self.swap_channels = bool(preprocessor._channel_conversion)
        mean, std = torch.zeros(3, 1, 1), torch.ones(3, 1, 1)
        if preprocessor._enable_normalize:
            mean, std = preprocessor.mean.reshape(-1, 1, 1), preprocessor.std.reshape(-1, 1, 1)
        self.register_buffer('mean', mean.clone().float())
        self.register_buffer('std', std.clone().float())
        self.register_buffer('scale', self._scale(model))
        self.input_size = self._input_size(model)

    def _scale(self, model: PoseModel) -> Tensor:
        """The size of the head's units (x, y) in input pixels, (2,)."""
        return torch.as_tensor(self.head.decoder.scale_factor).float()

    def _input_size(self, model: PoseModel) -> tuple[int, int]:
        """(w, h) of the image."""
        width, height = self.head.decoder.input_size
        return int(width), int(height)

    def _taylor_terms(self, features: Tensor, z: Tensor) -> TaylorTerms:
        lifted = features + self.head.bottleneck.lift(z)
        return TaylorTerms(self.jacobian(lifted, self.head.temperature), None)

    inputs = (INPUT,)

    def example(self, count: int, generator: torch.Generator) -> tuple[Tensor, ...]:
        """Inputs to check the file with."""
        width, height = self.input_size
        return (torch.rand(count, 3, height, width, generator=generator) * 255,)

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of what ``forward`` returns."""
        return (*OUTPUTS, TAILS) if self.head.covariance.heavy_tailed else OUTPUTS

    def _features(self, image: Tensor) -> Any:
        image = image[:, [2, 1, 0]] if self.swap_channels else image
        features = self.backbone((image - self.mean) / self.std)
        return features if self.neck is None else self.neck(features)

    def forward(self, image: Tensor) -> tuple[Tensor, ...]:
        predicted = self.head.forward(self._features(image))
        keypoints = predicted.mean.unflatten(-1, (-1, 2)) * self.scale
        covariance = transform_covariance(predicted.covariance.matrix, torch.diag(self.scale))
        nu = predicted.covariance.degrees_of_freedom
        return (keypoints, covariance) if nu is None else (keypoints, covariance, nu)


class ExportedPosthoc(ExportedPose):
    """Image (B, 3, H, W) → the wrapped head's raw outputs, and covariance (B, 2K, 2K).

    The raw outputs are those of the unwrapped model: heatmaps; simcc_x and simcc_y; coordinates;
    or coordinates and the heatmaps that they were read from. mmpose decodes them outside the
    network, and so does whoever uses the file. The covariance is in input pixels.
    """

    units = 'covariance: pixels² of the input, order x1, y1, x2, y2, ...; the others as in mmpose'

    def _scale(self, model: PoseModel) -> Tensor:
        return torch.full((2,), max(self._input_size(model)) / UNITS)

    def _input_size(self, model: PoseModel) -> tuple[int, int]:
        for step in model.pipeline().transforms:
            if hasattr(step, 'input_size'):
                return int(step.input_size[0]), int(step.input_size[1])
        raise UserError(f'{model.name} cannot be exported: its test pipeline has no TopdownAffine')

    @property
    def outputs(self) -> tuple[str, ...]:
        width, height = self.input_size
        with torch.no_grad():
            raw = self._raw(self.head.forward(self._features(torch.zeros(1, 3, height, width))))
        if len(raw) == 2 and raw[1].ndim == 3:
            names: tuple[str, ...] = ('simcc_x', 'simcc_y')
        else:
            names = tuple('heatmaps' if part.ndim == 4 else 'coordinates' for part in raw)
        tails = (TAILS,) if self.head.covariance.heavy_tailed else ()
        return (*names, 'covariance', *tails)

    @staticmethod
    def _raw(predicted: Any) -> tuple[Tensor, ...]:
        outputs = predicted.outputs
        outputs = outputs[-1] if isinstance(outputs, list) else outputs
        return outputs if isinstance(outputs, tuple) else (outputs,)

    def forward(self, image: Tensor) -> tuple[Tensor, ...]:
        predicted = self.head.forward(self._features(image))
        covariance = transform_covariance(predicted.covariance.matrix, torch.diag(self.scale))
        nu = predicted.covariance.degrees_of_freedom
        return (*self._raw(predicted), covariance, *(() if nu is None else (nu,)))


def refuse_unsupported(model: PoseModel) -> None:
    """Raise a UserError where the covariance cannot be written as ONNX operators."""
    covariance = model.network.head.covariance
    name = type(getattr(covariance, 'shape', covariance)).__name__  # the scale of a Student-t
    if covariance.taylor_order == 'full':
        raise UserError(
            f"{name} of order 'full' cannot be exported: it needs second derivatives of the "
            "network, and ONNX has none; order 'gradient' can be exported"
        )
    if name in _REFUSED:
        raise UserError(
            f'{name} cannot be exported: {_REFUSED[name]}; train or fine-tune with '
            'FactorCovariance, CholeskyCovariance, RootCovariance, AnchoredCovariance, '
            'DiagonalCovariance or TaylorInducedCovariance'
        )
    missing = [name for name in _PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        raise UserError(f'export needs {", ".join(missing)}: pip install hetpose[export]')


def export_onnx(
    model: PoseModel,
    path: str | Path,
    opset: int = 18,
    calibration: str | Path | Recalibration | None = None,
) -> float:
    """Write the model, check the file against torch, and return the largest difference.

    Inputs: ``image`` (batch, 3, H, W). Outputs: ``keypoints`` (batch, K, 2) and ``covariance``
    (batch, 2K, 2K); of a Student-t also ``degrees_of_freedom`` (batch). In place of keypoints a
    wrapped head of mmpose has its own raw outputs: see ``ExportedPosthoc``. The batch is dynamic.
    The file's metadata name the joints, the input size, the crop, the units and the config.

    With a ``calibration``, as tools/calibrate.py writes it, the covariance is recalibrated in the
    file, which then has a second input: see ``RecalibratedPose``.
    """
    refuse_unsupported(model)
    posthoc = isinstance(model.network.head, PosthocCovarianceHead)
    module: Any = (ExportedPosthoc if posthoc else ExportedPose)(model).cpu().eval()
    if calibration is not None:
        recalibration = Predictor(model, calibration).calibration
        assert recalibration is not None
        module = RecalibratedPose(module, recalibration).eval()
    example = module.example(2, torch.Generator().manual_seed(0))
    with atomic_path(path) as temporary:
        try:
            program = _translate(module, example, opset)
        except Exception as error:  # torch.export and onnxscript raise many kinds
            raise UserError(f'{model.name} cannot be exported: {_root(error)}') from error
        program.model.metadata_props.update(_metadata(model, module))
        program.save(temporary, external_data=False)
        return check_onnx(temporary, module)


def _translate(module: Any, example: tuple[Tensor, ...], opset: int) -> Any:
    batch = torch.export.Dim('batch', min=1)
    quiet = io.StringIO()  # the exporter tells its steps, and its warnings are about itself
    with (
        warnings.catch_warnings(),
        contextlib.redirect_stdout(quiet),
        contextlib.redirect_stderr(quiet),
        torch.no_grad(),
    ):
        warnings.simplefilter('ignore')
        return torch.onnx.export(
            module,
            example,
            input_names=list(module.inputs),
            output_names=list(module.outputs),
            dynamic_shapes=tuple({0: batch} for _ in example),
            opset_version=opset,
            dynamo=True,
        )


def _root(error: BaseException) -> str:
    """The first line of the error that the others were raised from."""
    while error.__cause__ is not None:
        error = error.__cause__
    return f'{type(error).__name__}: {(str(error).splitlines() or [""])[0]}'


def _crop(model: PoseModel) -> dict[str, Any]:
    """How the test pipeline cuts a person out: share added around the box, and UDP or not."""
    steps = model.pipeline().transforms
    padding = next((step.padding for step in steps if hasattr(step, 'padding')), None)
    udp = next((step.use_udp for step in steps if hasattr(step, 'use_udp')), None)
    return dict(padding=padding, udp=udp)


def _metadata(model: PoseModel, module: Any) -> dict[str, str]:
    return {
        'hetpose.config': model.name,
        # All of them, as the module returns them; test_cfg may choose some for predictions.
        'hetpose.joint_names': json.dumps(list(model.meta['keypoint_id2name'].values())),
        'hetpose.input_size': json.dumps(list(module.input_size)),
        'hetpose.crop': json.dumps(_crop(model)),
        'hetpose.image': 'values 0 to 255, channels '
        + ('BGR' if module.swap_channels else 'as trained'),
        'hetpose.units': module.units,
    }


def check_onnx(path: str | Path, module: Any, sizes: tuple[int, ...] = (1, 3)) -> float:
    """The largest difference between onnxruntime and torch, relative to an output's magnitude.

    Raises a UserError where it is over 1e-4.
    """
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path), providers=['CPUExecutionProvider'])
    worst = 0.0
    for size in sizes:
        given = module.example(size, torch.Generator().manual_seed(size))
        with torch.no_grad():
            expected = module(*given)
        named = zip(module.inputs, given, strict=True)
        found = session.run(list(module.outputs), {name: value.numpy() for name, value in named})
        for ours, theirs in zip(found, expected, strict=True):
            reference = theirs.numpy()
            magnitude = max(1.0, float(np.abs(reference).max()))
            gap = float(np.abs(ours - reference).max()) / magnitude
            worst = max(worst, gap if np.isfinite(gap) else float('inf'))
    if not worst <= TOLERANCE:
        raise UserError(f'the exported file differs from torch by {worst:.1e}; it was not kept')
    return worst
