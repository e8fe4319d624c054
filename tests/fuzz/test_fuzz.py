"""A few hundred of the fuzz cases; ``make fuzz`` runs ten thousand."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from cases import TARGETS, failures  # noqa: E402


def test_damaged_input_of_every_kind_ends_in_a_named_error() -> None:
    assert len(TARGETS) >= 11
    found = [f'{kind} {index}: {error!r}' for kind, index, error in failures(360)]
    assert not found
