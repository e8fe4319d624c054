"""Error models learn on cached errors what varies."""

import numpy as np
import pytest
import torch

from hetpose.apis.fit.fit import split_by_image
from hetpose.apis.fit.forms import FitSettings, constant, fit_forms, predicted
from hetpose.apis.fit.report import FormScore
from hetpose.apis.fit.training import (
    TrainingSettings,
    check_enough,
    constant_covariance,
    prepare,
    rows,
    scaled,
    share_evidence,
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


def score(found):
    return FormScore.of(found, found)


def test_residuals_are_per_cent_of_the_crop(errors):
    residual, mask = scaled(errors)
    person, joint = 5, 0
    expected = errors.residual[person, joint] / errors.side[person] * 100
    np.testing.assert_allclose(residual[person, 2 * joint : 2 * joint + 2], expected)
    assert mask.shape == residual.shape


def test_the_start_is_one_covariance_for_all(errors):
    made = model()
    prepare(made, errors)
    found = predicted(made, errors).covariance
    one = constant_covariance(errors)
    torch.testing.assert_close(found, one.expand_as(found), rtol=1e-3, atol=1e-3)


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
    twin = FitSettings(components=4, width=32).diagonal_model(3, 12)
    prepare(twin, fit, diagonal=True)
    prepare(made, fit)
    for one in (twin, made):
        best = train(one, fit, validation, tmp_path, SETTINGS, progress=False)
        assert np.isfinite(best)
    plain = score(constant(constant_covariance(fit), test))
    ours, diagonal = (score(predicted(one, test)) for one in (made, twin))
    assert ours.nll < min(plain.nll, diagonal.nll) - 0.5
    off = predicted(twin, test).covariance[:, 0, 2:]
    assert off.abs().max() == 0


def test_a_model_reads_the_evidence_as_another_does(errors):
    first, second = model(), model()
    prepare(first, errors)
    share_evidence(first, second)
    prepare(second, errors, evidence=False)
    one, other = (predicted(made, errors).covariance for made in (first, second))
    assert torch.equal(one, other)
    seen = [rows(made, errors).arrays['evidence'] for made in (first, second)]
    assert torch.equal(*seen)


@pytest.mark.parametrize('tails', ['auto', 'gaussian', 'student'])
def test_tails_are_chosen_on_the_validation_or_as_asked(errors, tails, tmp_path):
    fit, validation, test = split_by_image(errors, 0).values()
    quick = TrainingSettings(epochs=2, batch_size=64, lr=5e-3)
    settings = FitSettings(tails=tails, components=4, width=16, training=quick)
    forms = fit_forms(12, fit, validation, tmp_path, settings, progress=False)
    best = min(forms.validation, key=forms.validation.get)
    assert forms.kept == (best if tails == 'auto' else tails)
    assert forms.model is forms.full[forms.kept]
    found = forms.predict(test)
    heavy = [name for name, form in found.items() if form.degrees_of_freedom is not None]
    assert heavy == ['one constant, full, Student-t', 'varying, full, Student-t']
    assert len(found) == 6


def test_fewer_people_than_the_anchor_needs_are_refused(errors):
    check_enough(errors.select(np.arange(7)))
    with pytest.raises(UserError, match='3 joints needs at least 7'):
        check_enough(errors.select(np.arange(6)))
