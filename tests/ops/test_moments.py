import torch

from hetpose.ops.moments import pair_sums, residual_covariance

D = torch.float64


def test_without_missing_values_it_is_the_second_moment() -> None:
    residual = torch.randn(50, 4, dtype=D)
    found = residual_covariance(*pair_sums(residual))
    torch.testing.assert_close(found, residual.mT @ residual / 50)


def test_a_pair_counts_the_samples_that_have_both() -> None:
    residual = torch.randn(200, 3, dtype=D)
    mask = torch.rand(200, 3) > 0.3
    hidden = torch.where(mask, residual, torch.nan)
    found = residual_covariance(*pair_sums(hidden, mask))
    both = mask[:, 0] & mask[:, 2]
    torch.testing.assert_close(found[0, 2], (residual[both, 0] * residual[both, 2]).mean())


def test_sums_of_parts_are_the_sums_of_the_whole() -> None:
    residual, mask = torch.randn(40, 3, dtype=D), torch.rand(40, 3) > 0.3
    parts = [pair_sums(residual[i::2], mask[i::2]) for i in range(2)]
    for whole, one, other in zip(pair_sums(residual, mask), *parts, strict=True):
        torch.testing.assert_close(whole, one + other)


def test_a_shrunk_covariance_of_few_samples_is_definite_and_of_many_the_moment() -> None:
    few = torch.randn(3, 8, dtype=D)
    shrunk = residual_covariance(*pair_sums(few), shrink=True)
    assert torch.linalg.eigvalsh(shrunk).min() > 1e-3
    assert torch.equal(shrunk, shrunk.mT)
    many = torch.randn(20_000, 4, dtype=D) @ torch.randn(4, 4, dtype=D)
    sums = pair_sums(many)
    plain, shrunk = residual_covariance(*sums), residual_covariance(*sums, shrink=True)
    torch.testing.assert_close(shrunk, plain, rtol=1e-3, atol=1e-2)


def test_what_was_never_seen_has_no_covariance() -> None:
    residual, mask = torch.randn(20, 2, dtype=D), torch.tensor([True, False]).expand(20, 2)
    assert residual_covariance(*pair_sums(residual, mask))[1].tolist() == [0, 0]
