"""Pseudo-labels for any data set: what is read is what was written, and it has to fit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from mmengine.registry import init_default_scope
from mmpose.registry import DATASETS

from hetpose.datasets.pose import (
    MergedDataset,
    PseudoLabelDataset,
    PseudoLabelFile,
    SyntheticPose,
    pseudo_label_file,
)
from hetpose.datasets.pose.pseudo_label_file import (
    PseudoLabelRecipe,
    fingerprint,
    label_digest,
    pack_symmetric,
    sample_id,
    unpack_symmetric,
)
from hetpose.datasets.pose.wrappers import joint_names
from hetpose.errors import UserError

init_default_scope('mmpose')
COUNT = 6
DATA = dict(type='SyntheticPose', length=COUNT, image_size=32, supply_truth=False)
COCO = {i: dict(name=f'joint{i}', id=i, color=[0, 0, 0], type='', swap='') for i in range(3)}


def roots() -> np.ndarray:
    factors = np.random.default_rng(0).normal(size=(COUNT, 28, 28))
    return factors + factors.transpose(0, 2, 1)


def write(path: Path, **changes) -> PseudoLabelFile:
    dataset = DATASETS.build(DATA)
    infos = [dataset.get_data_info(i) for i in range(COUNT)]
    content = dict(
        path=path,
        ids=[sample_id(info) for info in infos],
        digests=np.array([label_digest(info) for info in infos], np.uint64),
        roots=pack_symmetric(roots()),
        joints=joint_names(dataset),
        settings=dict(recipe=dict(dimension=16, k=None)),
    )
    labels = PseudoLabelFile(**{**content, **changes})
    labels.write()
    return labels


def test_what_is_read_is_what_was_written(tmp_path) -> None:
    file = tmp_path / 'labels.npz'
    write(file)
    assert [path.name for path in tmp_path.iterdir()] == ['labels.npz']  # no temporary is left
    dataset = PseudoLabelDataset(DATA, file, recipe=dict(dimension=16))
    for index in (3, 0):
        factor = dataset[index]['pseudo_factor']
        np.testing.assert_allclose(factor[0], roots()[index], rtol=1e-6)
    assert len(dataset) == COUNT
    assert dataset.metainfo['num_keypoints'] == 14


def test_a_subset_of_the_data_fits(tmp_path) -> None:
    file = tmp_path / 'labels.npz'
    write(file)
    dataset = PseudoLabelDataset(dict(DATA, indices=[4]), file)
    np.testing.assert_allclose(dataset[0]['pseudo_factor'][0], roots()[4], rtol=1e-6)


def test_symmetric_matrices_survive_packing() -> None:
    for index, packed in enumerate(pack_symmetric(roots())):
        np.testing.assert_allclose(unpack_symmetric(packed, 28), roots()[index], rtol=1e-6)


REFUSED = {
    'other seed': (dict(DATA, seed=1), {}, {}, 'other data: the keypoints of'),
    'more samples': (dict(DATA, length=COUNT + 1), {}, {}, 'it has no sample synthetic_pose/6'),
    'joints': (DATA, {}, dict(joints=list('abcdefghijklmn')), 'other joints'),
    'recipe': (DATA, dict(recipe=dict(dimension=8)), {}, 'was made with dimension=16'),
}


@pytest.mark.parametrize('name', list(REFUSED))
def test_a_file_that_does_not_fit_is_refused_when_built(name: str, tmp_path) -> None:
    data, arguments, changes, message = REFUSED[name]
    file = tmp_path / 'labels.npz'
    write(file, **changes)
    with pytest.raises(UserError, match=message) as caught:
        PseudoLabelDataset(data, file, **arguments)
    assert '\n' not in str(caught.value)


def test_what_was_asked_for_on_the_command_line_goes_before_the_config(tmp_path) -> None:
    file = tmp_path / 'labels.npz'
    settings = dict(recipe=dict(dimension=64), chosen=['dimension'])
    write(file, settings=settings)
    assert len(PseudoLabelDataset(DATA, file, recipe=dict(dimension=16))) == COUNT


def test_a_sample_is_hashed_once(tmp_path, monkeypatch) -> None:
    file = tmp_path / 'labels.npz'
    write(file)
    dataset = PseudoLabelDataset(DATA, file)
    calls = []
    monkeypatch.setattr(pseudo_label_file, 'label_digest', lambda info: calls.append(info))
    for _ in range(3):
        assert 'pseudo_factor' in dataset[0]  # was checked when the data set was built
    assert not calls


def test_a_damaged_or_absent_file_is_named(tmp_path) -> None:
    with pytest.raises(UserError, match='pseudo-label file not found'):
        PseudoLabelDataset(DATA, tmp_path / 'absent.npz')
    junk = tmp_path / 'junk.npz'
    junk.write_bytes(b'junk')
    with pytest.raises(UserError, match='not a pseudo-label file'):
        PseudoLabelDataset(DATA, junk)
    np.savez(junk, something=np.zeros(3))
    with pytest.raises(UserError, match='not a pseudo-label file'):
        PseudoLabelDataset(DATA, junk)
    write(junk, roots=np.zeros((COUNT, 3), np.float32))
    with pytest.raises(UserError, match='damaged pseudo-label file'):
        PseudoLabelDataset(DATA, junk)
    with pytest.raises(TypeError):
        PseudoLabelDataset(DATA, recipe=dict(neighbours=3))
    for bad in (dict(dimension=0), dict(k=1)):
        with pytest.raises(ValueError, match='must be at least'):
            PseudoLabelRecipe(**bad)


def test_a_sample_that_was_unreadable_is_skipped(tmp_path) -> None:
    labels = write(tmp_path / 'a.npz')
    kept = list(range(1, COUNT))
    file = tmp_path / 'b.npz'
    write(
        file,
        ids=labels.ids[1:],
        digests=labels.digests[kept],
        roots=labels.roots[kept],
        settings=dict(unreadable=[labels.ids[0]]),
    )
    dataset = PseudoLabelDataset(DATA, file)
    assert dataset.prepare_data(0) is None
    assert dataset[0]['id'] != 0  # another one is drawn


def test_digest_and_fingerprint_see_what_matters() -> None:
    info = SyntheticPose(length=1, image_size=32).get_data_info(0)
    same = dict(info, keypoints=info['keypoints'] + 1e-5)
    moved = dict(info, keypoints=info['keypoints'] + 0.5)
    hidden = dict(info, keypoints_visible=info['keypoints_visible'].copy())
    hidden['keypoints_visible'][0, 3] = 0
    elsewhere = dict(hidden, keypoints=hidden['keypoints'].copy())
    elsewhere['keypoints'][0, 3] = 1e6  # coordinates of a missing joint mean nothing
    stacked = dict(info, keypoints_visible=np.stack([info['keypoints_visible']] * 2, -1))
    assert label_digest(info) == label_digest(same) == label_digest(stacked)
    assert len({label_digest(item) for item in (info, moved, hidden)}) == 3
    assert label_digest(hidden) == label_digest(elsewhere)
    digests = np.array([1, 2], np.uint64)
    assert fingerprint(['a', 'b'], digests) == fingerprint(['b', 'a'], digests[::-1])
    assert fingerprint(['a', 'b'], digests) != fingerprint(['a', 'b'], digests[::-1])


def test_a_merge_takes_the_joints_of_its_parts(tmp_path) -> None:
    merged = MergedDataset([DATA, dict(DATA, seed=1)])
    assert len(merged) == 2 * COUNT
    assert merged.metainfo['num_keypoints'] == 14
    assert merged[0]['dataset_name'] == 'synthetic_pose'
    other = dict(
        dataset_name='other', keypoint_info=COCO, skeleton_info={}, joint_weights=[1.0] * 3
    )
    with pytest.raises(UserError, match='different joints'):
        MergedDataset([DATA, dict(DATA, metainfo=dict(other, sigmas=[1.0] * 3))])
