"""Exact nearest neighbours of all rows of a table, block by block under a memory bound.

Axes: N rows, r columns, k neighbours, q rows of a block.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from scipy.spatial import cKDTree
from torch import Tensor
from tqdm import tqdm

# Up to here a k-d tree prunes enough to beat one matrix product per block.
TREE_DIMENSIONS = 6
TREE_LEAF = 32
# A block of distances larger than this gains nothing.
BLOCK_BYTES = 2**27
# Rows of a block of products: enough for the product, few enough to be selected from in cache.
PRODUCT_ROWS = 64
# |a|² + |b|² − 2ab below this part of |a|² + |b|² has lost its digits and is taken from a − b.
CANCELLATION = 1e-8
# A row whose k-th neighbour is closer than this many roundings of the product, as in a tight
# cluster far from the origin, is searched again by differences.
UNCLEAR = 1e6


@dataclass
class Block:
    """Neighbours of the rows start:stop: distances (q, k) ascending, and indices (q, k)."""

    start: int
    stop: int
    distances: Tensor
    indices: Tensor


def _tree_blocks(x: Tensor, k: int, size: int) -> Iterator[Block]:
    """Neighbours by a k-d tree over x (N, r)."""
    points = x.cpu().numpy()
    tree = cKDTree(points, leafsize=TREE_LEAF, balanced_tree=False)
    for start in range(0, len(points), size):
        part = points[start : start + size]
        distances, indices = tree.query(part, k=np.arange(1, k + 1), workers=-1)
        found = torch.from_numpy(distances), torch.from_numpy(indices)
        yield Block(start, start + len(part), found[0].to(x.device), found[1].to(x.device))


def smallest(values: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k smallest entries of each row of (q, N), ascending, with their indices.

    The k smallest entries lie in the k groups of columns of smallest minimum: one pass over all
    entries finds the groups, and only theirs are sorted.
    """
    q, n = values.shape
    group = int(math.sqrt(n / k))
    if group < 3:
        return values.topk(k, largest=False)
    count = n // group
    head = values[:, : group * count].view(q, group, count)
    chosen = head.amin(1).topk(k, largest=False, sorted=False).indices  # (q, k)
    steps = torch.arange(0, group * count, count, device=values.device)
    members = (chosen.unsqueeze(-1) + steps).flatten(1)  # (q, k·group)
    tail = torch.arange(group * count, n, device=values.device).expand(q, -1)
    candidates = torch.cat((members, tail), dim=1)
    found = values.gather(1, candidates).topk(k, largest=False)
    return found.values, candidates.gather(1, found.indices)


def _product_blocks(x: Tensor, k: int, size: int) -> Iterator[Block]:
    """Neighbours by one matrix product and one selection per block of rows of x (N, r)."""
    norms = x.square().sum(1)
    # |b|² − 2ab as one product of longer rows: no pass over the block to add the norms.
    columns = torch.cat((-2 * x, norms.unsqueeze(1)), dim=1).mT
    buffer = x.new_empty(size, len(x))  # fresh memory for every block costs more than the product
    for start in range(0, len(x), size):
        part = x[start : start + size]
        rows = torch.cat((part, torch.ones_like(norms[: len(part), None])), dim=1)
        squared = torch.mm(rows, columns, out=buffer[: len(part)])
        values, indices = smallest(squared, k)
        values += norms[start : start + size, None]
        rounding = x.shape[1] * torch.finfo(x.dtype).eps * norms[start : start + size]
        unclear = values[:, -1] <= UNCLEAR * rounding
        if unclear.any():
            values[unclear], indices[unclear] = _by_differences(part[unclear], x, k)
        lost = values <= CANCELLATION * (norms[start : start + size, None] + norms[indices])
        row, column = lost.nonzero(as_tuple=True)
        exact = (part[row] - x[indices[row, column]]).square().sum(1)
        values[row, column] = exact
        distances, order = values.sqrt().sort(dim=1, stable=True)
        yield Block(start, start + len(part), distances, indices.gather(1, order))


def _by_differences(part: Tensor, x: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Squared distances and indices (q, k) of the nearest rows of x (N, r) to part (q, r)."""
    apart = torch.cdist(part, x, compute_mode='donot_use_mm_for_euclid_dist')
    values, indices = smallest(apart, k)
    return values.square(), indices


def _own_row_first(block: Block) -> Block:
    """Every row is its own first neighbour, also among more than k duplicates."""
    own = torch.arange(block.start, block.stop, device=block.indices.device)
    rows = (block.indices[:, 0] != own).nonzero()[:, 0]  # duplicates: few, in most tables
    here = block.indices[rows] == own[rows, None]
    # Where a row is missing from its own neighbours all k are duplicates of it: replace the last.
    place = torch.where(here.any(1), here.int().argmax(1), here.shape[1] - 1)
    block.indices[rows, place] = block.indices[rows, 0]
    block.distances[rows, place] = block.distances[rows, 0]
    block.indices[:, 0], block.distances[:, 0] = own, 0
    return block


def neighbour_blocks(
    x: Tensor, k: int, memory_limit: int, row_bytes: int = 0, progress: bool = False
) -> Iterator[Block]:
    """Neighbours of all rows of x (N, r) in double precision, k ≤ N, block by block.

    ``row_bytes`` is what the caller needs per row of a block in addition to the search.
    """
    n, r = x.shape
    tree = 0 < r <= TREE_DIMENSIONS
    needed = (24 if tree else 64) * k + row_bytes + (0 if tree else 24 * n)
    rows = max(min(memory_limit // 2, BLOCK_BYTES) // needed, 1)
    size = int(min(rows, n if tree else PRODUCT_ROWS))
    search = _tree_blocks if tree else _product_blocks
    x = x.double() - x.double().mean(0)  # far from the origin the products would cancel
    with tqdm(total=n, disable=not progress, desc='neighbours', unit='row') as bar:
        for block in search(x, k, size):
            yield _own_row_first(block)
            bar.update(block.stop - block.start)
