"""Error models learn on cached errors what varies."""

import numpy as np
import pytest
import torch

from hetpose.apis.fit.fit import predicted, split_by_image
from hetpose.apis.fit.report import FormScore
from hetpose.apis.fit.training import (
    TrainingSettings,
    check_enough,
    constant_covariance,
    diagonal_twin,
    prepare,
    rows,
    scaled,
    train,
)
from hetpose.errors import UserError
from hetpose.models.heads.error_model import ErrorModel

SETTINGS = TrainingSettings(epochs=15, batch_size=64, lr=5e-3)


def model(**changes):
    torch.manual_seed(0)
    settings = dict(
        joints=3,
        features=12,
        covariance=dict(type='AnchoredCovariance', floor=1e-4),
        objective=dict(type='NLLObjective'),
        components=4,
        width=32,
    )
    return ErrorModel(**{**settings, **changes})


def test_residuals_are_per_cent_of_the_crop(errors):
    residual, mask = scaled(errors)
    person, joint = 5, 0
    expected = errors.residual[person, joint] / errors.side[person] * 100
    np.testing.assert_allclose(residual[person, 2 * joint : 2 * joint + 2], expected)
    assert mask.shape == residual.shape


def test_the_start_is_one_covariance_for_all(errors):
    made = model()
    prepare(made, errors)
    found = predicted(made, errors)[0]
    constant = constant_covariance(errors)
    torch.testing.assert_close(found, constant.expand_as(found), rtol=1e-3, atol=1e-3)


def test_evidence_is_standardised_by_the_people_of_the_fit(errors):
    made = model()
    prepare(made, errors)
    standard = made.eval().standardise(rows(made, errors).arrays['evidence'])
    torch.testing.assert_close(standard.mean(0), torch.zeros(28), atol=1e-3, rtol=0)
    torch.testing.assert_close(standard.std(0), torch.ones(28), atol=1e-2, rtol=0)


@pytest.mark.parametrize(
    'changes',
    [
        dict(),
        dict(covariance=dict(type='LowRankAnchoredCovariance', rank=2, floor=1e-4)),
        dict(
            covariance=dict(
                type='StudentCovariance', scale=dict(type='AnchoredCovariance', floor=1e-4)
            ),
            objective=dict(type='StudentNLLObjective'),
        ),
    ],
    ids=['full', 'low rank', 'student'],
)
def test_a_fitted_covariance_beats_one_for_all_and_a_diagonal_one(errors, changes, tmp_path):
    parts = split_by_image(errors, 0)
    fit, validation, test = parts.values()
    made = model(**changes)
    twin = diagonal_twin(made, 32)
    prepare(twin, fit, diagonal=True)
    prepare(made, fit)
    for one in (twin, made):
        best = train(one, fit, validation, tmp_path, SETTINGS, progress=False)
        assert np.isfinite(best)
    constant = FormScore.of(constant_covariance(fit), test)
    ours, diagonal = (
        FormScore.of(s, test, n) for s, n in (predicted(made, test), predicted(twin, test))
    )
    assert ours.nll < min(constant.nll, diagonal.nll) - 0.5
    off = predicted(twin, test)[0][:, 0, 2:]
    assert off.abs().max() == 0


def test_fewer_people_than_the_anchor_needs_are_refused(errors):
    check_enough(errors.select(np.arange(7)))
    with pytest.raises(UserError, match='3 joints needs at least 7'):
        check_enough(errors.select(np.arange(6)))
