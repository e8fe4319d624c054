"""A pipeline that would leave a stale Σ is refused when it is built."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from hetpose.errors import UserError

# Transforms of mmcv and mmpose that move no keypoint. Exact types: a subclass may do more than
# its parent.
_STATIONARY = {
    'mmcv.transforms': ('LoadImageFromFile', 'Normalize', 'RandomGrayscale', 'ToTensor'),
    'mmpose.datasets.transforms': (
        'LoadImage',
        'GetBBoxCenterScale',
        'RandomHalfBody',
        'RandomBBoxTransform',
        'PhotometricDistortion',
        'YOLOXHSVRandomAug',
        'GenerateTarget',
        'PackPoseInputs',
    ),
}
_INSTEAD = {
    'RandomFlip': 'CovarianceRandomFlip',
    'HandRandomFlip': 'CovarianceRandomFlip',
    'TopdownAffine': 'CovarianceTopdownAffine',
    'Albumentation': 'CovarianceRandomAffine',
}
_STAGES = ('image', 'crop', 'input')


def _stationary_types() -> set[type]:
    import mmcv.transforms
    import mmpose.datasets.transforms

    modules = {module.__name__: module for module in (mmcv.transforms, mmpose.datasets.transforms)}
    return {
        getattr(modules[module], name) for module, names in _STATIONARY.items() for name in names
    }


def _flatten(transforms: Iterable[Any]) -> Iterator[Any]:
    """The transforms, with those inside Compose, RandomApply and RandomChoice in their place."""
    from mmcv.transforms import Compose, RandomApply, RandomChoice
    from mmengine.dataset import Compose as PipelineCompose

    for transform in transforms:
        if isinstance(transform, Compose | PipelineCompose | RandomApply | RandomChoice):
            inner = transform.transforms
            yield from _flatten([inner] if callable(inner) else inner)
        else:
            yield transform


def _is_pixel_level(transform: Any) -> bool:
    """Whether an mmpose Albumentation holds nothing that moves pixels."""
    import albumentations
    from mmpose.datasets.transforms import Albumentation

    if type(transform) is not Albumentation:
        return False

    def leaves(composed: Any) -> Iterator[Any]:
        inner = getattr(composed, 'transforms', None)
        if inner is None:
            yield composed
        else:
            for item in inner:
                yield from leaves(item)

    pixel_level = albumentations.ImageOnlyTransform
    return all(isinstance(leaf, pixel_level) for leaf in leaves(transform.aug))


def check_pipeline(transforms: Iterable[Any], owner: str = 'pipeline') -> None:
    """Raise UserError unless every transform is known to carry Σ along or to move nothing.

    A transform of your own joins by the class attribute ``covariance_safe = True``; the order
    image space → crop → network-input space is checked through ``covariance_stage``.
    """
    stationary = _stationary_types()
    stage = _STAGES[0]
    for transform in _flatten(transforms):
        kind = type(transform)
        if not (
            kind in stationary
            or kind.__dict__.get('covariance_safe', False)
            or _is_pixel_level(transform)
        ):
            name = kind.__name__
            hint = _INSTEAD.get(name)
            advice = f'use {hint}' if hint else 'if it moves no keypoint, give it covariance_safe'
            raise UserError(f'{owner}: {name} would leave the covariance behind; {advice}')
        own = getattr(transform, 'covariance_stage', None)
        if own is None:
            continue
        _check_order(kind.__name__, own, stage, owner)
        stage = 'input' if own == 'crop' else own


def _check_order(name: str, own: str, stage: str, owner: str) -> None:
    """Image space comes before the crop, network-input space after it, and there is one crop."""
    if own in ('image', 'crop') and stage == 'input':
        raise UserError(f'{owner}: {name} belongs before the top-down crop, and comes after it')
    if own == 'input' and stage != 'input':
        raise UserError(f'{owner}: {name} belongs after CovarianceTopdownAffine')
