"""The folders of the pose data: reported, filled from archives, converted from .mat."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from scipy.io import savemat

from hetpose.apis.data import prepare_pose
from hetpose.apis.data.prepare_pose import (
    LAYOUT,
    check_names,
    convert_mpii,
    missing,
    report,
    unpack,
)
from hetpose.datasets.pose import MPII14Dataset
from hetpose.errors import UserError


def fill(folder, images: int) -> None:
    (folder / 'images').mkdir(parents=True)
    (folder / 'joints.mat').write_bytes(b'')
    for number in range(images):
        (folder / 'images' / f'im{number:05d}.jpg').write_bytes(b'')


def test_the_report_names_what_is_missing_and_its_source(tmp_path) -> None:
    lines = list(report('lspet', tmp_path))
    assert all(line.startswith('missing') and 'lspet_dataset.zip' in line for line in lines)
    fill(tmp_path, 3)
    assert not missing('lspet', tmp_path)
    lines = list(report('lspet', tmp_path))
    assert lines[0].startswith('present')
    assert '3 of 10000 files' in lines[1]


@pytest.mark.parametrize('inner', ['', 'lspet_dataset'])
def test_an_archive_is_unpacked_to_its_place(inner: str, tmp_path) -> None:
    source = tmp_path / 'source'
    fill(source / inner, 2)
    package = shutil.make_archive(str(tmp_path / 'package'), 'zip', source)
    root = tmp_path / 'lspet'
    unpack(package, root, list(LAYOUT['lspet']))
    assert sorted(path.name for path in root.iterdir()) == ['images', 'joints.mat']
    assert LAYOUT['lspet'][1].found(root) == 2


def test_only_what_is_missing_is_fetched(tmp_path, monkeypatch) -> None:
    asked = []

    def fetch(url, package):
        asked.append(url)
        source = tmp_path / 'source'
        fill(source, 1)
        package.parent.mkdir(parents=True)
        shutil.make_archive(str(package.with_suffix('')), 'zip', source)

    monkeypatch.setattr(prepare_pose, 'fetch', fetch)
    root = tmp_path / 'lsp'
    prepare_pose.download('lsp', root)
    assert asked == ['http://sam.johnson.io/research/lsp_dataset.zip']  # one archive, two parts
    prepare_pose.download('lsp', root)
    assert len(asked) == 1


def test_bad_input_is_one_line(tmp_path) -> None:
    junk = tmp_path / 'junk.zip'
    junk.write_bytes(b'junk')
    with pytest.raises(UserError, match='cannot be unpacked'):
        unpack(junk, tmp_path, list(LAYOUT['lsp']))
    (tmp_path / 'empty').mkdir()
    package = shutil.make_archive(str(tmp_path / 'empty'), 'zip', tmp_path / 'empty')
    with pytest.raises(UserError, match=r'holds no joints\.mat'):
        unpack(package, tmp_path / 'lsp', list(LAYOUT['lsp']))
    with pytest.raises(UserError, match='unknown pose data set'):
        check_names(['lps'])
    assert check_names([]) == list(LAYOUT)
    with pytest.raises(UserError, match='not an MPII annotation file'):
        convert_mpii(junk, tmp_path / 'out.json')


def mpii_mat(path) -> np.ndarray:
    """An MPII release: a whole person and one without joints, one partial, one test image."""
    joints = np.random.default_rng(0).uniform(20, 180, (16, 2)).round(1)
    points = [dict(x=x, y=y, id=i, is_visible=1) for i, (x, y) in enumerate(joints)]
    whole = dict(annopoints=dict(point=points), objpos=dict(x=90.0, y=100.0), scale=1.5)
    partial = dict(whole, annopoints=dict(point=points[:10]))
    bare = dict(annopoints=np.zeros((0, 0)), objpos=dict(x=1.0, y=2.0), scale=1.0)
    release = dict(
        annolist=[
            dict(image=dict(name='000001.jpg'), annorect=[whole, bare]),
            dict(image=dict(name='000002.jpg'), annorect=partial),
            dict(image=dict(name='000003.jpg'), annorect=whole),
        ],
        img_train=np.array([1, 1, 0]),
    )
    savemat(path, dict(RELEASE=release))
    return joints


def test_mpiis_own_annotations_become_mmposes(tmp_path) -> None:
    joints = mpii_mat(tmp_path / 'mpii.mat')
    out = tmp_path / 'annotations' / 'mpii_train.json'
    assert convert_mpii(tmp_path / 'mpii.mat', out) == 2
    first, second = json.loads(out.read_text())
    np.testing.assert_allclose(first['joints'], joints)
    assert first['image'] == '000001.jpg'
    assert (first['scale'], first['center']) == (1.5, [90.0, 100.0])
    assert second['joints_vis'] == [1] * 10 + [0] * 6
    dataset = MPII14Dataset(data_root=tmp_path)
    assert len(dataset) == 1
    np.testing.assert_allclose(dataset.get_data_info(0)['keypoints'][0, 0], joints[0], rtol=1e-5)
