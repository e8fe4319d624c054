"""A type that no registry knows is named with the nearest one."""

import pytest
from mmpose.registry import MODELS

from hetpose.engine.config_file import one_line

UNKNOWN = 'type {!r} is not in the model registry'


@pytest.mark.parametrize(
    ('name', 'hint'), [('NLLObjectiv', "; did you mean 'NLLObjective'?"), ('Zzzzzz', '')]
)
def test_an_unknown_type_comes_with_the_nearest_name(name: str, hint: str) -> None:
    with pytest.raises(KeyError) as error:
        MODELS.build(dict(type=name))
    assert one_line(error.value) == UNKNOWN.format(name) + hint
