"""The pseudo-label file: Σ̃ per sample, with what it was made from.

A .npz with, for N samples of K joints,

- ids (N,): ``<dataset name>/<annotation id>``
- digests (N,) uint64: a hash of each sample's keypoints and visibility, so that other labels under
  the same id are noticed
- roots (N, d(d+1)/2) float32, d = 2K: the lower triangle of the symmetric root of Σ̃ in IMAGE
  pixels, row by row. Image pixels need no crop to be read, and follow every transform as
  keypoints do.
- joints (K,): names
- settings: JSON with the representation, k, the input size and a fingerprint of the data
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hetpose.errors import UserError
from hetpose.fileio import atomic_path

_FIELDS = ('ids', 'digests', 'roots', 'joints', 'settings')


def sample_id(info: dict[str, Any]) -> str:
    """The name under which a sample's Σ̃ is kept."""
    return f'{info["dataset_name"]}/{info["id"]}'


def label_digest(info: dict[str, Any]) -> int:
    """64 bits that change with the sample's annotated keypoints (1, K, 2) or visibility (1, K)."""
    visible = np.asarray(info['keypoints_visible'])
    present = (visible[..., 0] if visible.ndim == 3 else visible)[0, :, None] > 0
    # Hundredths of a pixel: what survives a text file, and all that matters.
    points = np.where(present, np.round(np.asarray(info['keypoints'])[0, :, :2] * 100), 0)
    payload = points.astype(np.int64).tobytes() + present.tobytes()
    return int.from_bytes(hashlib.blake2b(payload, digest_size=8).digest(), 'little')


def pack_symmetric(matrices: np.ndarray) -> np.ndarray:
    """Lower triangles (N, d(d+1)/2) of symmetric matrices (N, d, d)."""
    rows, columns = np.tril_indices(matrices.shape[-1])
    return np.ascontiguousarray(matrices[:, rows, columns], np.float32)


def unpack_symmetric(packed: np.ndarray, dim: int) -> np.ndarray:
    """The symmetric matrix (d, d) of one packed lower triangle (d(d+1)/2,)."""
    matrix = np.zeros((dim, dim), np.float32)
    rows, columns = np.tril_indices(dim)
    matrix[rows, columns] = packed
    matrix[columns, rows] = packed
    return matrix


def fingerprint(ids: list[str], digests: np.ndarray) -> str:
    """A hash of the whole data set, whatever the order of its samples."""
    order = np.argsort(np.asarray(ids))
    content = '\n'.join(f'{ids[i]} {int(digests[i]):016x}' for i in order)
    return hashlib.sha256(content.encode()).hexdigest()


@dataclass(frozen=True)
class PseudoLabelRecipe:
    """The settings that make pseudo-labels.

    ``dimension`` of the PCA; ``k`` neighbours, None for 10·2K; ``pixels``, the side of the
    thumbnail that represents a sample where no checkpoint is given; the rest as in
    ``ops.neighbours.pseudo_covariances``.
    """

    dimension: int = 32
    k: int | None = None
    pixels: int = 32
    squared_distance: bool = False
    local_linear: bool = False

    def __post_init__(self) -> None:
        for name in ('dimension', 'pixels'):
            if getattr(self, name) < 1:
                raise ValueError(f'{name} must be at least 1, got {getattr(self, name)}')
        if self.k is not None and self.k < 2:
            raise ValueError(f'k must be at least 2, got {self.k}')


@dataclass(frozen=True)
class PseudoLabelFile:
    """Pseudo-labels in memory. ``roots`` (N, d(d+1)/2)."""

    path: Path
    ids: list[str]
    digests: np.ndarray
    roots: np.ndarray
    joints: list[str]
    settings: dict[str, Any]

    def __post_init__(self) -> None:
        object.__setattr__(self, '_rows', {key: row for row, key in enumerate(self.ids)})
        object.__setattr__(self, '_checked', set())  # rows whose labels were found to agree

    def write(self) -> None:
        """Write the file whole or not at all."""
        with atomic_path(self.path) as temporary:
            np.savez(
                temporary,
                ids=np.asarray(self.ids),
                digests=self.digests,
                roots=self.roots,
                joints=np.asarray(self.joints),
                settings=np.asarray(json.dumps(self.settings)),
            )

    @classmethod
    def read(cls, path: str | Path) -> PseudoLabelFile:
        """Read a file, or raise a UserError that names what is wrong with it."""
        path = Path(path)
        if not path.is_file():
            raise UserError(
                f'pseudo-label file not found: {path} '
                '(make it with: hetpose pseudo-labels CONFIG [CHECKPOINT] --out FILE)'
            )
        try:
            with np.load(path, allow_pickle=False) as archive:
                fields = {name: archive[name] for name in _FIELDS}
            settings = json.loads(str(fields['settings']))
        except Exception as error:  # numpy's reader raises many kinds for a damaged archive
            raise UserError(f'not a pseudo-label file: {path} ({error})') from error
        joints, ids = fields['joints'].tolist(), fields['ids'].tolist()
        dim = 2 * len(joints)
        if fields['roots'].shape != (len(ids), dim * (dim + 1) // 2):
            raise UserError(f'damaged pseudo-label file: {path} (shape {fields["roots"].shape})')
        return cls(path, ids, fields['digests'], fields['roots'], joints, settings)

    def check_joints(self, joints: list[str]) -> None:
        """Raise UserError unless the file was made for these joints, in this order."""
        if joints != self.joints:
            raise UserError(
                f'{self.path} was made for other joints: {len(self.joints)} joints '
                f'({self.joints[0]}, ...), the data has {len(joints)} ({joints[0]}, ...)'
            )

    def check_recipe(self, recipe: dict[str, Any]) -> None:
        """Raise UserError where the file was made with another value than ``recipe`` asks for."""
        made = self.settings.get('recipe', {})
        chosen = self.settings.get('chosen', ())  # on the command line, against the config
        for name, value in recipe.items():
            if name in made and made[name] != value and name not in chosen:
                raise UserError(
                    f'{self.path} was made with {name}={made[name]}, the config asks for '
                    f'{name}={value}; make it again or change recipe'
                )

    def root(self, info: dict[str, Any]) -> np.ndarray | None:
        """The symmetric root (2K, 2K) of a sample's Σ̃ in image pixels.

        None where the sample's image could not be read when the file was made.
        """
        key = sample_id(info)
        row = self._rows.get(key)  # type: ignore[attr-defined]
        if row is None and key in self.settings.get('unreadable', ()):
            return None
        if row is None:
            raise UserError(
                f'{self.path} was made for other data: it has no sample {key} '
                f'(it has {len(self.ids)}, the first is {self.ids[0] if self.ids else "none"})'
            )
        checked: set[int] = self._checked  # type: ignore[attr-defined]
        if row not in checked:  # once for each process: a hash at every fetch is not free
            if int(self.digests[row]) != label_digest(info):
                raise UserError(
                    f'{self.path} was made for other data: the keypoints of {key} differ; make it '
                    'again'
                )
            checked.add(row)
        return unpack_symmetric(self.roots[row], 2 * len(self.joints))
