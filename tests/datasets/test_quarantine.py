"""Bad samples are counted once, listed, bounded, and fatal by option."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from hetpose.datasets.quarantine import LEAST, Quarantine, sample_problem
from hetpose.errors import UserError


def test_a_sample_is_counted_once_over_processes_and_epochs(tmp_path: Path) -> None:
    path = tmp_path / 'run' / 'quarantine.jsonl'
    first, second = Quarantine(path, 'train'), Quarantine(path, 'train')
    for name in ('a', 'a', 'b'):
        first.add(name, 'torn')
    second.add('b', 'torn')
    second.add('c', 'empty')
    Quarantine(path, 'val').add('a', 'torn')
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(line['split'], line['sample']) for line in lines] == [
        ('train', 'a'),
        ('train', 'b'),
        ('train', 'c'),
        ('val', 'a'),
    ]
    assert '3 bad samples' in Quarantine(path, 'train').summary()
    second.clear()
    assert Quarantine(path, 'train').summary() is None
    assert '1 bad samples' in Quarantine(path, 'val').summary()


def test_half_a_line_of_a_killed_process_is_no_error(tmp_path: Path) -> None:
    path = tmp_path / 'quarantine.jsonl'
    path.write_text('{"split": "train", "sample": "a", "reason": "x"}\n{"split": "tr')
    quarantine = Quarantine(path, 'train')
    quarantine.add('b', 'torn')
    assert len(quarantine.names) == 2


def test_too_many_end_the_run() -> None:
    quarantine = Quarantine(limit=0.1)
    for index in range(20):
        quarantine.add(str(index), 'torn', 200)
    with pytest.raises(UserError, match=r'21 of 200 samples are bad.*the last is 20: torn'):
        quarantine.add('20', 'torn', 200)


@pytest.mark.parametrize(('total', 'allowed'), [(1, 0), (5, 4), (100, LEAST), (1000, 50)])
def test_a_small_set_may_have_some_but_never_all(total: int, allowed: int) -> None:
    assert Quarantine().allowed(total) == allowed


def test_the_first_is_fatal_by_option() -> None:
    with pytest.raises(UserError, match='test data: im1.jpg: torn'):
        Quarantine(None, 'test', 'fail').add('im1.jpg', 'torn')


@pytest.mark.parametrize('settings', [dict(action='ignore'), dict(limit=2), dict(limit='few')])
def test_wrong_settings_are_named(settings: dict) -> None:
    with pytest.raises(UserError, match='bad_samples'):
        Quarantine(**settings)


def info(**changes) -> dict:
    made = dict(
        bbox=np.array([[0, 0, 10, 20]], np.float32),
        keypoints=np.ones((1, 3, 2), np.float32),
        keypoints_visible=np.ones((1, 3), np.float32),
    )
    return made | changes


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        ({}, None),
        ({'keypoints': np.full((1, 3, 2), np.nan)}, r'keypoint 0 lies at \(nan'),
        ({'keypoints': np.full((1, 3, 2), 1e30)}, 'keypoint 0 lies at'),
        ({'bbox': np.array([[0, 0, np.nan, 1]])}, 'its box is'),
        ({'bbox': np.array([[5, 0, 5, 10]])}, 'no area'),
        ({'bbox': np.array([[0, 0, 1e30, 10]])}, 'its box is'),
        ({'keypoints_visible': np.full((1, 3), np.nan)}, 'visibility'),
    ],
)
def test_numbers_that_cannot_be(change: dict, message: str | None) -> None:
    problem = sample_problem(info(**change))
    if message is None:
        assert problem is None
    else:
        assert problem is not None
        assert re.search(message, problem), problem


def test_the_place_of_an_unseen_joint_may_be_anything_and_becomes_zero() -> None:
    points = np.ones((1, 3, 2), np.float32)
    points[0, 1] = np.nan
    made = info(keypoints=points, keypoints_visible=np.array([[1, 0, 1]], np.float32))
    assert sample_problem(made) is None
    assert made['keypoints'].tolist() == [[[1, 1], [0, 0], [1, 1]]]
    assert made['keypoints'].dtype == np.float32
