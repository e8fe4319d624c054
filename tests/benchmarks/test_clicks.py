"""The simulated annotator counts what it should, and the robust mode wins on generated errors."""

import numpy as np
import pytest
import torch

from hetpose.benchmarks import clicks
from hetpose.ops.gaussian import negative_log_likelihood
from hetpose.ops.student import predictive_nll


def test_errors_are_many_small_and_few_gross() -> None:
    errors, mask = clicks.generated_errors(2000)
    length = errors.unflatten(-1, (-1, 2)).norm(dim=-1)
    assert length.median() < 4
    assert 0.05 < (length > 20).double().mean() < 0.2
    assert mask.all()
    again, _ = clicks.generated_errors(2000)
    assert torch.equal(errors, again)


def test_without_conditioning_every_far_joint_is_a_click() -> None:
    truth = np.array([[0.0, 20.0], [1.0, 0.0], [0.0, -9.0]])
    shown = np.array([True, True, True])
    still = clicks.count_clicks(truth, shown, lambda given: np.zeros((3, 2)), 5.0)
    assert still == 2
    hidden = np.array([False, True, True])
    assert clicks.count_clicks(truth, hidden, lambda given: np.zeros((3, 2)), 5.0) == 1
    residual = torch.from_numpy(truth.reshape(1, -1))
    mask = torch.from_numpy(hidden).repeat_interleave(2)[None]
    assert clicks.unconditioned(residual, mask, 5.0) == 1
    assert clicks.unconditioned(residual, torch.ones_like(mask), 5.0) == 2


def test_the_worst_joint_is_corrected_first() -> None:
    seen: list[list[str]] = []

    def place(given: dict) -> np.ndarray:
        seen.append(list(given))
        return np.zeros((3, 2))

    truth = np.array([[0.0, 6.0], [30.0, 0.0], [0.0, -9.0]])
    clicks.count_clicks(truth, np.ones(3, bool), place, 5.0)
    assert seen[-1] == ['1', '2', '0']


def test_one_click_mends_joints_that_err_together() -> None:
    covariance = torch.full((4, 4), 0.0, dtype=torch.float64)
    covariance += 1e-6 * torch.eye(4)
    covariance[::2, ::2] += 1
    covariance[1::2, 1::2] += 1
    residual = torch.tensor([[20.0, 5.0, 20.0, 5.0]], dtype=torch.float64)
    mask = torch.ones_like(residual, dtype=torch.bool)
    assert clicks.unconditioned(residual, mask, 5.0) == 2
    for settings in ({}, dict(robust=True), dict(robust=True, degrees_of_freedom=4.0)):
        assert clicks.clicks(residual, mask, covariance, 5.0, **settings) == 1


def test_the_constant_student_is_fitted() -> None:
    errors, mask = clicks.generated_errors(400)
    covariance, nu = clicks.fit_student(errors, mask, steps=25)
    assert 2 < nu < 10
    tails = torch.full((len(errors),), nu, dtype=torch.float64)
    heavy = predictive_nll(errors, covariance, tails).mean()
    plain = negative_log_likelihood(errors, clicks.constant_covariance(errors, mask)).mean()
    assert heavy < plain - 1


def test_no_cache_is_no_error(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    monkeypatch.setenv('HETPOSE_DATA', str(tmp_path))
    assert clicks.cached_errors() is None


def test_a_cache_is_read_in_per_cent_of_the_box(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    monkeypatch.setenv('HETPOSE_DATA', str(tmp_path))
    (tmp_path / 'movenet').mkdir()
    warp = np.zeros((2, 2, 3), np.float32)
    warp[:, 0, 0] = warp[:, 1, 1] = 2.0
    present = np.ones((2, 14), bool)
    present[0, 3] = False
    np.savez(
        tmp_path / 'movenet' / clicks.CACHE,
        present=present,
        id=np.array([10, 11]),
        extent=np.array([100.0, 50.0]),
        warp=warp,
        joints=np.full((2, 14, 2), 20.0),
        keypoints=np.zeros((2, 12, 2)),
    )
    errors, mask, held_out = clicks.cached_errors()
    assert held_out.tolist() == [True, False]
    assert errors[0, 0] == pytest.approx(10)
    assert errors[1, 0] == pytest.approx(20)
    assert not mask[0, 6:8].any()
    assert (errors[0, 6:8] == 0).all()
