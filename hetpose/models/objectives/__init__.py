"""Training objectives of heteroscedastic regression."""

from hetpose.models.objectives.anchored_nll import AnchoredNLLObjective
from hetpose.models.objectives.base import Objective, trains_mean_alone
from hetpose.models.objectives.diagonal_nll import BetaNLLObjective, DiagonalNLLObjective
from hetpose.models.objectives.faithful import FaithfulObjective
from hetpose.models.objectives.kl import KLObjective
from hetpose.models.objectives.mse import MSEObjective
from hetpose.models.objectives.nll import NLLObjective
from hetpose.models.objectives.student_nll import StudentNLLObjective
from hetpose.models.objectives.w2 import W2Objective
from hetpose.models.objectives.w2_bound import W2BoundObjective

__all__ = [
    'AnchoredNLLObjective',
    'BetaNLLObjective',
    'DiagonalNLLObjective',
    'FaithfulObjective',
    'KLObjective',
    'MSEObjective',
    'NLLObjective',
    'Objective',
    'StudentNLLObjective',
    'W2BoundObjective',
    'W2Objective',
    'trains_mean_alone',
]
