"""Corrections without which the OpenMMLab releases do not import on a current Python stack.

``import hetpose`` sees to it that this module is loaded before mmpose. Each shim names the
upstream defect that it answers and does nothing where the real part works (a CUDA torchvision, a
compiled mmcv, an older albumentations).
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.metadata
import importlib.util
import os
import sys
import types
import warnings
from collections.abc import Callable
from typing import Any

_kept_alive: list[Any] = []  # torch unregisters an operator library when it is collected


class MissingOpError(RuntimeError):
    """A compiled mmcv operator was called, and only mmcv-lite is installed."""


def patch_torchvision() -> None:
    """Declare torchvision's ``nms`` operators where its compiled library does not load.

    Defect: the x86-64 wheel of torchvision is a CUDA build; with a CPU torch its library is
    skipped, and its Python part then stops at ``operator torchvision::nms does not exist``.
    Calling a compiled operator still raises torchvision's own error.
    """
    import torch

    try:
        import torchvision  # noqa: F401
    except ModuleNotFoundError:
        return
    except RuntimeError as error:
        if 'torchvision::' not in str(error):
            raise
    else:
        return
    for name in [name for name in sys.modules if name.partition('.')[0] == 'torchvision']:
        del sys.modules[name]
    library = torch.library.Library('torchvision', 'FRAGMENT')
    for op in ('nms', 'qnms'):
        library.define(f'{op}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor')
    _kept_alive.append(library)
    import torchvision  # noqa: F401


def patch_mmcv_ops() -> None:
    """Put a placeholder where mmcv's compiled operators are missing.

    Defect: mmpose 1.3.2 imports ``mmcv.ops`` for ED-Pose whether it is used or not, and mmcv-lite
    has no ``mmcv._ext``. The placeholder's functions raise when they are called; top-down pose
    calls none of them.
    """
    if 'mmcv._ext' in sys.modules or importlib.util.find_spec('mmcv._ext') is not None:
        return

    def missing_op(name: str) -> Any:
        if name.startswith('__'):
            raise AttributeError(name)

        def op(*args: Any, **kwargs: Any) -> None:
            raise MissingOpError(
                f'mmcv operator "{name}" is compiled, and mmcv-lite is installed. Top-down pose '
                'needs no such operator; for a model that does: '
                'pip uninstall mmcv-lite && pip install mmcv==2.1.0'
            )

        return op

    extension = types.ModuleType('mmcv._ext', 'Stands in for the compiled operators of mmcv.')
    extension.__getattr__ = missing_op  # type: ignore[method-assign]
    # Without a loader, mmengine's mmcv_full_available() keeps telling the truth.
    extension.__spec__ = importlib.machinery.ModuleSpec('mmcv._ext', loader=None)
    sys.modules['mmcv._ext'] = extension


def provide_mmcv_op(name: str, function: Callable[..., Any]) -> None:
    """Give mmcv an operator in plain torch where its compiled ones are missing."""
    extension = sys.modules.get('mmcv._ext')
    if extension is not None and extension.__spec__ is not None and not extension.__spec__.loader:
        setattr(extension, name, function)


def patch_checkpoint_loading() -> None:
    """Load checkpoints as weights only, whoever asks and whatever torch's default is.

    Defects: mmengine 0.10 calls ``torch.load`` without saying whether a file may run code, so the
    answer depends on torch (before 2.6 it may; from an address it always may); and its checkpoints
    carry a message hub of HistoryBuffer objects and numpy values, which torch refuses unless they
    are allowed. Exactly these are, through stand-ins that check what they build.
    """
    import contextlib
    import functools

    import torch
    from mmengine.runner import checkpoint

    from hetpose.unpickling import safe_globals

    if hasattr(torch.serialization, 'add_safe_globals'):
        with contextlib.suppress(TypeError, AttributeError):  # torch 2.4 and 2.5 take no names
            torch.serialization.add_safe_globals(safe_globals())
    if isinstance(checkpoint.torch, _TorchOfCheckpoints):
        return
    checkpoint.torch = _TorchOfCheckpoints('torch')
    checkpoint.load_url = functools.partial(checkpoint.load_url, weights_only=True)


class _TorchOfCheckpoints(types.ModuleType):
    """torch as mmengine's checkpoint module sees it: ``load`` reads weights only."""

    def __getattr__(self, name: str) -> Any:
        import torch

        return getattr(torch, name)

    @staticmethod
    def load(*args: Any, **kwargs: Any) -> Any:
        import torch

        return torch.load(*args, **{**kwargs, 'weights_only': True})


def patch_file_backend() -> None:
    """Make mmengine write local files atomically.

    Defect: mmengine 0.10 writes a checkpoint in place, and then the pointer to the last one; a run
    that is killed meanwhile leaves half a file, and cannot resume.
    """
    from mmengine.fileio import LocalBackend, register_backend

    from hetpose.fileio import atomic_path

    class AtomicLocalBackend(LocalBackend):
        """mmengine's local files, whole or absent."""

        def put(self, obj: Any, filepath: Any) -> None:
            with atomic_path(filepath) as temporary:
                super().put(obj, temporary)

        def put_text(self, obj: str, filepath: Any, encoding: str = 'utf-8') -> None:
            with atomic_path(filepath) as temporary:
                super().put_text(obj, temporary, encoding)

    register_backend('local', AtomicLocalBackend, prefixes='', force=True)


def _major_version(package: str) -> int:
    """The first number of an installed version, 0 if it is not installed."""
    try:
        return int(importlib.metadata.version(package).partition('.')[0])
    except importlib.metadata.PackageNotFoundError:
        return 0


def patch_mmpretrain() -> None:
    """Leave mmpretrain's multimodal models out.

    Defect: mmpretrain 1.2.0 imports them when transformers is installed, and they do not import
    with transformers 5.
    """
    if importlib.util.find_spec('mmpretrain') is None or _major_version('transformers') < 5:
        return
    import mmpretrain.utils.dependency as dependency

    dependency.WITH_MULTIMODAL = False


def patch_albumentations() -> None:
    """Give mmpose the albumentations module that it reads, and keep the import off the network.

    Defect: mmpose 1.3.2's Albumentation transform reads
    ``albumentations.augmentations.transforms``, which albumentations 2.0.7 moved;
    albumentations asks the network for a newer version of itself at import.
    """
    os.environ.setdefault('NO_ALBUMENTATIONS_UPDATE', '1')
    try:
        import albumentations.augmentations as augmentations
    except ModuleNotFoundError:
        return
    if not hasattr(augmentations, 'transforms'):
        from albumentations.augmentations.pixel import transforms

        augmentations.transforms = transforms


def replace_xtcocotools() -> None:
    """Put ``hetpose.xtcoco`` in the place of xtcocotools, installed or not.

    Defect: mmpose 1.3.2 imports xtcocotools, whose last release has no wheel for Python 3.12 and
    is built for numpy 1.
    """
    from hetpose import xtcoco

    sys.modules.update(xtcoco.modules())


def announce_components() -> None:
    """Make the first look-up in a registry register the components of hetpose.

    ``import hetpose`` is light. Where a script has imported hetpose first, a config's
    ``custom_imports`` therefore does nothing, and the components are still unknown. mmpose's own
    components are imported in the same place.
    """
    from mmengine.registry import Registry

    original = Registry.import_from_location
    if getattr(original, 'announces', False):
        return

    def import_from_location(self: Registry) -> None:
        original(self)
        if self.scope in ('mmengine', 'mmpose') and 'hetpose.registration' not in sys.modules:
            importlib.import_module('hetpose.registration')

    import_from_location.announces = True  # type: ignore[attr-defined]
    Registry.import_from_location = import_from_location


def silence_known_deprecations() -> None:
    """Filter the deprecation warnings that the stack raises on torch 2.13, and no others.

    Each filter names its message, so that a new warning is still seen.
    """
    known = (
        (FutureWarning, r'.*torch\.cuda\.amp\.GradScaler.*'),
        (FutureWarning, r'.*torch\.cuda\.amp\.autocast.*'),
        (FutureWarning, r'.*broadcast_buffers.*'),
        (UserWarning, r'.*pkg_resources is deprecated.*'),
        (DeprecationWarning, r'.*pkg_resources.*'),
    )
    for category, message in known:
        warnings.filterwarnings('ignore', message=message, category=category)


def silence_file_client() -> None:
    """Drop mmengine's warnings about its own use of its own deprecated FileClient.

    Defect: the checkpoint hook of mmengine 0.10 calls FileClient whatever the settings, which then
    logs two deprecation warnings that no user can act on.
    """
    import mmengine.fileio.file_client as file_client

    if getattr(file_client.print_log, 'quiet', False):
        return
    original = file_client.print_log

    def print_log(msg: str, *args: Any, **kwargs: Any) -> None:
        if 'deprecated in future' not in msg:
            original(msg, *args, **kwargs)

    print_log.quiet = True  # type: ignore[attr-defined]
    file_client.print_log = print_log


def apply() -> None:
    """Apply every shim. Safe to call again."""
    silence_known_deprecations()
    patch_torchvision()
    patch_mmcv_ops()
    patch_checkpoint_loading()
    patch_file_backend()
    silence_file_client()
    patch_mmpretrain()
    patch_albumentations()
    replace_xtcocotools()
    announce_components()


apply()
