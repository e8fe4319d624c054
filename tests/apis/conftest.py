"""A pose model that the tests of the inferencer share; none of them changes it."""

import pytest
from helpers_inference import tiny_model

from hetpose.apis.loading import PoseModel


@pytest.fixture(scope='session')
def model(tmp_path_factory) -> PoseModel:
    return tiny_model(tmp_path_factory.mktemp('model'))
