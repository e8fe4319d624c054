"""The precision rule and the checks that every kernel shares."""

import pytest
import torch

from hetpose.ops.validation import check_broadcastable, explain_nan, full_precision


@full_precision
def product(left, right, scale=1.0):
    return scale * (left @ right)


class TestFullPrecision:
    def test_autocast_is_left(self):
        left, right = torch.randn(2, 8, 8)
        with torch.autocast('cpu', dtype=torch.bfloat16):
            assert (left @ right).dtype == torch.bfloat16
            assert torch.equal(product(left, right), product(left, right=right))
            assert product(left, right).dtype == torch.float32

    @pytest.mark.parametrize(
        ('left', 'right', 'result'),
        [
            (torch.float16, torch.float16, torch.float32),
            (torch.bfloat16, torch.float32, torch.float32),
            (torch.float32, torch.float64, torch.float64),
            (torch.float64, torch.float16, torch.float64),
        ],
    )
    def test_common_type(self, left, right, result):
        value = product(torch.ones(2, 2, dtype=left), torch.ones(2, 2, dtype=right))
        assert value.dtype == result

    def test_a_scalar_does_not_decide(self):
        one = torch.ones(2, 2)
        assert product(one, one, torch.tensor(2.0, dtype=torch.float64)).dtype == torch.float32

    def test_gradient_returns_in_the_type_of_the_argument(self):
        half = torch.ones(2, 2, dtype=torch.bfloat16, requires_grad=True)
        product(half, torch.ones(2, 2)).sum().backward()
        assert half.grad.dtype == torch.bfloat16


def test_overflow_is_not_blamed_on_an_argument():
    value = torch.tensor([1e30]).square()
    assert torch.isinf(explain_nan(value, argument=torch.tensor([1e30])))


def test_broadcast_names_the_arguments():
    assert check_broadcastable(a=(3, 1), b=(4,)) == (3, 4)
    with pytest.raises(ValueError, match=r'a \(3,\), b \(4,\)'):
        check_broadcastable(a=(3,), b=(4,))
