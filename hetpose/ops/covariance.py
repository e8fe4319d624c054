"""One covariance matrix and the views that objectives read from it.

Axes: d targets, m columns of a factor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import torch
from torch import Tensor

from hetpose.ops import student
from hetpose.ops.gaussian import negative_log_likelihood
from hetpose.ops.spd import safe_cholesky, symmetric_sqrt

View = Tensor | Callable[[], Tensor]


@contextmanager
def _without_autocast() -> Iterator[None]:
    with ExitStack() as stack:
        for device in ('cpu', 'cuda') if torch.cuda.is_available() else ('cpu',):
            stack.enter_context(torch.autocast(device, enabled=False))
        yield


class Covariance:
    """Views of one Σ, each of which is computed from the given ones when it is first read.

    A view is given as a tensor or as a function that returns it, so that a maker can name a cheap
    route that may never be taken. At least one of ``matrix``, ``factor`` and ``scale_tril`` is
    needed, because they determine Σ.

    Args:
        matrix: Σ, (..., d, d).
        factor: F with F Fᵀ = Σ, (..., d, m), rectangular allowed.
        root: what the Wasserstein bound compares with the symmetric root of a target, (..., d, d).
            It may leave out a constant variance floor, which shifts that bound by a constant only.
        scale_tril: lower Cholesky factor, (..., d, d).
        variances: diagonal of Σ, (..., d).
        anchor: the covariance for all inputs that Σ varies around, (d, d), if there is one.

    Attributes:
        degrees_of_freedom: ν (...) > 2 of a Student-t that Σ is the covariance of; None for a
            Gaussian.
    """

    degrees_of_freedom: Tensor | None = None
    _scale: Covariance | None = None

    def __init__(
        self,
        *,
        matrix: View | None = None,
        factor: View | None = None,
        root: View | None = None,
        scale_tril: View | None = None,
        variances: View | None = None,
        anchor: Tensor | None = None,
    ) -> None:
        if matrix is None and factor is None and scale_tril is None:
            raise ValueError('give one of matrix, factor and scale_tril')
        given: dict[str, View | None] = {
            'matrix': matrix,
            'factor': factor,
            'root': root,
            'scale_tril': scale_tril,
            'variances': variances,
        }
        self._views = {name: view for name, view in given.items() if view is not None}
        self.anchor = anchor

    @classmethod
    def of_student(cls, scale: Covariance, degrees_of_freedom: Tensor) -> Covariance:
        """Σ = ν/(ν − 2)·S of a Student-t with scale S, (..., d, d), and ν > 2, (...)."""
        made = scale.times(student.unchecked_variance_ratio(degrees_of_freedom))
        made.degrees_of_freedom, made._scale = degrees_of_freedom, scale
        return made

    def times(self, ratio: Tensor) -> Covariance:
        """The covariance ratio·Σ, ratio > 0 (...); its anchor follows one ratio for all."""
        wide, root = ratio[..., None, None], ratio.sqrt()[..., None, None]
        anchor = None if self.anchor is None or ratio.ndim else ratio * self.anchor
        return Covariance(
            matrix=lambda: wide * self.matrix,
            factor=lambda: root * self.factor,
            root=lambda: root * self.root,
            scale_tril=lambda: root * self.scale_tril,
            variances=lambda: ratio[..., None] * self.variances,
            anchor=anchor,
        )

    @property
    def scale(self) -> Covariance:
        """The scale S of a Student-t; Σ itself for a Gaussian."""
        return self if self._scale is None else self._scale

    def _view(self, name: str, derive: Callable[[], Tensor]) -> Tensor:
        view = self._views.get(name, derive)
        if not isinstance(view, Tensor):
            with _without_autocast():  # a view may be read where autocast is on
                view = view()
            self._views[name] = view
        return view

    @property
    def matrix(self) -> Tensor:
        """Σ, (..., d, d)."""
        return self._view('matrix', self._matrix_from_factor)

    @property
    def factor(self) -> Tensor:
        """F with F Fᵀ = Σ, (..., d, m)."""
        return self._view('factor', lambda: self.scale_tril)

    @property
    def root(self) -> Tensor:
        """The predicted root, else the symmetric root Σ^½, (..., d, d)."""
        return self._view('root', lambda: symmetric_sqrt(self.matrix))

    @property
    def scale_tril(self) -> Tensor:
        """Lower L with L Lᵀ = Σ, (..., d, d)."""
        return self._view('scale_tril', lambda: safe_cholesky(self.matrix))

    @property
    def variances(self) -> Tensor:
        """diag Σ, (..., d)."""
        return self._view('variances', self._variances_from_factor)

    def negative_log_likelihood(self, residual: Tensor, mask: Tensor | None = None) -> Tensor:
        """½(d log 2π + log|Σ| + rᵀ Σ⁻¹ r) of residuals (..., d) that are present in the mask.

        With degrees of freedom it is the Student-t's.
        """
        if self.degrees_of_freedom is None:
            return negative_log_likelihood(residual, mask=mask, scale_tril=self.scale_tril)
        return student.negative_log_likelihood(
            residual, None, self.degrees_of_freedom, mask, scale_tril=self.scale.scale_tril
        )

    def detach(self) -> Covariance:
        """The same Σ without gradient."""
        if self.degrees_of_freedom is not None:
            return Covariance.of_student(self.scale.detach(), self.degrees_of_freedom.detach())
        view = 'factor' if 'factor' in self._views and 'matrix' not in self._views else 'matrix'
        value = getattr(self, view).detach()
        return Covariance(**{view: value}, anchor=self.anchor)

    def _matrix_from_factor(self) -> Tensor:
        name = 'factor' if 'factor' in self._views else 'scale_tril'
        factor = getattr(self, name)
        return factor @ factor.mT

    def _variances_from_factor(self) -> Tensor:
        if 'matrix' in self._views:
            return torch.diagonal(self.matrix, dim1=-2, dim2=-1)
        name = 'factor' if 'factor' in self._views else 'scale_tril'
        return getattr(self, name).square().sum(-1)
