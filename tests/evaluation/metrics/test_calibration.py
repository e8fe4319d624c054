import pickle

import numpy as np
import pytest
import torch
from mmengine.evaluator import Evaluator
from mmengine.structures import InstanceData
from mmpose.registry import METRICS
from mmpose.structures import PoseDataSample

from hetpose.errors import UserError
from hetpose.evaluation.functional.scores import calibration_scores
from hetpose.evaluation.metrics.calibration import read_sample
from hetpose.ops.distribution import Distribution
from hetpose.ops.gaussian import sample

COUNT, JOINTS = 600, 3


@pytest.fixture(scope='module')
def arrays() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    factor = torch.randn(COUNT, 6, 6, generator=generator, dtype=torch.float64)
    cov = factor @ factor.mT + torch.eye(6, dtype=torch.float64)
    mean = 100 * torch.rand(COUNT, 6, generator=generator, dtype=torch.float64)
    return mean, cov, sample(mean, cov, 1, generator)[0]


def pose_samples(arrays) -> list[PoseDataSample]:
    samples = []
    for i, (mean, cov, target) in enumerate(zip(*arrays, strict=True)):
        visible = np.ones((1, JOINTS), np.float32)
        visible[0, i % JOINTS] = i % 2
        keypoints = target.reshape(1, JOINTS, 2).numpy().copy()
        keypoints[visible == 0] = np.nan
        item = PoseDataSample()
        item.gt_instances = InstanceData(keypoints=keypoints, keypoints_visible=visible)
        item.pred_instances = InstanceData(
            keypoints=mean.reshape(1, JOINTS, 2).numpy(), covariances=cov[None].numpy()
        )
        samples.append(item)
    return samples


def evaluate(samples, meta=None, **arguments) -> dict[str, float]:
    evaluator = Evaluator([METRICS.build(dict(type='CalibrationMetric', **arguments))])
    evaluator.dataset_meta = meta or {}
    evaluator.process(samples)
    return evaluator.evaluate(len(samples))


def test_poses_of_a_right_model_are_calibrated(arrays):
    names = {'keypoint_id2name': {0: 'head', 1: 'hand', 2: 'foot'}}
    metrics = evaluate(pose_samples(arrays), names, per_part=True)
    assert metrics['calibration/whole/coverage_90'] == pytest.approx(0.9, abs=0.04)
    assert metrics['calibration/part/ece'] < 0.04
    assert metrics['calibration/head/n'] == COUNT - COUNT / 6
    assert metrics['calibration/whole/chi2_per_dim'] == pytest.approx(1, abs=0.1)


def test_regression_batches_are_judged_per_dimension(arrays):
    evaluator = Evaluator([METRICS.build(dict(type='CalibrationMetric', per_part=True))])
    for mean, cov, target in zip(*(array.split(100) for array in arrays), strict=True):
        evaluator.process([dict(mean=mean, covariance=cov / 4)], dict(y=target))
    metrics = evaluator.evaluate(COUNT)
    assert metrics['calibration/whole/n'] == COUNT
    assert metrics['calibration/5/chi2_per_dim'] == pytest.approx(4, rel=0.2)


def test_a_prediction_without_covariance_is_refused(arrays):
    with pytest.raises(UserError, match='covariance'):
        read_sample({'mean': torch.zeros(2, 3), 'y': torch.zeros(2, 3)})
    item = pose_samples(arrays)[0]
    del item.pred_instances.covariances
    with pytest.raises(UserError, match='HeteroscedasticHead'):
        read_sample(item.to_dict())


def test_it_keeps_no_covariance_of_many_joints():
    """A person of 133 joints costs kilobytes; the covariance in float64 alone is 566 KB."""
    joints = 133
    factor = torch.randn(2 * joints, 2 * joints, dtype=torch.float64)
    cov = factor @ factor.mT + torch.eye(2 * joints, dtype=torch.float64)
    item = PoseDataSample()
    item.gt_instances = InstanceData(
        keypoints=np.zeros((1, joints, 2)), keypoints_visible=np.ones((1, joints))
    )
    item.pred_instances = InstanceData(
        keypoints=np.ones((1, joints, 2)), covariances=cov[None].numpy()
    )
    metric = METRICS.build(dict(type='CalibrationMetric'))
    metric.process({}, [item.to_dict()])
    assert len(pickle.dumps(metric.results)) < 20_000  # whole storages, as processes send them


def test_samples_one_by_one_give_the_scores_of_all_together(arrays):
    mean, cov, target = arrays
    metrics = evaluate(pose_samples(arrays), per_part=True)
    present = torch.tensor(
        [[i % 2 or i % JOINTS != k for k in range(JOINTS)] for i in range(COUNT)]
    )
    mask = present.repeat_interleave(2, dim=-1)
    predicted = Distribution.of_residuals(target - mean, cov, mask, block=2)
    expected = {'whole': predicted} | {str(k): part for k, part in enumerate(predicted.parts())}
    for name, part in expected.items():
        for score, value in calibration_scores(part).numbers().items():
            assert metrics[f'calibration/{name}/{score}'] == pytest.approx(value, rel=1e-9), score
