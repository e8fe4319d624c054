import pickle

import numpy as np
import pytest

from hetpose.errors import UserError
from hetpose.evaluation.metrics import HeteroscedasticPoseMetric
from hetpose.evaluation.metrics import pose as metric_module

JOINTS, DIM = 3, 6
SCALE = np.array([126.0, 252.0])  # image pixels per crop: 2 and 4 image pixels per heatmap pixel


def results(count: int = 60, truth: bool = True, visible=None, head: bool = True) -> list[dict]:
    """Samples as mmengine's Evaluator hands them over."""
    rng = np.random.default_rng(0)
    samples = []
    for _ in range(count):
        factor = rng.normal(size=(DIM, DIM)) * 5
        keypoints = rng.uniform(0, 300, (1, JOINTS, 2))
        error = (factor @ rng.normal(size=DIM)).reshape(1, JOINTS, 2)
        gt = dict(
            keypoints=keypoints + error,
            keypoints_visible=np.ones((1, JOINTS)) if visible is None else np.float32([visible]),
            bboxes=np.array([[10.0, 20.0, 110.0, 60.0]]),
        )
        if truth:
            gt['true_factor'] = factor[None]
        if head:
            gt['head_size'] = np.array([50.0])
        pred = dict(keypoints=keypoints, covariances=(factor @ factor.T)[None])
        samples.append(dict(gt_instances=gt, pred_instances=pred, input_scale=SCALE))
    return samples


def evaluate(samples: list[dict], **kwargs) -> dict[str, float]:
    metric = HeteroscedasticPoseMetric(heatmap_size=(64, 64), **kwargs)
    metric.dataset_meta = dict(keypoint_id2name={0: 'neck', 1: 'head', 2: 'hip'})
    metric.process({}, samples)
    return metric.evaluate(len(samples))


def test_units_and_numbers():
    samples = results()
    metrics = evaluate(samples)
    error = np.stack(
        [s['gt_instances']['keypoints'] - s['pred_instances']['keypoints'] for s in samples]
    )
    assert metrics['pose/mse_px'] == pytest.approx((error**2).mean())
    assert metrics['pose/mse'] == pytest.approx(((error / [2, 4]) ** 2).mean())
    assert metrics['pose/nll_px'] - metrics['pose/nll'] == pytest.approx(3 * np.log(8))
    distance = np.linalg.norm(error, axis=-1)
    assert metrics['pose/pck_05'] == pytest.approx((distance <= 5).mean())
    assert metrics['pose/pckh_50'] == pytest.approx((distance <= 25).mean())
    names = ('neck', 'head', 'hip')
    assert metrics['pose/tac'] == pytest.approx(np.mean([metrics[f'pose/tac_{n}'] for n in names]))
    assert metrics['pose/kl'] == pytest.approx(0, abs=0.02)  # float32
    assert metrics['pose/homoscedastic_mse'] == metrics['pose/mse']
    assert metrics['pose/homoscedastic_nll'] > metrics['pose/nll']
    assert metrics['pose/homoscedastic_w2'] > metrics['pose/w2']


def test_missing_joints_are_marginalised():
    samples = results(visible=[1, 0, 1])
    before = evaluate(samples)
    for sample in samples:
        sample['gt_instances']['keypoints'][0, 1] = np.nan
        sample['pred_instances']['keypoints'][0, 1] += 1e4
    after = evaluate(samples)
    assert before == pytest.approx(after, nan_ok=True)
    assert np.isnan(after['pose/tac_head'])
    assert np.isfinite(after['pose/tac'])


def test_what_is_unknown_is_left_out():
    metrics = evaluate(results(truth=False, head=False), per_joint=False, homoscedastic=False)
    assert not any(
        key.startswith(('pose/kl', 'pose/w2', 'pose/pckh', 'pose/tac_'))
        for key in metrics
        if key != 'pose/tac_px'
    )
    assert not any('homoscedastic' in key for key in metrics)


def test_head_joints_stand_in_for_a_head_size():
    metrics = evaluate(results(head=False), head_joints=(0, 1))
    assert 0 < metrics['pose/pckh_50'] <= 1


def test_samples_without_a_joint_are_left_out():
    samples = results()
    empty = results(1, visible=[0, 0, 0])
    assert evaluate(samples + empty)['pose/nll'] == pytest.approx(evaluate(samples)['pose/nll'])
    with pytest.raises(UserError, match='annotated'):
        evaluate(empty)


def test_a_model_without_covariances_is_refused():
    samples = results(2)
    del samples[0]['pred_instances']['covariances']
    with pytest.raises(UserError, match='covariances'):
        evaluate(samples)


def test_it_keeps_no_covariance_and_chunks_change_nothing(monkeypatch):
    samples = results(50)
    whole = evaluate(samples)
    monkeypatch.setattr(metric_module, 'CHUNK', 7)
    assert evaluate(samples) == pytest.approx(whole, nan_ok=True)
    metric = HeteroscedasticPoseMetric()
    metric.process({}, results(1, truth=False))
    kept = pickle.dumps(metric.results[0])
    values = [value for value in metric.results[0].values() if isinstance(value, np.ndarray)]
    assert max(value.size for value in values) == DIM
    assert len(kept) < 4000


def test_pck_by_the_extent_of_the_joints():
    samples = results(count=1)
    truth, predicted = samples[0]['gt_instances'], samples[0]['pred_instances']
    truth['keypoints'] = np.array([[[0.0, 0.0], [200.0, 40.0], [30.0, 999.0]]])
    truth['keypoints_visible'] = np.float32([[1, 1, 0]])  # the extent is 200
    predicted['keypoints'] = truth['keypoints'] + [[[9.0, 0.0], [11.0, 0.0], [0.0, 0.0]]]
    assert evaluate(samples, joint_box=True)['pose/pck_05'] == pytest.approx(0.5)
    assert evaluate(samples)['pose/pck_05'] == 0.0  # of the box, whose longer side is 100
