"""The covariance of the errors of a pose head that is left as it is.

Axes: B batch, K joints, d = 2K.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import torch
from mmpose.models.heads import RegressionHead, RLEHead
from mmpose.models.heads.base_head import BaseHead
from mmpose.registry import MODELS
from torch import Tensor, nn

from hetpose.errors import UserError
from hetpose.models.covariance.base import CovarianceParameterisation
from hetpose.models.heads.error_model import UNITS, ErrorModel
from hetpose.models.heads.foreign_head import (
    channels_of,
    joints_of,
    refuse_head,
    warps_to_centres,
)
from hetpose.models.heads.pose_prediction import add_covariances
from hetpose.models.heads.posthoc_evidence import joint_evidence, pooled_features, pooling_grid
from hetpose.ops.affine import scale_covariance
from hetpose.ops.covariance import Covariance
from hetpose.ops.spd import to_float64

NO_FLIP = {'flip_test': False}


class Observed(NamedTuple):
    """The predictions of a wrapped head, and the values that Σ is computed from."""

    predictions: Any  # of the wrapped head's predict
    pooled: Tensor  # (B, F)
    statistics: Tensor  # (B, K, 8)


class ErrorDistribution(NamedTuple):
    """The wrapped head's raw outputs and Σ of its errors, in per cent of the crop's side."""

    outputs: Any
    covariance: Covariance  # of (B, 2K, 2K)


@MODELS.register_module()
class PosthocCovarianceHead(BaseHead):
    """A top-down head of mmpose, unchanged, with the covariance of its errors.

    Keypoints, scores and heatmaps are those of the wrapped head. Σ is a small network's, from the
    pooled features and the wrapped head's raw outputs (see ``ErrorModel``); with a flip test, from
    those of the image that is not mirrored. The wrapped head is in evaluation mode and takes no
    gradient; ``FreezeWrappedHook`` does the same to the backbone in training.

    A checkpoint of the unwrapped model loads under its own names.

    Args:
        head: config of the wrapped head, as it stands in its own config.
        covariance, objective: configs, as for HeteroscedasticHead; lengths are in per cent of the
            longer side of the crop.
        num_keypoints: K, where it is not the wrapped head's out_channels or num_joints.
        feature_channels: channels of the last feature map, where the wrapped head names none.
        components, width, blocks: see ``ErrorModel``.
        score_radius: a keypoint's probability is that of the true joint lying within this
            fraction of the longer side of its box.
    """

    def __init__(
        self,
        head: dict,
        covariance: dict,
        objective: dict,
        num_keypoints: int | None = None,
        feature_channels: int | None = None,
        components: int = 48,
        width: int = 128,
        blocks: int = 1,
        score_radius: float = 0.05,
        init_cfg: dict | None = None,
    ) -> None:
        super().__init__(init_cfg)
        if score_radius <= 0:
            raise ValueError(f'score_radius must be positive, got {score_radius}')
        refuse_head(head)
        self.head = MODELS.build(head).requires_grad_(False).eval()
        if getattr(self._forwarding, 'decoder', self) is None:
            raise UserError(
                f'{head["type"]} cannot be wrapped without a decoder: it has no keypoints'
            )
        self.score_radius = score_radius
        self.joints = num_keypoints or joints_of(self.head)
        channels = feature_channels or channels_of(self.head)
        # Regression heads take vectors, which have no places to pool over.
        flat = isinstance(self._forwarding, RegressionHead | RLEHead)
        self.grid = 1 if flat else pooling_grid(channels)
        self.errors = ErrorModel(
            self.joints,
            channels * self.grid**2,
            covariance,
            objective,
            components,
            width,
            blocks,
        )

    @property
    def decoder(self) -> Any:
        """The wrapped head's codec."""
        return getattr(self._forwarding, 'decoder', None)

    @property
    def _forwarding(self) -> nn.Module:
        """The module whose ``forward`` the wrapped head's ``predict`` calls."""
        return getattr(self.head, 'pose_head', self.head)

    @property
    def dim(self) -> int:
        """D = 2K."""
        return self.errors.dim

    @property
    def covariance(self) -> CovarianceParameterisation:
        """The parameterisation in force."""
        return self.errors.covariance

    @property
    def objective(self) -> nn.Module:
        """The objective in force."""
        return self.errors.objective

    def switch(self, objective: dict | None = None, covariance: dict | None = None) -> None:
        """Go on with another objective; see ``ErrorModel.switch``."""
        self.errors.switch(objective, covariance)

    def init_weights(self) -> None:
        """Initialise the wrapped head as it does itself; the error model is left as built."""
        self.head.init_weights()

    def train(self, mode: bool = True) -> PosthocCovarianceHead:
        """Train the error model only: the wrapped head stays in evaluation mode."""
        super().train(mode)
        self.head.eval()
        return self

    @contextmanager
    def _recording(self) -> Iterator[list[Tensor]]:
        """Collect the statistics of every forward of the wrapped head.

        They are taken at once, because some heads change their outputs in place afterwards.
        """
        module = self._forwarding
        seen: list[Tensor] = []
        original = module.forward

        def forward(feats: Any) -> Any:
            outputs = original(feats)
            if not seen:  # a flip test's second call is of the mirrored image
                seen.append(joint_evidence(outputs, self.joints))
            return outputs

        module.forward = forward  # type: ignore[method-assign]
        try:
            yield seen
        finally:
            del module.__dict__['forward']

    @torch.no_grad()
    def observe(self, feats: Any, samples: list, test_cfg: dict | None = None) -> Observed:
        """The wrapped head's own predictions, and what they were made from."""
        test_cfg = test_cfg or {}
        with self._recording() as seen:
            predictions = self.head.predict(feats, samples, test_cfg=test_cfg)
        straight = feats[0] if test_cfg.get('flip_test', False) else feats
        return Observed(predictions, pooled_features(straight, self.grid), seen[0])

    def forward(self, feats: Any) -> ErrorDistribution:
        """The wrapped head's raw outputs and Σ of its errors, for an export."""
        outputs = self._forwarding.forward(feats)
        pooled = pooled_features(feats, self.grid)
        evidence = self.errors.evidence(pooled, joint_evidence(outputs, self.joints))
        return ErrorDistribution(outputs, self.errors.distribution(evidence))

    def predict(
        self, feats: Any, batch_data_samples: list, test_cfg: dict | None = None
    ) -> list | tuple[list, list]:
        """The wrapped head's instances, with further fields in image pixels.

        keypoint_covariances (1, K, 2, 2), keypoint_probabilities (1, K) and covariances
        (1, 2K, 2K), which holds the joints of ``output_keypoint_indices`` if that is set; of a
        Student-t also degrees_of_freedom (1,).
        """
        test_cfg = test_cfg or {}
        seen = self.observe(feats, batch_data_samples, test_cfg)
        evidence = self.errors.evidence(seen.pooled, seen.statistics)
        predicted = self.errors.distribution(evidence, torch.float64)
        covariance = to_float64(predicted.matrix.detach(), 'covariance of the errors')
        sides = [np.max(sample.metainfo['input_scale']) for sample in batch_data_samples]
        scale = covariance.new_tensor(np.array(sides, np.float64))[:, None] / UNITS
        in_image = scale_covariance(covariance, scale.expand(-1, self.dim))
        found = seen.predictions
        add_covariances(
            found[0] if isinstance(found, tuple) else found,
            in_image,
            batch_data_samples,
            self.score_radius,
            test_cfg.get('output_keypoint_indices'),
            degrees_of_freedom=predicted.degrees_of_freedom,
        )
        return found

    def loss(
        self, feats: Any, batch_data_samples: list, train_cfg: dict | None = None
    ) -> dict[str, Tensor]:
        """The objective of the wrapped head's errors, averaged over the batch.

        The labels are the keypoints in the crop, which ``PackPoseInputs(pack_transformed=True)``
        hands over.
        """
        if torch.is_grad_enabled() and _learns(feats):
            raise UserError(
                'PosthocCovarianceHead trains with a frozen model: add '
                "dict(type='FreezeWrappedHook') to custom_hooks"
            )
        seen = self.observe(feats, batch_data_samples, NO_FLIP)
        residual, mask = self._labels(seen.predictions, batch_data_samples)
        evidence = self.errors.evidence(seen.pooled, seen.statistics)
        objective = self.errors.errors(evidence, residual.to(evidence), mask.to(evidence.device))
        return dict(loss_objective=objective.mean())

    def _labels(self, predictions: list, samples: list) -> tuple[Tensor, Tensor]:
        """Residuals (B, d) in units of the errors and mask (B, d)."""
        residuals, masks = [], []
        for predicted, sample in zip(predictions, samples, strict=True):
            truth, size = sample.gt_instances, np.asarray(sample.metainfo['input_size'])
            if 'transformed_keypoints' not in truth:
                raise UserError(
                    'PosthocCovarianceHead needs the keypoints in the crop: set '
                    'pack_transformed=True in PackPoseInputs of the training pipeline'
                )
            span = size - 1 if warps_to_centres(self.decoder) else size
            target = np.asarray(truth.transformed_keypoints)[..., :2] * (size / span)
            error = (target - predicted.keypoints[..., :2]) * (UNITS / size.max())
            visible = np.asarray(truth.keypoints_visible).reshape(*error.shape[:2], -1)[..., 0] > 0
            residuals.append(np.where(visible[..., None], error, 0.0).reshape(1, -1))
            masks.append(np.repeat(visible, 2, axis=-1))
        return torch.as_tensor(np.concatenate(residuals)), torch.as_tensor(np.concatenate(masks))

    def _load_from_state_dict(self, state_dict: dict, prefix: str, *args: Any) -> None:
        """Let a checkpoint of the unwrapped model fill the wrapped head."""
        names = [name for name in state_dict if name.startswith(prefix)]
        if not any(name.startswith(f'{prefix}errors.') for name in names):
            for name in names:
                state_dict[f'{prefix}head.{name.removeprefix(prefix)}'] = state_dict.pop(name)
        super()._load_from_state_dict(state_dict, prefix, *args)


def _learns(feats: Any) -> bool:
    """Whether a gradient would reach what made the features."""
    if isinstance(feats, Tensor):
        return feats.requires_grad
    return isinstance(feats, list | tuple) and any(_learns(part) for part in feats)
