"""From a foreign config and checkpoint to a model with a covariance, and the errors on the way."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from helpers_posthoc import JOINTS, write_foreign, write_labels
from mmengine.config import Config

from hetpose.apis.fit.cache import Errors
from hetpose.apis.fit.fit import fit_covariance, split_by_image
from hetpose.apis.fit.forms import FitSettings
from hetpose.apis.fit.training import TrainingSettings
from hetpose.errors import UserError

QUICK = FitSettings(width=16, components=4, training=TrainingSettings(epochs=2, batch_size=16))


@pytest.fixture(scope='module')
def fitted(tmp_path_factory):
    folder = tmp_path_factory.mktemp('fitted')
    config, checkpoint = write_foreign(folder, 'rtmcc', 60, flip_test=True)
    report = fit_covariance(
        config, checkpoint, folder / 'out', settings=QUICK, device='cpu', progress=False
    )
    return folder, report


@pytest.mark.parametrize(
    ('setting', 'message'),
    [
        (dict(tails='Student'), "unknown tails 'Student'; known: auto, gaussian, student"),
        (dict(lowest=2.0), 'lowest must lie between 2.001 and 5'),
        (dict(lowest=5.0), 'lowest must lie between 2.001 and 5'),
    ],
)
def test_settings_that_cannot_be_fitted_are_refused_before_the_fit(setting, message) -> None:
    with pytest.raises(UserError, match=message):
        FitSettings(**setting)


def test_the_report_compares_six_forms_and_says_that_nothing_changed(fitted):
    folder, report = fitted
    assert report.unchanged == 0
    assert len(report.forms) == 6
    text = (folder / 'out' / 'report.md').read_text()
    assert 'keypoints unchanged: largest difference 0' in text
    assert 'trained on' not in text
    assert f'Written: {report.kept} tails' in text
    numbers = json.loads((folder / 'out' / 'report.json').read_text())
    assert sum(numbers['people'].values()) == 60
    for name in ('nll.png', 'calibration/after.png', 'calibration/calibration.json'):
        assert (folder / 'out' / name).stat().st_size > 0


def test_a_second_run_reads_the_cache(fitted, monkeypatch):
    folder, report = fitted
    monkeypatch.setattr(
        'hetpose.apis.fit.cache._observe', lambda *_: pytest.fail('observed again')
    )
    again = fit_covariance(
        folder / 'foreign.py',
        folder / 'foreign.pth',
        folder / 'out',
        settings=QUICK,
        device='cpu',
        progress=False,
    )
    assert again.people == report.people
    for name, score in report.forms.items():
        assert again.forms[name].nll == pytest.approx(score.nll, rel=1e-5)


def run(folder, **changes):
    arguments = dict(
        config=folder / 'foreign.py',
        checkpoint=folder / 'foreign.pth',
        out=folder / 'other',
        settings=QUICK,
        device='cpu',
        progress=False,
    )
    return fit_covariance(**{**arguments, **changes})


def one_line(folder, **changes):
    with pytest.raises(UserError) as caught:
        run(folder, **changes)
    assert '\n' not in str(caught.value)
    return str(caught.value)


def test_a_checkpoint_of_another_model_is_one_line(fitted, tmp_path):
    _, other = write_foreign(tmp_path, 'heatmap', 4)
    assert 'does not fit' in one_line(fitted[0], checkpoint=other)


def test_annotations_with_other_joints_are_one_line(fitted, tmp_path):
    labels = write_labels(tmp_path, 4, names=('head', 'tail'))
    said = one_line(fitted[0], annotations=labels, images=tmp_path / 'images')
    assert 'other joints' in said
    assert 'head, tail' in said


def test_too_few_people_are_one_line(fitted, tmp_path):
    labels = write_labels(tmp_path, 6)
    said = one_line(fitted[0], annotations=labels, images=tmp_path / 'images')
    assert f'needs at least {2 * JOINTS + 1}' in said


@pytest.mark.parametrize(
    ('changes', 'said'),
    [
        (dict(annotations='absent.json'), 'annotations not found'),
        (dict(checkpoint='absent.pth'), 'checkpoint not found'),
    ],
)
def test_absent_files_are_one_line(fitted, changes, said):
    assert said in one_line(fitted[0], **changes)


def test_a_bottom_up_model_is_refused_with_a_reason(fitted, tmp_path):
    config = Config.fromfile(str(fitted[0] / 'foreign.py'))
    config.model.type = 'BottomupPoseEstimator'
    config.dump(str(tmp_path / 'bottom.py'))
    assert 'one person at a time' in one_line(fitted[0], config=tmp_path / 'bottom.py')


def test_training_labels_are_called_so(fitted, tmp_path):
    config = Config.fromfile(str(fitted[0] / 'foreign.py'))
    config.train_dataloader.dataset.ann_file = 'labels.json'
    config.dump(str(tmp_path / 'same.py'))
    report = run(fitted[0], config=tmp_path / 'same.py', out=fitted[0] / 'out')
    assert report.flattered
    assert 'trained on' in report.markdown()


@pytest.mark.parametrize('tails', ['gaussian', 'student'])
def test_the_written_model_has_the_tails_that_were_asked_for(fitted, tails, tmp_path):
    report = run(fitted[0], out=tmp_path, settings=replace(QUICK, tails=tails))
    assert report.kept == tails
    kind = Config.fromfile(str(tmp_path / 'config.py')).model.head.covariance.type
    assert kind == dict(gaussian='AnchoredCovariance', student='StudentCovariance')[tails]
    numbers = json.loads((tmp_path / 'report.json').read_text())
    assert set(numbers['validation_nll']) == {'gaussian', 'student'}
    assert 2 < numbers['degrees_of_freedom'][0] <= numbers['degrees_of_freedom'][2]


def test_a_validation_part_of_one_image_has_no_conformal_ellipsoids(fitted, tmp_path):
    labels = write_labels(tmp_path, 60)
    content = json.loads(labels.read_text())
    for place, label in enumerate(content['annotations']):
        label['image_id'] = content['images'][place % 10]['id']
    labels.write_text(json.dumps(content))
    out = tmp_path / 'out'
    report = run(fitted[0], annotations=labels, images=tmp_path / 'images', out=out)
    assert report.images == dict(fit=7, validation=1, test=2)
    assert report.calibration.conformal == {}
    assert (out / 'checkpoint.pth').is_file()


def test_people_of_one_image_stay_together():
    images = np.repeat([f'{i}.png' for i in range(50)], 3)
    empty = np.zeros((150, 2, 2))
    errors = Errors(empty, empty, empty, np.ones((150, 2), bool), np.ones(150), images)
    parts = split_by_image(errors, seed=0)
    assert [len(part) for part in parts.values()] == [105, 15, 30]
    sets = [set(part.image) for part in parts.values()]
    assert len(set.union(*sets)) == sum(map(len, sets))


def test_the_written_model_predicts_what_was_fitted(fitted):
    from hetpose.apis.calibration.predict import load_config, predict_split
    from hetpose.apis.loading import load_network

    folder, report = fitted
    config = load_config(folder / 'out' / 'config.py')
    model, _ = load_network(config, folder / 'out' / 'checkpoint.pth')
    found = predict_split(model, config, 'val', progress=False)
    assert len(found) == 60
    assert torch.linalg.eigvalsh(found.data.covariance).min() > 0
    recalibration = report.calibration.recalibration
    assert found.weights == recalibration.weights
    assert found.model == recalibration.model
    assert found.names == recalibration.joint_names
