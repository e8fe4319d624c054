"""The benchmark of frozen models runs, at its smallest."""

from hetpose.benchmarks import posthoc


def test_the_fit_is_timed():
    row = posthoc.fit(60, 1)
    assert row.passed
    assert row.metrics['seconds'] > 0


def test_the_wrapped_model_is_the_packaged_one():
    foreign, wrapped, size = posthoc.models(posthoc.CONFIGS['RTMPose-s'])
    assert size == (192, 256)
    weights = wrapped.state_dict()
    for name, value in foreign.head.state_dict().items():
        assert weights[f'head.head.{name}'].equal(value)
