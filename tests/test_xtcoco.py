"""Every kind of keypoints scores on pycocotools as it does on xtcocotools 1.14.3."""

import contextlib
import copy
import importlib
import io
import json
import sys

import numpy as np
import pytest

from hetpose import xtcoco

JOINTS = {
    'keypoints': 17,
    'foot_kpts': 6,
    'face_kpts': 68,
    'lefthand_kpts': 21,
    'righthand_kpts': 21,
}
SIGMAS = np.linspace(0.03, 0.1, sum(JOINTS.values()))
# kind of evaluation, number of joints, use_area, whether annotations have an area
SETTINGS = {
    'coco': ('keypoints', 17, True, True),
    'coco without area': ('keypoints', 17, False, True),
    'aic': ('keypoints', 14, True, True),
    'aic without area': ('keypoints', 14, False, False),
    'crowd': ('keypoints_crowd', 14, False, False),
    'body': ('keypoints_body', 17, True, True),
    'foot': ('keypoints_foot', 6, True, True),
    'face': ('keypoints_face', 68, True, True),
    'left hand': ('keypoints_lefthand', 21, True, True),
    'right hand': ('keypoints_righthand', 21, True, True),
    'whole body': ('keypoints_wholebody', 133, True, True),
}


def data(body_joints: int, has_area: bool) -> tuple[dict, list[dict]]:
    """Annotations of 12 images with 0 to 4 people, and results near to them, with false ones."""
    rng = np.random.RandomState(0)  # its stream never changes  # noqa: NPY002
    annotations: list[dict] = []
    results: list[dict] = []
    for image in range(12):
        for _ in range(image % 5):
            x, y = rng.uniform(0, 400, 2)
            w, h = rng.uniform(20, 250, 2)
            truth = dict(
                id=len(annotations),  # 0 is an id too
                image_id=image,
                category_id=1,
                bbox=[x, y, w, h],
                num_keypoints=int(rng.randint(0, 5)),
            )
            if len(annotations) % 3:
                truth['iscrowd'] = int(len(annotations) % 7 == 1)
            if has_area:
                truth['area'] = float(w * h * rng.uniform(0.3, 0.8))
            found = dict(image_id=image, category_id=1, score=float(rng.uniform()))
            error = rng.uniform(0, 0.12)
            for part, count in JOINTS.items():
                count = body_joints if part == 'keypoints' else count
                points = np.array([x, y]) + rng.uniform(size=(count, 2)) * np.array([w, h])
                seen = rng.randint(0, 3, count) * (rng.uniform() > 0.2)
                truth[part] = np.column_stack([points, seen]).ravel().tolist()
                moved = points + rng.normal(size=points.shape) * error * np.sqrt(w * h)
                scores = rng.uniform(0.1, 1, count) * (rng.uniform() > 0.1)
                found[part] = np.column_stack([moved, scores]).ravel().tolist()
                if part != 'keypoints' and image % 2:
                    found[part.replace('_kpts', '_score')] = float(rng.uniform())
            found['wholebody_score'] = float(rng.uniform())
            annotations.append(truth)
            results.append(found)
    images = [dict(id=image, crowdIndex=image / 11) for image in range(12)]
    categories = [dict(id=1, name='person')]
    return dict(images=images, annotations=annotations, categories=categories), results


def stats(tools, path, setting: str) -> list[float]:
    """The summary of a COCOeval of ``tools`` (coco, cocoeval)."""
    kind, joints, use_area, has_area = SETTINGS[setting]
    body = joints if kind in ('keypoints', 'keypoints_crowd') else 17
    truth, results = data(body, has_area)
    path.write_text(json.dumps(truth))
    with contextlib.redirect_stdout(io.StringIO()):
        annotations = tools[0].COCO(str(path))
        (path.parent / 'results.json').write_text(json.dumps(results))
        found = annotations.loadRes(str(path.parent / 'results.json'))
        judged = tools[1].COCOeval(annotations, found, kind, SIGMAS[:joints], use_area)
        judged.params.useSegm = None
        judged.evaluate()
        judged.accumulate()
        judged.summarize()
    return [round(float(value), 6) for value in judged.stats]


# of xtcocotools 1.14.3
EXPECTED = {
    'coco': [
        0.101122,
        0.232673,
        0.035644,
        0.117822,
        0.131064,
        0.223077,
        0.461538,
        0.153846,
        0.133333,
        0.3,
    ],
    'coco without area': [
        0.091056,
        0.232673,
        0.007921,
        0.185149,
        0.073872,
        0.207692,
        0.461538,
        0.076923,
        0.185714,
        0.233333,
    ],
    'aic': [
        0.121075,
        0.254125,
        0.105611,
        0.106106,
        0.159208,
        0.270588,
        0.470588,
        0.235294,
        0.1875,
        0.344444,
    ],
    'aic without area': [
        0.075385,
        0.168592,
        0.085809,
        0.067327,
        0.102376,
        0.171429,
        0.357143,
        0.214286,
        0.1,
        0.228571,
    ],
    'crowd': [0.195006, 0.322442, 0.220022, 0.3375, 0.5, 0.375, 1.0, 0.1402, 0.2059],
    'body': [
        0.101122,
        0.232673,
        0.035644,
        0.117822,
        0.131064,
        0.223077,
        0.461538,
        0.153846,
        0.133333,
        0.3,
    ],
    'foot': [
        0.13389,
        0.268152,
        0.094059,
        0.344802,
        0.023144,
        0.25625,
        0.4375,
        0.1875,
        0.377778,
        0.116667,
    ],
    'face': [
        0.167468,
        0.257426,
        0.257426,
        0.152442,
        0.221763,
        0.3,
        0.4375,
        0.4375,
        0.285714,
        0.35,
    ],
    'left hand': [
        0.159356,
        0.289329,
        0.082178,
        0.160891,
        0.233876,
        0.25625,
        0.375,
        0.1875,
        0.1875,
        0.371429,
    ],
    'right hand': [
        0.173217,
        0.310244,
        0.089109,
        0.322631,
        0.041584,
        0.3,
        0.466667,
        0.2,
        0.455556,
        0.08,
    ],
    'whole body': [
        0.292504,
        0.605696,
        0.32797,
        0.465563,
        0.197063,
        0.468421,
        0.736842,
        0.526316,
        0.53,
        0.425,
    ],
}


@pytest.mark.parametrize('setting', SETTINGS)
def test_it_equals_what_the_original_gave(tmp_path, setting: str) -> None:
    assert stats((xtcoco, xtcoco), tmp_path / 'a.json', setting) == EXPECTED[setting]
    assert np.std(EXPECTED[setting]) > 0.01, 'a test that everything passes'


@pytest.mark.parametrize('setting', SETTINGS)
def test_it_equals_the_original_where_that_is_installed(tmp_path, setting: str) -> None:
    names = [name for name in sys.modules if name.partition('.')[0] == 'xtcocotools']
    alias = {name: sys.modules.pop(name) for name in names}
    try:
        tools = [importlib.import_module(f'xtcocotools.{name}') for name in ('coco', 'cocoeval')]
    except ImportError:
        pytest.skip('xtcocotools is not installed')
    finally:
        for name in [name for name in sys.modules if name.partition('.')[0] == 'xtcocotools']:
            del sys.modules[name]
        sys.modules.update(alias)
    assert tools[1].COCOeval is not xtcoco.COCOeval
    assert stats(tools, tmp_path / 'a.json', setting) == EXPECTED[setting]


def test_no_result_is_a_score_of_zero(tmp_path) -> None:
    truth, _ = data(17, True)
    (tmp_path / 'a.json').write_text(json.dumps(truth))
    (tmp_path / 'b.json').write_text('[]')
    with contextlib.redirect_stdout(io.StringIO()):
        annotations = xtcoco.COCO(str(tmp_path / 'a.json'))
        judged = xtcoco.COCOeval(annotations, annotations.loadRes(str(tmp_path / 'b.json')))
        judged.evaluate()
        judged.accumulate()
        judged.summarize()
    assert set(judged.stats) == {0.0}


def test_annotations_stay_as_they_are(tmp_path) -> None:
    truth, results = data(17, True)
    (tmp_path / 'a.json').write_text(json.dumps(truth))
    with contextlib.redirect_stdout(io.StringIO()):
        annotations = xtcoco.COCO(str(tmp_path / 'a.json'))
        before = copy.deepcopy(annotations.dataset)
        judged = xtcoco.COCOeval(annotations, annotations.loadRes(results), use_area=False)
        judged.evaluate()
    assert annotations.dataset == before


def test_mmpose_takes_these(root) -> None:
    from mmpose.datasets.datasets.base import base_coco_style_dataset
    from mmpose.evaluation.metrics import coco_metric

    assert base_coco_style_dataset.COCO is xtcoco.COCO
    assert coco_metric.COCOeval is xtcoco.COCOeval
