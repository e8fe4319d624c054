"""README's way from a config of mmpose to training runs as written, shortened by options."""

import json
import re
import runpy
import shlex
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

OPTIONS = """
    model.backbone.init_cfg=None model.backbone.depth=18 model.head.in_channels=512
    train_dataloader.batch_size=2 train_cfg.max_epochs=1
    train_cfg.val_interval=1 default_hooks.logger.interval=1 visualizer.name=readme_swap
    train_dataloader.dataset.ann_file=people.json train_dataloader.dataset.data_prefix.img=
    train_dataloader.num_workers=0 train_dataloader.persistent_workers=False
    val_dataloader.dataset.ann_file=people.json val_dataloader.dataset.data_prefix.img=
    val_dataloader.dataset.bbox_file=None val_dataloader.num_workers=0
    val_dataloader.persistent_workers=False
"""


def make_people(folder: Path) -> None:
    """Two images in COCO's format, with 17 joints each."""
    rng = np.random.default_rng(0)
    images, people = [], []
    for i in range(2):
        cv2.imwrite(str(folder / f'{i}.png'), rng.integers(0, 255, (96, 96, 3)).astype(np.uint8))
        joints = rng.uniform(20, 76, (17, 2))
        images.append(dict(id=i, file_name=f'{i}.png', width=96, height=96))
        people.append(
            dict(
                id=i,
                image_id=i,
                category_id=1,
                iscrowd=0,
                area=3600.0,
                bbox=[16.0, 16.0, 64.0, 64.0],
                num_keypoints=17,
                keypoints=[float(v) for x, y in joints for v in (x, y, 2)],
            )
        )
    category = dict(id=1, name='person', keypoints=[str(k) for k in range(17)], skeleton=[])
    content = dict(images=images, annotations=people, categories=[category])
    (folder / 'people.json').write_text(json.dumps(content))


@pytest.mark.slow
@pytest.mark.filterwarnings('ignore')
def test_the_block_of_the_readme_trains(root, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, 'argv', list(sys.argv))
    (tmp_path / 'tools').symlink_to(root / 'tools')
    make_people(tmp_path)
    text = (root / 'README.md').read_text(encoding='utf-8')
    block = re.search(r'```bash\n(python tools/add_covariance\.py.*?)```', text, re.DOTALL)
    assert block is not None
    convert, train = block[1].strip().splitlines()
    data = [f'{part}_dataloader.dataset.data_root={tmp_path}' for part in ('train', 'val')]
    evaluator = f'val_evaluator.0.ann_file={tmp_path}/people.json'
    train += ' --work-dir work --cfg-options ' + ' '.join([*OPTIONS.split(), *data, evaluator])
    for line in (convert, train):
        _, *sys.argv = shlex.split(line)
        with pytest.raises(SystemExit) as stop:
            runpy.run_path(sys.argv[0], run_name='__main__')
        assert not stop.value.code, line
    log = next((tmp_path / 'work').glob('*/vis_data/scalars.json')).read_text()
    first, *_, last = (json.loads(line) for line in log.splitlines())
    assert 0.5 < first['loss_heatmap'] < 20
    assert 50 < first['loss_objective'] < 300  # 17 joints: about 34 (log(12.8²) + 1) / 2
    assert np.isfinite(last['pose/nll'])
