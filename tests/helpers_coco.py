"""A folder of small images in COCO's format with four joints, and a config that reads it."""

import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from helpers_inference import METAINFO
from helpers_pose import BACKBONE, CODEC, head_config
from mmengine.config import Config

SIDE = 48


def annotation(index: int) -> dict[str, Any]:
    """A person of image ``index`` with four visible joints."""
    rng = np.random.default_rng(index)
    joints = rng.uniform(10, 38, (4, 2))
    return dict(
        id=index,
        image_id=index,
        category_id=1,
        iscrowd=0,
        area=900.0,
        num_keypoints=4,
        bbox=[6.0, 6.0, 36.0, 36.0],
        keypoints=[float(v) for x, y in joints for v in (x, y, 2)],
    )


def write_coco(folder: Path, count: int = 16) -> None:
    """Write ``count`` images and people.json into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    for index in range(count):
        image = rng.integers(0, 255, (SIDE, SIDE, 3)).astype(np.uint8)
        cv2.imwrite(str(folder / f'{index:02d}.jpg'), image)
    write_people(folder, [annotation(index) for index in range(count)])


def write_people(folder: Path, people: list[dict], **changes: Any) -> None:
    """Write people.json for the images that are there."""
    images = [
        dict(id=index, file_name=path.name, width=SIDE, height=SIDE)
        for index, path in enumerate(sorted(folder.glob('*.jpg')))
    ]
    category = dict(id=1, name='person', keypoints=list('abcd'), skeleton=[])
    content = dict(images=images, annotations=people, categories=[category]) | changes
    (folder / 'people.json').write_text(json.dumps(content))


def coco_config(folder: Path, work: Path, **head: Any) -> Config:
    """A tiny model on that folder with mmpose's own LoadImage: train, val and test data."""
    pipeline = [
        dict(type='LoadImage'),
        dict(type='GetBBoxCenterScale'),
        dict(type='CovarianceTopdownAffine', input_size=(32, 32), use_udp=True),
        dict(type='GenerateTarget', encoder=dict(CODEC)),
        dict(type='PackPoseInputs'),
    ]
    dataset = dict(
        type='CocoDataset',
        metainfo=METAINFO,
        data_root=str(folder),
        ann_file='people.json',
        data_prefix=dict(img=''),
        data_mode='topdown',
        pipeline=pipeline,
    )
    loader = dict(batch_size=4, num_workers=0)
    train = dict(loader, sampler=dict(type='DefaultSampler', shuffle=True), dataset=dataset)
    test = dict(
        loader,
        sampler=dict(type='DefaultSampler', shuffle=False),
        dataset=dict(dataset, test_mode=True),
    )
    evaluator = [dict(type='HeteroscedasticPoseMetric', heatmap_size=(16, 16))]
    return Config(
        dict(
            default_scope='mmpose',
            custom_imports=dict(imports=['hetpose']),
            model=dict(
                type='TopdownPoseEstimator',
                data_preprocessor=dict(
                    type='PoseDataPreprocessor', mean=[127.0] * 3, std=[60.0] * 3
                ),
                backbone=dict(BACKBONE),
                head=head_config(**head),
                test_cfg=dict(flip_test=False),
            ),
            train_dataloader=train,
            val_dataloader=test,
            test_dataloader=test,
            val_evaluator=evaluator,
            test_evaluator=evaluator,
            train_cfg=dict(by_epoch=True, max_epochs=1),
            val_cfg=dict(),
            test_cfg=dict(),
            optim_wrapper=dict(optimizer=dict(type='Adam', lr=1e-4)),
            work_dir=str(work),
        )
    )
