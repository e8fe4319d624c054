"""The simulated annotator counts what it should, and the robust mode wins on generated errors."""

import numpy as np
import pytest
import torch
from helpers_posthoc import write_foreign

from hetpose.apis.fit.cache import read_cache
from hetpose.apis.fit.fit import fit_covariance, split_by_image
from hetpose.apis.fit.forms import FitSettings
from hetpose.apis.fit.training import TrainingSettings
from hetpose.benchmarks import clicks
from hetpose.errors import UserError
from hetpose.ops.gaussian import negative_log_likelihood
from hetpose.ops.student import covariance_from_scale, predictive_nll
from hetpose.ops.student_moments import fit_student


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


def test_one_click_corrects_joints_that_err_together() -> None:
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
    scale, nu = fit_student(errors, mask)
    covariance = covariance_from_scale(scale, nu)
    assert 2 < nu < 10
    tails = torch.full((len(errors),), nu, dtype=torch.float64)
    heavy = predictive_nll(errors, covariance, tails).mean()
    plain = negative_log_likelihood(errors, clicks.constant_covariance(errors, mask)).mean()
    assert heavy < plain - 1


def test_every_person_has_a_covariance_of_their_own() -> None:
    """The second person's joints err together, the first one's do not."""
    alone = torch.eye(4, dtype=torch.float64)
    together = alone * 1e-6
    together[::2, ::2] += 1
    together[1::2, 1::2] += 1
    residual = torch.tensor([[20.0, 5.0, 20.0, 5.0]], dtype=torch.float64).expand(2, 4)
    mask = torch.ones_like(residual, dtype=torch.bool)
    covariances = torch.stack([alone, together])
    assert clicks.clicks(residual, mask, covariances, 5.0) == 1.5
    nu = torch.tensor([4.0, 9.0], dtype=torch.float64)
    assert clicks.clicks(residual, mask, covariances, 5.0, nu, robust=True) == 1.5


def test_a_folder_without_a_fit_is_one_line(tmp_path) -> None:
    with pytest.raises(UserError, match='no result of fit-covariance'):
        clicks.read_fit(tmp_path)


def test_the_people_of_a_fit_are_read_in_per_cent_of_the_box(tmp_path) -> None:
    config, checkpoint = write_foreign(tmp_path, 'heatmap', 40)
    training = TrainingSettings(epochs=1, batch_size=16)
    settings = FitSettings(tails='student', width=8, components=2, training=training)
    out = tmp_path / 'out'
    report = fit_covariance(
        config, checkpoint, out, settings=settings, device='cpu', progress=False
    )
    known, judged = clicks.read_fit(out)
    assert [len(known), len(judged)] == [report.people['fit'], report.people['test']]
    errors = split_by_image(read_cache(out / 'cache'), 0)['test']
    box = errors.side / 1.25
    expected = 100 * errors.residual / box[:, None, None]
    torch.testing.assert_close(judged.residual, torch.as_tensor(expected).flatten(1))
    assert (judged.degrees_of_freedom > 2).all()
    nll = predictive_nll(
        judged.residual, judged.covariance, judged.degrees_of_freedom, judged.present
    )
    # A density of lengths that are 1.25 times as large is smaller by that, a coordinate.
    shift = judged.present.sum(-1).double().mean().item() * np.log(1.25)
    written = report.forms['varying, full, Student-t'].nll
    assert nll.mean().item() == pytest.approx(written + shift, rel=1e-6)
