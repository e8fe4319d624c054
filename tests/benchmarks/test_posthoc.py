"""The benchmark of frozen models runs, at its smallest."""

from hetpose.apis.fit.forms import FitSettings
from hetpose.apis.fit.training import TrainingSettings
from hetpose.benchmarks import posthoc


def test_the_fit_is_timed():
    once = FitSettings(components=4, width=8, training=TrainingSettings(epochs=1))
    row = posthoc.fit(60, once)
    assert row.name.startswith('fit on 60 cached people')
    assert row.metrics['seconds'] > 0


def test_the_wrapped_model_is_the_packaged_one():
    foreign, wrapped, size = posthoc.models(posthoc.CONFIGS['RTMPose-s'])
    assert size == (192, 256)
    weights = wrapped.state_dict()
    for name, value in foreign.head.state_dict().items():
        assert weights[f'head.head.{name}'].equal(value)
