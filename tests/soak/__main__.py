"""Train 2,000 steps and predict 500 images; memory and file handles must not grow.

python tests/soak [--steps 2000] [--images 500]
"""

import argparse
import gc
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from tqdm import tqdm

sys.path.insert(0, str(Path(__file__).parents[1]))
from helpers_inference import write_tiny  # noqa: E402
from helpers_pose import estimator, sample  # noqa: E402

WARM = 0.2  # the first share of a run fills caches and pools
MEGABYTES = 30.0  # more than this, on top of the warm state, is growth


def resident() -> float:
    """Memory of this process, in megabytes."""
    pages = int(Path('/proc/self/statm').read_text().split()[1])
    return pages * os.sysconf('SC_PAGE_SIZE') / 1e6


def handles() -> int:
    """Open file handles of this process."""
    return len(list(Path('/proc/self/fd').iterdir()))


def growth(steps: int, step, title: str) -> bool:
    """Repeat a step; print and tell whether memory or handles grew after the warm-up."""
    start = None
    for index in tqdm(range(steps), desc=title):
        step(index)
        if index == int(WARM * steps):
            gc.collect()
            start = resident(), handles()
    gc.collect()
    assert start is not None
    memory, files = resident() - start[0], handles() - start[1]
    print(f'{title}: {steps} steps, memory {memory:+.1f} MB, file handles {files:+d}')
    return memory > MEGABYTES or files > 0


def main() -> int:
    """Run both parts."""
    from hetpose.apis.inference.inferencer import HetPoseInferencer

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--steps', type=int, default=2000)
    parser.add_argument('--images', type=int, default=500)
    args = parser.parse_args()
    torch.manual_seed(0)
    model = estimator().train()
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-4)

    def train(index: int) -> None:
        inputs = torch.rand(4, 3, 32, 32)
        losses = model.loss(inputs, [sample(4 * index + i) for i in range(4)])
        optimiser.zero_grad()
        (losses['loss_heatmap'] + losses['loss_objective']).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()

    grew = growth(args.steps, train, 'training')
    with tempfile.TemporaryDirectory() as name:
        config, checkpoint = write_tiny(Path(name))
        inferencer = HetPoseInferencer(str(config), str(checkpoint), device='cpu')
        rng = np.random.default_rng(0)

        def predict(index: int) -> None:
            image = rng.integers(0, 255, (64, 48, 3)).astype(np.uint8)
            list(inferencer(image, vis_out_dir=name, pred_out_dir=name))

        grew |= growth(args.images, predict, 'prediction')
    return int(grew)


if __name__ == '__main__':
    sys.exit(main())
