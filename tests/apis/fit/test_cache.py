"""The pass of a frozen model, kept in files."""

from pathlib import Path

import numpy as np
import pytest
import torch
from helpers_posthoc import build, wrapped_config, write_foreign
from mmengine.config import Config

from hetpose.apis.fit import cache
from hetpose.apis.fit.foreign import labelled_dataset
from hetpose.errors import UserError


@pytest.fixture
def made(tmp_path, monkeypatch):
    path, checkpoint = write_foreign(tmp_path, 'heatmap', 12)
    labels = labelled_dataset(Config.fromfile(str(path)))
    model = build(wrapped_config('heatmap'))
    model.load_state_dict(torch.load(checkpoint)['state_dict'], strict=False)
    monkeypatch.setattr(cache, 'CHUNK', 5)
    return model, labels, tmp_path / 'cache'


def files(folder: Path) -> list[Path]:
    return sorted(folder.rglob('*.npz'))


def test_residuals_are_label_minus_prediction_in_the_image(made):
    model, labels, folder = made
    errors = cache.observe_people(model, labels, folder, batch_size=4, progress=False)
    assert len(errors) == 12
    dataset = cache.build_dataset(labels)
    from mmengine.dataset import pseudo_collate

    found = model.test_step(pseudo_collate([dataset[i] for i in range(4)]))
    for row, one in enumerate(found):
        expected = one.gt_instances.keypoints[0] - one.pred_instances.keypoints[0]
        seen = one.gt_instances.keypoints_visible[0] > 0
        np.testing.assert_allclose(errors.residual[row][seen], expected[seen], atol=1e-4)
        assert (errors.residual[row][~seen] == 0).all()


def test_an_interrupted_pass_goes_on_where_it_was(made, monkeypatch):
    model, labels, folder = made
    whole = cache.observe_people(model, labels, folder, progress=False)
    lost = files(folder)[1]
    lost.unlink()
    seen = []
    original = cache._observe
    monkeypatch.setattr(
        cache,
        '_observe',
        lambda m, d, people, *a: seen.append(people) or original(m, d, people, *a),
    )
    again = cache.observe_people(model, labels, folder, progress=False)
    assert seen == [range(5, 10)]
    np.testing.assert_array_equal(again.residual, whole.residual)


def test_other_weights_have_another_cache(made):
    model, labels, folder = made
    cache.observe_people(model, labels, folder, progress=False)
    with torch.no_grad():
        model.backbone.conv.weight.mul_(1.5)
    cache.observe_people(model, labels, folder, progress=False)
    assert len(files(folder)) == 6
    with torch.no_grad():  # the error model is no part of what is cached
        model.head.errors.feature_mean.add_(1)
    cache.observe_people(model, labels, folder, progress=False)
    assert len(files(folder)) == 6


def test_the_ranks_share_the_chunks(made, monkeypatch):
    model, labels, folder = made
    monkeypatch.setattr(cache, 'get_dist_info', lambda: (1, 2))
    assert cache.observe_people(model, labels, folder, progress=False) is None
    assert [path.stem for path in files(folder)] == ['0000005']
    monkeypatch.setattr(cache, 'get_dist_info', lambda: (0, 2))
    assert len(cache.observe_people(model, labels, folder, progress=False)) == 12


def test_a_torn_file_is_named(made):
    model, labels, folder = made
    cache.observe_people(model, labels, folder, progress=False)
    files(folder)[0].write_bytes(b'torn')
    with pytest.raises(UserError, match='0000000.npz is damaged'):
        cache.observe_people(model, labels, folder, progress=False)


def test_data_that_is_not_there_is_one_line(made):
    model, labels, folder = made
    labels.ann_file = 'absent.json'
    with pytest.raises(UserError, match='labelled data') as caught:
        cache.observe_people(model, labels, folder, progress=False)
    assert '\n' not in str(caught.value)
