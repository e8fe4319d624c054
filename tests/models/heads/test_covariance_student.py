import pytest
import torch

from hetpose.models.heads.covariance_branch import CovarianceBranch
from hetpose.models.heads.covariance_student import CovarianceStudent
from hetpose.ops.gaussian import negative_log_likelihood, sample

DIM, CODE, EVIDENCE = 4, 3, 5


def student(**changes) -> CovarianceStudent:
    branch = CovarianceBranch(
        CODE, DIM, dict(type='AnchoredCovariance', floor=1e-3), 16, 1, evidence=EVIDENCE
    )
    return CovarianceStudent(branch, **changes)


def batch(count: int = 6) -> dict[str, torch.Tensor]:
    factor = torch.randn(count, DIM, DIM)
    return dict(
        z=torch.randn(count, CODE),
        evidence=3 + 2 * torch.randn(count, EVIDENCE),
        teacher=factor @ factor.mT + torch.eye(DIM),
        residual=torch.randn(count, DIM),
        mask=torch.rand(count, DIM) < 0.8,
    )


def test_it_starts_at_the_mean_of_the_teacher_and_keeps_the_scale_of_the_evidence() -> None:
    rows, model = batch(50), student()
    model.prepare(rows['evidence'], rows['teacher'])
    model.train()
    for _ in range(3):
        found = model(**rows)
    mean = rows['teacher'].mean(0).expand_as(found)
    torch.testing.assert_close(found, mean, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(model.branch.norm.running_mean, rows['evidence'].mean(0))


def test_the_loss_of_the_teacher_is_what_its_samples_would_teach() -> None:
    """KL = E[NLL of the student − NLL of the teacher] over samples from the teacher."""
    rows, model = batch(1), student(label_weight=0.0).eval()
    losses = model(**rows, mode='loss')
    assert set(losses) == {'loss_teacher'}
    draws = sample(torch.zeros(DIM), rows['teacher'][0], 200_000)
    own = model(**rows)[0]
    gap = negative_log_likelihood(draws, own) - negative_log_likelihood(draws, rows['teacher'][0])
    assert losses['loss_teacher'].item() == pytest.approx(gap.mean().item(), rel=0.02)


def test_the_labels_count_by_their_weight() -> None:
    rows, model = batch(), student(label_weight=0.25)
    nll = model(**rows, mode='predict')[0]['nll']
    assert model(**rows, mode='loss')['loss_labels'].item() == pytest.approx(
        0.25 * nll.mean().item()
    )
    missing = rows['residual'].where(rows['mask'], 1e3)
    torch.testing.assert_close(
        model(**{**rows, 'residual': missing}, mode='predict')[0]['nll'], nll
    )
    with pytest.raises(ValueError, match='label_weight'):
        student(label_weight=-1.0)


def test_it_learns_the_teacher() -> None:
    rows, model = batch(20), student(label_weight=0.0)
    model.prepare(rows['evidence'], rows['teacher'])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(150):
        losses.append(model(**rows, mode='loss')['loss_teacher'])
        optimizer.zero_grad()
        losses[-1].backward()
        optimizer.step()
    assert losses[-1] < 0.2 * losses[0]
