"""The model that comes with hetpose on the photographs that come with it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hetpose.apis.inference.inferencer import HetPoseInferencer
from hetpose.apis.shipped import known_models

FOLDER = Path(__file__).with_name('photos')  # SOURCES.md in it names sources and licences
MODEL = 'human'
SHOWN = 0.05  # joints that score less lie outside the photographs


def photographs() -> list[Path]:
    """The photographs, all in the public domain or CC0."""
    return sorted(FOLDER.glob('*.jpg'))


def draw_photographs(
    folder: str | Path, inferencer: HetPoseInferencer | None = None
) -> Iterator[tuple[Path, int, float]]:
    """Write a picture with ellipses and the joints' correlation, and a JSON file, of each.

    Yields the picture, the number of people found and the seconds since the start. Without an
    inferencer, that of the shipped model; if the package has none, nothing.
    """
    start = time.perf_counter()
    if inferencer is None:
        if MODEL not in known_models():
            return
        inferencer = HetPoseInferencer(MODEL)
    options: dict[str, Any] = dict(panels=['correlation'], full_covariance='json', kpt_thr=SHOWN)
    results = inferencer(photographs(), vis_out_dir=folder, pred_out_dir=folder, **options)
    for result in results:
        picture = Path(folder) / Path(result['input']).name
        yield picture, len(result['predictions'][0]), time.perf_counter() - start
