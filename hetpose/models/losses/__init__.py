"""Training objectives of heteroscedastic regression."""

from hetpose.models.losses.anchored_nll import AnchoredNLLObjective
from hetpose.models.losses.base import Objective
from hetpose.models.losses.diagonal_nll import BetaNLLObjective, DiagonalNLLObjective
from hetpose.models.losses.faithful import FaithfulObjective
from hetpose.models.losses.kl import KLObjective
from hetpose.models.losses.mse import MSEObjective
from hetpose.models.losses.nll import NLLObjective
from hetpose.models.losses.w2 import W2Objective
from hetpose.models.losses.w2_bound import W2BoundObjective

__all__ = [
    'AnchoredNLLObjective',
    'BetaNLLObjective',
    'DiagonalNLLObjective',
    'FaithfulObjective',
    'KLObjective',
    'MSEObjective',
    'NLLObjective',
    'Objective',
    'W2BoundObjective',
    'W2Objective',
]
