"""From a published config and checkpoint to the same model with the covariance of its errors."""

from __future__ import annotations

import copy
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from mmengine.config import Config
from mmengine.dataset import pseudo_collate
from mmengine.dist import is_distributed
from mmpose.registry import MODELS
from torch.utils.data import DataLoader, Subset

from hetpose.apis.calibration.calibrate import calibrate
from hetpose.apis.calibration.predictions import Predictions
from hetpose.apis.calibration.recalibration import weights_fingerprint
from hetpose.apis.fit.cache import Errors, build_dataset, observe_people
from hetpose.apis.fit.foreign import (
    check_foreign,
    labelled_dataset,
    trained_on,
    wrapped_config,
)
from hetpose.apis.fit.report import FitReport, FormScore, in_pixels
from hetpose.apis.fit.training import (
    PRIOR,
    TrainingSettings,
    check_enough,
    constant_covariance,
    diagonal_twin,
    prepare,
    rows,
    train,
)
from hetpose.apis.loading import build_network, find_device, load_network
from hetpose.apis.saving import write_model
from hetpose.engine import launch
from hetpose.errors import UserError
from hetpose.models.heads.error_model import ErrorModel, likelihood

PARTS = {'fit': 0.7, 'validation': 0.1, 'test': 0.2}
MANY_JOINTS = 40  # from here on a full factor has more outputs than data to fit them
CHECKED = 64  # people whose keypoints are compared with the unwrapped model's


@dataclass(frozen=True)
class FitSettings:
    """What a user may choose.

    rank: of a low-rank covariance; None takes a full factor up to 40 joints and rank 8 beyond.
    tails: 'gaussian' or 'student'.
    floor: smallest variance, in squared per cent of the longer side of the crop.
    conformal: level of the conformal ellipsoids.
    """

    rank: int | None = None
    tails: str = 'gaussian'
    floor: float = 1e-4
    prior: float = PRIOR
    components: int = 48
    width: int = 128
    conformal: float = 0.9
    batch_size: int = 32
    workers: int = 0
    training: TrainingSettings = TrainingSettings()

    def covariance(self, joints: int) -> dict[str, Any]:
        """Config of the covariance of K joints."""
        rank = 8 if self.rank is None and joints > MANY_JOINTS else self.rank
        shape: dict[str, Any] = dict(type='AnchoredCovariance', floor=self.floor)
        if rank is not None:
            shape = dict(type='LowRankAnchoredCovariance', rank=rank, floor=self.floor)
        return dict(type='StudentCovariance', scale=shape) if self.tails == 'student' else shape

    def objective(self) -> dict[str, Any]:
        """Config of the objective."""
        if self.tails == 'student':
            return dict(type='StudentNLLObjective', prior=self.prior)
        return dict(type='AnchoredNLLObjective', prior=self.prior)


def fit_covariance(
    config: str | Path | Config,
    checkpoint: str | Path,
    out: str | Path,
    annotations: str | Path | None = None,
    images: str | Path | None = None,
    *,
    settings: FitSettings | None = None,
    device: str | None = None,
    options: dict[str, Any] | list[str] | None = None,
    launcher: str = 'none',
    progress: bool = True,
) -> FitReport | None:
    """Fit the covariance of a published model's errors, without changing the model.

    Args:
        config, checkpoint: of a top-down model of mmpose.
        out: folder that receives config.py and checkpoint.pth, which all tools take, report.md,
            calibration/ and the cache of the frozen model's pass.
        annotations, images: labels in the format of the config's own data and the folder of their
            images; None takes the config's val set.
        settings: see ``FitSettings``.
        device: 'cpu', 'cuda', ...; None takes a GPU where there is one.
        options: changes to the config, by dotted key.
        launcher: 'pytorch' where torchrun started several processes, which share the pass.

    Returns:
        The report; None in the other processes of a distributed run.
    """
    settings, out = settings or FitSettings(), Path(out)
    if not isinstance(config, Config):
        config = launch.load_config(config, options)
    check_foreign(config)
    launch.use_launcher(config, launcher)
    launch.join_processes(config)
    torch.manual_seed(settings.training.seed)  # of the weights that the error models start with
    labels = labelled_dataset(config, annotations, images)
    foreign = load_network(config, checkpoint, 'cpu')[0]
    joints = _count_joints(config, settings)
    made = wrapped_config(
        config,
        settings.covariance(joints),
        settings.objective(),
        labels,
        components=settings.components,
        width=settings.width,
    )
    model = build_network(made)
    model.load_state_dict(foreign.state_dict(), strict=False)
    for network in (model, foreign):
        network.to(find_device(device))
    errors = observe_people(
        model, labels, out / 'cache', settings.batch_size, settings.workers, progress
    )
    if is_distributed():  # the rest is seconds of one process
        torch.distributed.destroy_process_group()
    if errors is None:
        return None
    parts = split_by_image(errors, settings.training.seed)
    check_enough(parts['fit'])
    forms = _fit_forms(model.head.errors, parts, out, settings, progress)
    dataset = build_dataset(labels)
    report = _judge(model, dataset, parts, forms, settings, trained_on(config, labels))
    report = replace(report, unchanged=_largest_difference(foreign, model, dataset, settings))
    write_model(made, model, dataset.metainfo, out)
    report.write(out)
    return report


def _count_joints(config: Config, settings: FitSettings) -> int:
    """K, from a wrapper that is thrown away."""
    head = dict(
        type='PosthocCovarianceHead',
        head=copy.deepcopy(config.model.head),
        covariance=dict(type='ConstantCovariance'),
        objective=dict(type='MSEObjective'),
        components=1,
    )
    return MODELS.build(head).joints


def split_by_image(errors: Errors, seed: int) -> dict[str, Errors]:
    """People of the fit, the validation and the test; those of one image stay together."""
    images = np.unique(errors.image)
    order = np.random.default_rng(seed).permutation(len(images))
    edges = np.cumsum([round(share * len(images)) for share in list(PARTS.values())[:-1]])
    groups = dict(zip(PARTS, np.split(images[order], edges), strict=True))
    parts = {name: errors.select(np.isin(errors.image, group)) for name, group in groups.items()}
    for name, part in parts.items():
        if len(part) < 2:
            raise UserError(
                f'{len(errors)} labelled people in {len(images)} images are too few: {len(part)} '
                f'are left for the {name}'
            )
    return parts


def _fit_forms(
    errors: ErrorModel,
    parts: dict[str, Errors],
    out: Path,
    settings: FitSettings,
    progress: bool,
) -> dict[str, tuple[torch.Tensor, torch.Tensor | None]]:
    """Σ of the test people in every form, (d, d) or (N, d, d); NLL where it is not Gaussian."""
    fit, validation, test = parts['fit'], parts['validation'], parts['test']
    device = errors.projection.device
    errors.cpu()
    constant = constant_covariance(fit)
    twin = diagonal_twin(errors, settings.width)
    prepare(twin, fit, diagonal=True)
    train(twin, fit, validation, out / 'fit', settings.training, 'diagonal', progress)
    prepare(errors, fit)
    train(errors, fit, validation, out / 'fit', settings.training, 'full', progress)
    forms = {
        'one constant, diagonal': (torch.diag(constant.diagonal()), None),
        'one constant, full': (constant, None),
        'varying, diagonal': predicted(twin, test),
        'varying, full (ours)': predicted(errors, test),
    }
    errors.to(device)
    return forms


@torch.no_grad()
def predicted(model: ErrorModel, errors: Errors) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Σ (N, d, d) of people in float64, and their NLL (N,) where it is not a Gaussian's."""
    people = rows(model, errors).arrays
    covariance = model.eval().distribution(people['evidence'], torch.float64)
    if covariance.degrees_of_freedom is None:
        return covariance.matrix, None
    return covariance.matrix, likelihood(covariance, people['residual'].double(), people['mask'])


def _judge(
    model: Any,
    dataset: Any,
    parts: dict[str, Errors],
    forms: dict[str, tuple[torch.Tensor, torch.Tensor | None]],
    settings: FitSettings,
    flattered: bool,
) -> FitReport:
    """Scores of every form, and the recalibration, of people that nothing was fitted on."""
    test, validation = parts['test'], parts['validation']
    names = _joint_names(dataset, test.mask.shape[1])
    weights = weights_fingerprint(model)
    device = next(model.parameters()).device
    errors = model.head.errors.cpu()
    labelled = [
        Predictions(
            in_pixels(part, predicted(errors, part)[0]), names, 'pixels', 'config', weights
        )
        for part in (test, validation)
    ]
    errors.to(device)
    calibration = calibrate(
        labelled[0], labelled[1], conformal=settings.conformal, seed=settings.training.seed
    )
    scores = {name: FormScore.of(sigma, test, nll) for name, (sigma, nll) in forms.items()}
    everyone = np.concatenate([part.mask for part in parts.values()])
    return FitReport(
        people={name: len(part) for name, part in parts.items()},
        images={name: len(np.unique(part.image)) for name, part in parts.items()},
        forms=scores,
        calibration=calibration,
        unchanged=float('nan'),
        flattered=flattered,
        unlabelled=tuple(n for n, seen in zip(names, everyone.any(0), strict=True) if not seen),
        settings=asdict(settings),
    )


def _joint_names(dataset: Any, joints: int) -> tuple[str, ...]:
    known = dataset.metainfo.get('keypoint_id2name', {})
    return tuple(str(known.get(k, k)) for k in range(joints))


@torch.no_grad()
def _largest_difference(foreign: Any, model: Any, dataset: Any, settings: FitSettings) -> float:
    """The largest difference between the keypoints and scores of the two models."""
    people = Subset(dataset, range(min(CHECKED, len(dataset))))
    largest = 0.0
    for batch in DataLoader(people, settings.batch_size, collate_fn=pseudo_collate):
        theirs = foreign.test_step(copy.deepcopy(batch))
        for one, other in zip(theirs, model.test_step(batch), strict=True):
            for name in ('keypoints', 'keypoint_scores'):
                gap = np.abs(
                    np.asarray(one.pred_instances[name], np.float64)
                    - np.asarray(other.pred_instances[name], np.float64)
                )
                largest = max(largest, float(gap.max()))
    return largest
