"""From a published config and checkpoint to the same model with the covariance of its errors."""

from __future__ import annotations

import copy
from dataclasses import asdict, replace
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
from hetpose.apis.fit.forms import (
    GAUSSIAN,
    NAMES,
    STUDENT,
    FitSettings,
    Forms,
    fit_forms,
    predicted,
)
from hetpose.apis.fit.report import FitReport, FormScore, in_pixels
from hetpose.apis.fit.training import check_enough
from hetpose.apis.loading import build_network, find_device, load_network
from hetpose.apis.saving import write_model
from hetpose.engine import launch
from hetpose.errors import UserError

PARTS = {'fit': 0.7, 'validation': 0.1, 'test': 0.2}
CHECKED = 16  # people whose keypoints are compared with the unwrapped model's


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
    labels = labelled_dataset(config, annotations, images)
    foreign = load_network(config, checkpoint, 'cpu')[0]
    joints = _count_joints(config)
    made = _wrapped(config, labels, joints, settings)
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
    features = model.head.errors.projection.shape[1]
    forms = fit_forms(features, parts['fit'], parts['validation'], out / 'fit', settings, progress)
    made = _wrapped(config, labels, joints, settings, forms.kept)
    model.head.errors = copy.deepcopy(forms.model).to(next(model.parameters()).device)
    dataset = build_dataset(labels)
    report = _judge(model, dataset, parts, forms, settings, trained_on(config, labels))
    report = replace(report, unchanged=_largest_difference(foreign, model, dataset, settings))
    write_model(made, model, dataset.metainfo, out)
    report.write(out)
    return report


def _wrapped(
    config: Config, labels: Any, joints: int, settings: FitSettings, tails: str = GAUSSIAN
) -> Config:
    return wrapped_config(
        config,
        settings.covariance(joints, tails),
        settings.objective(tails),
        labels,
        components=settings.components,
        width=settings.width,
    )


def _count_joints(config: Config) -> int:
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


def _judge(
    model: Any,
    dataset: Any,
    parts: dict[str, Errors],
    forms: Forms,
    settings: FitSettings,
    flattered: bool,
) -> FitReport:
    """Scores of every form, and the recalibration, of people that nothing was fitted on."""
    test = parts['test']
    names = _joint_names(dataset, test.mask.shape[1])
    found, held = forms.predict(test), forms.predict(parts['validation'])
    weights = weights_fingerprint(model)
    labelled = [
        Predictions(
            in_pixels(part, predicted(forms.model, part)),
            names,
            'pixels',
            'config',
            weights,
            torch.as_tensor(np.unique(part.image, return_inverse=True)[1]),
        )
        for part in (test, parts['validation'])
    ]
    images = {name: len(np.unique(part.image)) for name, part in parts.items()}
    # Conformal ellipsoids need images of their own.
    calibration = calibrate(
        *labelled,
        conformal=settings.conformal if images['validation'] > 1 else None,
        level=settings.ellipses,
        seed=settings.training.seed,
    )
    everyone = np.concatenate([part.mask for part in parts.values()])
    nu = found[NAMES[STUDENT]].degrees_of_freedom
    assert nu is not None  # of a Student-t
    return FitReport(
        people={name: len(part) for name, part in parts.items()},
        images=images,
        forms={name: FormScore.of(form, held[name]) for name, form in found.items()},
        kept=forms.kept,
        validation=forms.validation,
        degrees_of_freedom=(nu.min().item(), nu.median().item(), nu.max().item()),
        calibration=calibration,
        unchanged=float('nan'),
        flattered=flattered,
        unlabelled=tuple(
            n for n, seen in zip(names, np.any(everyone, axis=0), strict=True) if not seen
        ),
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
