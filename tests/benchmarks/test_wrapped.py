"""Configs of mmpose's own folder, unedited but for the head."""

import pytest
import torch

from hetpose.apis.fit.foreign import labelled_dataset, wrapped_config
from hetpose.apis.fit.forms import FitSettings
from hetpose.apis.loading import build_network, load_network
from hetpose.benchmarks import wrapped
from hetpose.engine import launch


def test_all_configs_come_with_mmpose():
    assert len(wrapped.CONFIGS) >= 11
    for config in wrapped.CONFIGS.values():
        assert wrapped.packaged(config).is_file()


def test_enough_people_are_generated_for_the_fit():
    assert 0.7 * wrapped.people_needed(17) >= 35
    assert 0.7 * wrapped.people_needed(133) >= 267


@pytest.mark.parametrize(
    'name', ['MobileNetV2', 'SimCC', 'RTMPose-s', 'ResNet-50, RLE', 'ViPNAS-MBV3']
)
def test_a_wrapped_model_predicts_what_it_did(name, tmp_path):
    config = wrapped.packaged(wrapped.CONFIGS[name])
    options, checkpoint = wrapped.prepare(config, tmp_path, people=4)
    settings = launch.load_config(config, options)
    foreign, _ = load_network(settings, checkpoint)
    choice, labels = FitSettings(), labelled_dataset(settings)
    made = wrapped_config(settings, choice.covariance(17), choice.objective(), labels)
    model = build_network(made)
    model.load_state_dict(foreign.state_dict(), strict=False)
    difference, smallest = wrapped.compare(foreign, model, made)
    assert difference == 0
    assert smallest > 0
    with torch.no_grad():  # the comparison sees a difference where there is one
        for parameter in model.parameters():
            if parameter.ndim == 1:  # biases: an untrained network's signal may vanish on its way
                parameter.add_(0.1)
    assert wrapped.compare(foreign, model, made)[0] > 0


@pytest.mark.slow
def test_a_packaged_model_is_fitted_tested_and_asked():
    row = wrapped.wrap('SimCC', epochs=1)
    assert row.passed, row
    assert row.metrics['joints'] == 17
