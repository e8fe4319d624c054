"""Expectations over a Gamma variable by Gauss's rule, for a batch of shapes at once."""

import torch
from torch import Tensor

GAMMA_NODES = 24
"""Nodes of a rule: exact for polynomials up to degree 47."""
LARGEST_SHAPE = 1e9
"""A Gamma variable of a larger shape is taken to have this one, so that infinity has nodes too."""


@torch.no_grad()
def gamma_nodes(shape: Tensor, count: int = GAMMA_NODES) -> tuple[Tensor, Tensor]:
    """Nodes g_j and probabilities p_j with E f(g) ≈ Σ_j p_j f(g_j), g ~ Gamma(shape, 1).

    The nodes are the eigenvalues of the recurrence of Laguerre's polynomials (Golub and Welsch),
    with shape + 2k on its diagonal and √(k(k − 1 + shape)) next to it.

    Shapes: shape (...) > 0 -> (..., count), (..., count), in float64.
    """
    alpha = shape.double().clamp(max=LARGEST_SHAPE)[..., None]
    steps = torch.arange(count, dtype=torch.float64, device=shape.device)
    off_diagonal = (steps[1:] * (steps[1:] - 1 + alpha)).sqrt()
    # Shifted by the shape: the nodes of a large one are close to it, relative to their size.
    matrix = torch.diag_embed(2 * steps.expand(*shape.shape, count))
    matrix = matrix + torch.diag_embed(off_diagonal, -1) + torch.diag_embed(off_diagonal, 1)
    values, vectors = torch.linalg.eigh(matrix)
    nodes = (values + alpha).clamp(min=torch.finfo(torch.float64).tiny)
    return nodes, vectors[..., 0, :].square()
