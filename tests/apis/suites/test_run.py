"""A call to run a suite refuses bad arguments before anything runs."""

import pytest

from hetpose import apis
from hetpose.errors import UserError


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        (dict(name='uzi'), "unknown suite 'uzi'"),
        (dict(name='uci', jobs=0), '--jobs must be at least 1, got 0'),
        (dict(name='uci', methods=['nl']), "unknown uci method 'nl'; known: anchored"),
    ],
)
def test_bad_input_is_named(tmp_path, options, message) -> None:
    with pytest.raises(UserError, match=message):
        apis.run_suite(out=tmp_path, **options)
    assert not list(tmp_path.iterdir())
