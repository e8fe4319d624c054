"""Order, batches and bad inputs on their way through the network."""

from pathlib import Path

import numpy as np
import pytest
from helpers_inference import noise_image

from hetpose.apis.inference.boxes import BoxSource
from hetpose.apis.inference.inputs import BadInput, Picture
from hetpose.apis.inference.network import Predictor
from hetpose.apis.loading import PoseModel
from hetpose.errors import PredictionError


@pytest.fixture
def predictor(model: PoseModel) -> Predictor:
    return Predictor(model)


def picture(index: int) -> Picture:
    return Picture(index, f'{index}.png', Path(f'{index}.png'), noise_image(seed=index))


@pytest.mark.parametrize('batch_size', [1, 3, 10])
def test_a_bad_input_is_reported_in_its_place(predictor: Predictor, batch_size: int) -> None:
    source = [picture(0), picture(1), BadInput('bad', 'why'), picture(2), picture(3)]
    events: list[str] = []
    for found, _ in predictor.predict(
        source, BoxSource(), batch_size, lambda bad: events.append(bad.name)
    ):
        events.append(found.name)
    assert events == ['0.png', '1.png', 'bad', '2.png', '3.png']


def test_no_more_crops_than_asked_go_through_at_once(predictor: Predictor, monkeypatch) -> None:
    sizes: list[int] = []
    original = predictor.model.network.test_step

    def test_step(data: dict) -> list:
        sizes.append(len(data['inputs']))
        return original(data)

    monkeypatch.setattr(predictor.model.network, 'test_step', test_step)
    boxes = BoxSource([[0, 0, 40, 40]] * 5)
    found = list(predictor.predict([picture(0), picture(1)], boxes, 3, pytest.fail))
    assert [len(sample.pred_instances.keypoints) for _, sample in found] == [5, 5]
    assert max(sizes) == 3


def test_a_prediction_that_is_no_gaussian_costs_its_own_picture_only(
    predictor: Predictor, monkeypatch
) -> None:
    original = predictor.model.network.test_step

    def test_step(data: dict) -> list:
        if any(one.img_path == '1.png' for one in data['data_samples']):
            raise PredictionError('predicted covariance: item 0 holds NaN or infinite values')
        return original(data)

    monkeypatch.setattr(predictor.model.network, 'test_step', test_step)
    events: list[str] = []
    source = [picture(index) for index in range(3)]
    for found, _ in predictor.predict(
        source, BoxSource(), 3, lambda bad: events.append(f'{bad.name} {bad.reason[:20]}')
    ):
        events.append(found.name)
    assert events == ['0.png', '1.png predicted covariance', '2.png']


def test_heatmaps_lie_on_the_image_where_the_box_is(predictor: Predictor) -> None:
    boxes = BoxSource([[50, 30, 60, 40]])
    ((_, sample),) = predictor.predict([picture(0)], boxes, 1, pytest.fail, heatmaps=True)
    heat = sample.pred_fields.heatmaps
    assert heat.shape == (1, 60, 80)
    y, x = np.nonzero(heat[0])
    assert x.min() > 45
    assert x.max() < 65
    assert y.min() > 25
    assert y.max() < 45
