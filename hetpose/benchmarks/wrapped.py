"""Configs that come with mmpose, as they stand: wrapped, fitted and asked for predictions.

Every model has random weights, saved under its own names, and generated images in the format of
its own data set. The path is that of a user: `fit_covariance`, then the files that it wrote.
"""

from __future__ import annotations

import copy
import math
import tempfile
import time
from pathlib import Path
from typing import Any

import mmpose
import numpy as np
import torch
from mmengine.config import Config, ConfigDict
from mmengine.dataset import pseudo_collate
from mmpose.registry import DATASETS
from torch.utils.data import DataLoader, Subset
from tqdm import tqdm

from hetpose.apis.fit.fit import PARTS, fit_covariance
from hetpose.apis.fit.foreign import dataset_joints, innermost
from hetpose.apis.fit.forms import FitSettings
from hetpose.apis.fit.training import TrainingSettings
from hetpose.apis.inference.inferencer import HetPoseInferencer
from hetpose.apis.loading import load_network
from hetpose.apis.training import evaluate
from hetpose.benchmarks.generated_labels import PEOPLE, write_labelled
from hetpose.benchmarks.harness import Row
from hetpose.engine import launch
from hetpose.fileio import atomic_path

BODY, HAND = 'body_2d_keypoint', 'hand_2d_keypoint'
FACE, ANIMAL, WHOLE = 'face_2d_keypoint', 'animal_2d_keypoint', 'wholebody_2d_keypoint'
MAPS, REGRESSION = f'{BODY}/topdown_heatmap/coco', f'{BODY}/topdown_regression/coco'
INTEGRAL = f'{BODY}/integral_regression/coco'
CONFIGS = {
    'ResNet-50': f'{MAPS}/td-hm_res50_8xb64-210e_coco-256x192.py',
    'HRNet-W32, UDP': f'{MAPS}/td-hm_hrnet-w32_udp-8xb64-210e_coco-256x192.py',
    'HRNet-W32, UDP offsets': (f'{MAPS}/td-hm_hrnet-w32_udp-regress-8xb64-210e_coco-256x192.py'),
    'ViTPose-S': f'{MAPS}/td-hm_ViTPose-small_8xb64-210e_coco-256x192.py',
    'MobileNetV2': f'{MAPS}/td-hm_mobilenetv2_8xb64-210e_coco-256x192.py',
    'MobileNetV2, MPII': (
        f'{BODY}/topdown_heatmap/mpii/td-hm_mobilenetv2_8xb64-210e_mpii-256x256.py'
    ),
    'ViPNAS-MBV3': f'{MAPS}/td-hm_vipnas-mbv3_8xb64-210e_coco-256x192.py',
    'MSPN-50': f'{MAPS}/td-hm_mspn50_8xb32-210e_coco-256x192.py',
    'CPM': f'{MAPS}/td-hm_cpm_8xb64-210e_coco-256x192.py',
    'SimCC': f'{BODY}/simcc/coco/simcc_mobilenetv2_wo-deconv-8xb64-210e_coco-256x192.py',
    'RTMPose-s': f'{BODY}/rtmpose/coco/rtmpose-s_8xb256-420e_coco-256x192.py',
    'ResNet-50, RLE': f'{REGRESSION}/td-reg_res50_rle-8xb64-210e_coco-256x192.py',
    'ResNet-50, DSNT': f'{INTEGRAL}/ipr_res50_dsnt-8xb64-210e_coco-256x256.py',
    'ResNet-50, integral': f'{INTEGRAL}/ipr_res50_8xb64-210e_coco-256x256.py',
    'hand, regression': (
        f'{HAND}/topdown_regression/onehand10k/td-reg_res50_8xb64-210e_onehand10k-256x256.py'
    ),
    'hand, MobileNetV2': (
        f'{HAND}/topdown_heatmap/coco_wholebody_hand/'
        'td-hm_mobilenetv2_8xb32-210e_coco-wholebody-hand-256x256.py'
    ),
    'animal, RTMPose-m': f'{ANIMAL}/rtmpose/ap10k/rtmpose-m_8xb64-210e_ap10k-256x256.py',
    'face, MobileNetV2': (
        f'{FACE}/topdown_heatmap/coco_wholebody_face/'
        'td-hm_mobilenetv2_8xb32-60e_coco-wholebody-face-256x256.py'
    ),
    'face, RTMPose-m': f'{FACE}/rtmpose/wflw/rtmpose-m_8xb64-60e_wflw-256x256.py',
    'whole body, RTMPose-m': (
        f'{WHOLE}/rtmpose/coco-wholebody/rtmpose-m_8xb64-270e_coco-wholebody-256x192.py'
    ),
    'whole body, ViPNAS': (
        f'{WHOLE}/topdown_heatmap/coco-wholebody/'
        'td-hm_vipnas-mbv3_dark-8xb64-210e_coco-wholebody-256x192.py'
    ),
}
QUICK = ('MobileNetV2', 'RTMPose-s')
CHECKED = 8  # people whose predictions are compared
REQUIRED = 'difference 0, Σ > 0, tested, inferred'


def packaged(config: str) -> Path:
    """The file of a config in the folder that mmpose installs."""
    return Path(mmpose.__file__).parent / '.mim' / 'configs' / config


def people_needed(joints: int) -> int:
    """People of whom enough are left to fit the covariance of K joints on, with some to spare."""
    images = math.ceil((2 * joints + 1) / PEOPLE / PARTS['fit']) + 1
    return PEOPLE * images


def data_options(dataset: ConfigDict, root: Path) -> dict[str, str]:
    """Changes to a config that let its val set lie in another folder."""
    place = 'val_dataloader.dataset'
    options = {f'{place}.data_root': str(root)}
    if dataset.get('headbox_file'):  # a path of its own in mmpose's configs
        boxes = root / Path(dataset.ann_file).parent / Path(dataset.headbox_file).name
        options[f'{place}.headbox_file'] = str(boxes)
    return options


def prepare(config: Path, folder: Path, people: int | None = None) -> tuple[dict[str, str], Path]:
    """Write data and a checkpoint with random weights; returns where the data lie, and the file.

    Nothing of the config changes but the folder of the data. ``people`` is as many as a fit needs
    where it is not given.
    """
    settings = launch.load_config(config)
    dataset = innermost(settings.val_dataloader.dataset)
    people = people or people_needed(len(dataset_joints(dataset)))
    write_labelled(dataset, folder / 'data', people)
    options = data_options(dataset, folder / 'data')
    torch.manual_seed(0)
    network, _ = load_network(settings, None, 'cpu')
    checkpoint = folder / 'foreign.pth'
    with atomic_path(checkpoint) as temporary:
        torch.save(dict(meta={}, state_dict=network.state_dict()), temporary)
    return options, checkpoint


@torch.no_grad()
def compare(foreign: Any, wrapped: Any, config: Config) -> tuple[float, float]:
    """The largest difference of keypoints and scores, and the smallest eigenvalue of Σ.

    Over the first people of the config's val set, with the flip test and without.
    """
    dataset = DATASETS.build(copy.deepcopy(config.val_dataloader.dataset))
    people = Subset(dataset, range(min(CHECKED, len(dataset))))
    difference, smallest = 0.0, math.inf
    for flip in (True, False):
        for model in (foreign, wrapped):
            model.test_cfg = {**model.test_cfg, 'flip_test': flip}
        for batch in DataLoader(people, 8, collate_fn=pseudo_collate):
            theirs = foreign.test_step(copy.deepcopy(batch))
            for one, other in zip(theirs, wrapped.test_step(batch), strict=True):
                one, other = one.pred_instances, other.pred_instances
                for name in ('keypoints', 'keypoint_scores'):
                    gap = np.abs(np.float64(one[name]) - np.float64(other[name])).max()
                    difference = max(difference, float(gap))
                sigma = torch.as_tensor(np.asarray(other.covariances))
                smallest = min(smallest, torch.linalg.eigvalsh(sigma).min().item())
    return difference, smallest


def wrap(name: str, epochs: int = 2) -> Row:
    """One config: fit, compare with the unwrapped model, test and infer with what was written."""
    config, start = packaged(CONFIGS[name]), time.perf_counter()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        options, checkpoint = prepare(config, folder)
        settings = FitSettings(training=TrainingSettings(epochs=epochs))
        out = folder / 'out'
        report = fit_covariance(
            config, checkpoint, out, settings=settings, options=options, progress=False
        )
        assert report is not None
        written = launch.load_config(out / 'config.py')
        foreign, _ = load_network(launch.load_config(config), checkpoint)
        wrapped, _ = load_network(written, out / 'checkpoint.pth')
        difference, smallest = compare(foreign, wrapped, written)
        tested = _test(out, folder / 'test')
        inferred = _infer(out, folder)
    head = written.model.head
    return Row(
        name,
        {
            'head': head.head.type,
            'data': innermost(written.val_dataloader.dataset).type,
            'joints': float(wrapped.head.joints),
            'Σ': _form(head.covariance),
            'people': float(sum(report.people.values())),
            'keypoints, scores differ by': max(difference, report.unchanged),
            'smallest eigenvalue, px²': smallest,
            'test': 'ran' if tested else 'FAILED',
            'infer': 'ran' if inferred else 'FAILED',
            'seconds': time.perf_counter() - start,
        },
        REQUIRED,
        difference == report.unchanged == 0 and smallest > 0 and tested and inferred,
    )


def _test(out: Path, folder: Path) -> bool:
    """Whether the config's own metrics and those of Σ are computed."""
    alone = ['test_dataloader.num_workers=0', 'test_dataloader.persistent_workers=False']
    metrics = evaluate(
        out / 'config.py', out / 'checkpoint.pth', work_dir=str(folder), options=alone
    )
    own = [name for name in metrics if not name.startswith('calibration/')]
    return bool(own) and math.isfinite(metrics['calibration/whole/nll'])


def _infer(out: Path, folder: Path) -> bool:
    """Whether a prediction of one whole image has a covariance that is positive definite."""
    image = next((folder / 'data').rglob('*.png'))
    inferencer = HetPoseInferencer(out / 'config.py', out / 'checkpoint.pth')
    result = next(iter(inferencer(str(image))))
    blocks = np.array(result['predictions'][0][0]['covariance'])
    return bool((np.linalg.eigvalsh(blocks) > 0).all())


def _form(covariance: dict[str, Any]) -> str:
    shape = covariance.get('scale', covariance)
    tails = 'Student-t, ' if 'scale' in covariance else ''
    return tails + (f'rank {shape["rank"]}' if 'rank' in shape else 'full')


def run(quick: bool = False) -> list[Row]:
    """A row for every config; quick takes two of them."""
    return [wrap(name) for name in tqdm(QUICK if quick else list(CONFIGS), desc='wrapped')]
