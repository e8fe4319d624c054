"""A heatmap head that predicts a Gaussian over all joints at once.

Axes: B batch, K joints, C channels, (h, w) feature map, (H, W) heatmap, m entries of the
bottleneck z.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from mmengine.structures import PixelData
from mmpose.models.heads import HeatmapHead
from mmpose.registry import MODELS
from torch import Tensor, nn

from hetpose.errors import PredictionError
from hetpose.models.codecs import SoftArgmaxCodec
from hetpose.models.covariance.base import CovarianceParameterisation
from hetpose.models.heads.covariance_branch import Bottleneck, CovarianceBranch
from hetpose.models.heads.pose_labels import PoseLabels
from hetpose.models.heads.pose_prediction import (
    fuse_heatmaps,
    fuse_mirrored,
    to_instances,
    unusable_named,
)
from hetpose.models.objectives import Objective
from hetpose.models.phase import Phase, Switchable
from hetpose.ops.covariance import Covariance
from hetpose.ops.distribution import Distribution
from hetpose.ops.soft_argmax import soft_argmax
from hetpose.ops.spread import STATISTICS, map_statistics
from hetpose.ops.taylor.terms import TaylorTerms, soft_argmax_terms

TaylorProvider = Callable[[Tensor, Tensor], TaylorTerms]
"""Another way to the Taylor terms, from features (B, C, h, w) and z (B, m): give a head one as
``taylor_provider`` where the closed form cannot run, as in an exporter."""


class PoseDistribution(NamedTuple):
    """The outputs of the network for a batch, in heatmap units; Σ is computed when it is read."""

    heatmaps: Tensor  # (B, K, H, W)
    mean: Tensor  # (B, 2K)
    covariance: Covariance  # of (B, 2K, 2K)


@MODELS.register_module()
class HeteroscedasticHead(Switchable, HeatmapHead):
    """Heatmaps, their soft-argmax mean and a full covariance, for ``TopdownPoseEstimator``.

    F → z = down(F); heatmaps = decoder(F + lift(z)); mean = soft_argmax(heatmaps); Σ =
    parameterisation(net(sg(z))).

    The decoder is HeatmapHead's own (``deconv_layers``, ``conv_layers``, ``final_layer``), so the
    weights of a published checkpoint load under their own names. sg stops the gradient: no
    covariance objective reaches the backbone through Σ. A Taylor-induced covariance differentiates
    the mean with respect to z, without the backbone.

    The loss is the heatmap term (``loss``) plus ``objective_weight`` times the objective, both
    blind to missing joints.

    Args:
        in_channels, out_channels: C and K; all further arguments of HeatmapHead may be given.
        covariance: config of the parameterisation.
        objective: config of the objective.
        decoder: config of the codec, a ``SoftArgmaxCodec``.
        bottleneck_dim: m.
        covariance_width, covariance_blocks: size of the residual network from z to the raw
            covariance outputs.
        covariance_outputs: outputs of that network, where d² + 2 are too few for a covariance that
            the training switches to.
        temperature: the softmax's, on heatmaps that peak at 1. At 20 the background of a 64×64 map
            weighs under 0.01%.
        learn_temperature: train its logarithm with the rest.
        loss: config of the heatmap term. Its mean runs over all H·W pixels while the objective
            sums over coordinates, hence the large default weight.
        objective_weight: factor of the objective.
        heatmap_evidence: let the covariance network also read how high and how widely spread the
            heatmaps are (``ops.spread.map_statistics``), without a gradient, scaled to mean 0 and
            variance 1 over the training data.
        score_radius: a keypoint's score is the probability, under Σ, that the true joint lies
            within this fraction of the longer side of its box; 0.05 is mmpose's PCK threshold.
    """

    covariance_weights = ('covariance_branch.',)
    decoder: SoftArgmaxCodec
    loss_module: nn.Module
    deconv_layers: nn.Module
    conv_layers: nn.Module
    final_layer: nn.Module

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        covariance: dict,
        objective: dict,
        decoder: dict,
        bottleneck_dim: int = 64,
        covariance_width: int = 256,
        covariance_blocks: int = 2,
        covariance_outputs: int = 0,
        temperature: float = 20.0,
        learn_temperature: bool = False,
        loss: dict | None = None,
        objective_weight: float = 1.0,
        heatmap_evidence: bool = False,
        score_radius: float = 0.05,
        **kwargs: Any,
    ) -> None:
        if loss is None:
            loss = dict(type='KeypointMSELoss', use_target_weight=True, loss_weight=1000.0)
        super().__init__(in_channels, out_channels, loss=loss, decoder=decoder, **kwargs)
        for name, value in (('temperature', temperature), ('score_radius', score_radius)):
            if value <= 0:
                raise ValueError(f'{name} must be positive, got {value}')
        self.dim = 2 * out_channels
        self.objective_weight = objective_weight
        self.score_radius = score_radius
        self.taylor_provider: TaylorProvider | None = None
        log_temperature = torch.tensor(math.log(temperature))
        if learn_temperature:
            self.log_temperature = nn.Parameter(log_temperature)
        else:
            self.register_buffer('log_temperature', log_temperature, persistent=False)
        self.bottleneck = Bottleneck(in_channels, self._feature_size(), bottleneck_dim)
        self.bottleneck_dim = bottleneck_dim
        self.heatmap_evidence = heatmap_evidence
        self.covariance_branch = CovarianceBranch(
            bottleneck_dim,
            self.dim,
            covariance,
            covariance_width,
            covariance_blocks,
            evidence=STATISTICS * out_channels if heatmap_evidence else 0,
            outputs=covariance_outputs,
        )
        self.objective: Objective
        self._go_to(Phase(0, objective, covariance))

    def _feature_size(self) -> tuple[int, int]:
        """(h, w) of the backbone's map: each deconvolution doubles it, up to the heatmap."""
        doublings = sum(isinstance(m, nn.ConvTranspose2d) for m in self.deconv_layers.modules())
        width, height = self.decoder.heatmap_size
        if width % 2**doublings or height % 2**doublings:
            raise ValueError(
                f'heatmap_size {(width, height)} is not a multiple of {2**doublings}, which '
                f'{doublings} deconvolutions need'
            )
        return height // 2**doublings, width // 2**doublings

    @property
    def temperature(self) -> Tensor:
        """The softmax's temperature, a scalar."""
        return self.log_temperature.exp()

    @property
    def heatmap_decoder(self) -> nn.Sequential:
        """(B, C, h, w) → heatmaps (B, K, H, W); the layers keep their own names."""
        return nn.Sequential(self.deconv_layers, self.conv_layers, self.final_layer)

    @property
    def covariance(self) -> CovarianceParameterisation:
        """The parameterisation in force."""
        return self.covariance_branch.parameterisation

    def _train(self, phase: Phase) -> None:
        kept = phase.objective == self.phase.objective
        objective = self.objective if kept else MODELS.build(phase.objective)
        assert phase.covariance is not None
        objective.check(MODELS.build(phase.covariance), self.dim)
        self.covariance_branch.switch(phase.covariance)
        self.objective = objective.to(self.log_temperature.device)

    def forward(
        self, feats: Sequence[Tensor], dtype: torch.dtype = torch.float32
    ) -> PoseDistribution:
        """Feature maps, the last of which is F (B, C, h, w) → the distribution.

        ``dtype`` is the type that Σ is formed in: training takes float32, predictions float64.
        """
        features = feats[-1]
        z, lifted = self.bottleneck(features)
        heatmaps = super().forward((lifted,))
        with torch.autocast(device_type=features.device.type, enabled=False):
            mean = soft_argmax(heatmaps.float(), self.temperature).flatten(-2)
            z = z.detach().float()
            terms = self.taylor_terms(features, z)
            seen = None
            if self.heatmap_evidence:
                seen = map_statistics(heatmaps.detach().float()).flatten(1)
            covariance = self.covariance_branch(z, terms, dtype, seen)
        return PoseDistribution(heatmaps, mean, covariance)

    def taylor_terms(self, features: Tensor, z: Tensor) -> TaylorTerms | None:
        """Derivatives of the mean with respect to z, constants for the gradient.

        Shapes: features (B, C, h, w), z (B, m).
        """
        if self.covariance.taylor_order is None:
            return None
        if self.taylor_provider is not None:
            return self.taylor_provider(features, z)
        return soft_argmax_terms(
            self.heatmap_decoder,
            features.detach().float(),
            self.bottleneck.lift,
            z,
            self.temperature.item(),
            self.covariance.taylor_order,
        )

    def loss(
        self, feats: Sequence[Tensor], batch_data_samples: list, train_cfg: dict | None = None
    ) -> dict[str, Tensor]:
        """The heatmap term and the objective, averaged over the batch."""
        labels = PoseLabels.stacked(batch_data_samples, self.objective)
        predicted = self.forward(feats)
        per_sample = self.objective(
            predicted.mean, labels.target, predicted.covariance, labels.root, labels.mask
        )
        losses = dict(
            loss_heatmap=self.loss_module(predicted.heatmaps, labels.heatmaps, labels.weights),
            loss_objective=self.objective_weight * per_sample.mean(),
        )
        if (train_cfg or {}).get('compute_acc', True):
            losses['acc_pose'] = labels.accuracy(
                predicted.mean.detach(), max(self.decoder.heatmap_size)
            )
        return losses

    def predict(
        self, feats: Any, batch_data_samples: list, test_cfg: dict | None = None
    ) -> list | tuple[list, list]:
        """Instances with keypoints in input pixels and covariances in image pixels².

        Covariances are formed in float64 and stay there: exactly symmetric and positive definite,
        or the error names the sample.
        With ``flip_test``, feats holds the features of the images and of the mirrored images: see
            ``fuse_mirrored``. With ``flip_mode='heatmap'`` the mean is that of the averaged
            heatmaps: where the two disagree about which of two places a joint is at, it stays at
            one of them.
        Fields: keypoints (1, K, 2), keypoint_scores (1, K), keypoint_covariances (1, K, 2, 2),
            covariances (1, 2K, 2K), and of a Student-t degrees_of_freedom (1,);
        ``covariances`` holds the joints of ``output_keypoint_indices`` if that is set.
        """
        test_cfg = test_cfg or {}
        whole = test_cfg.get('output_heatmaps', False) or test_cfg.get('flip_mode') == 'heatmap'
        if test_cfg.get('flip_test', False):
            heatmaps, predicted = self._fused(feats, batch_data_samples, whole)
            if test_cfg.get('flip_mode') == 'heatmap':
                mean = soft_argmax(heatmaps.float(), self.temperature).flatten(-2)
                predicted = replace(predicted, mean=mean.to(predicted.mean))
        else:
            heatmaps, predicted = self._moments(feats)
        instances = to_instances(
            predicted,
            batch_data_samples,
            self.decoder,
            self.score_radius,
            test_cfg.get('output_keypoint_indices'),
        )
        if test_cfg.get('output_heatmaps', False):
            return instances, [PixelData(heatmaps=heatmap) for heatmap in heatmaps.detach()]
        return instances

    def _fused(
        self, feats: Sequence[Sequence[Tensor]], samples: list, whole: bool
    ) -> tuple[Tensor, Distribution]:
        """Heatmaps, fused if ``whole``, and predictions of the images and their mirror images.

        Both go through the head as one batch of 2B, which costs less than two of B.
        """
        straight, mirrored = feats[0][-1], feats[1][-1]
        count = len(straight)
        try:
            heatmaps, both = self._moments((torch.cat([straight, mirrored]),))
        except PredictionError:
            for view in feats:  # the error of a view names the sample by its place in the batch
                self._moments(view)
            raise
        mirror = samples[0].metainfo['flip_indices'], self.decoder.mirror_offset
        predicted = fuse_mirrored(
            both.select(slice(count)), both.select(slice(count, None)), *mirror
        )
        if whole:
            heatmaps = fuse_heatmaps(heatmaps[:count], heatmaps[count:], *mirror)
        return heatmaps, predicted

    def _moments(self, feats: Sequence[Tensor]) -> tuple[Tensor, Distribution]:
        """Heatmaps (B, K, H, W), and the predictions of B poses, Σ in float64."""
        with unusable_named():
            found = self.forward(feats, torch.float64)
            sigma = found.covariance
            return found.heatmaps, Distribution(
                found.mean, sigma.matrix, sigma.degrees_of_freedom, block=2
            )
