"""The command, and what every other command makes of its results."""

import json

import numpy as np
import pytest
from helpers_posthoc import JOINTS, write_foreign

from hetpose import cli
from hetpose.errors import UserError


@pytest.fixture(scope='module')
def fitted(tmp_path_factory):
    folder = tmp_path_factory.mktemp('fitted')
    write_foreign(folder, 'heatmap', 60, flip_test=True)
    words = ['fit-covariance', folder / 'foreign.py', folder / 'foreign.pth']
    run(*words, '--out', folder / 'out', '--epochs', 2, '--device', 'cpu')
    return folder / 'out'


def run(*words) -> None:
    assert not cli.dispatch([str(word) for word in words])


def test_it_prints_the_table_and_that_nothing_changed(tmp_path, capsys):
    write_foreign(tmp_path, 'rle', 40)
    words = ['fit-covariance', tmp_path / 'foreign.py', tmp_path / 'foreign.pth']
    run(*words, '--out', tmp_path / 'out', '--epochs', 1, '--device', 'cpu')
    printed = capsys.readouterr().out
    assert 'keypoints unchanged: largest difference 0' in printed
    assert 'varying, full, Student-t' in printed
    assert 'written: ' in printed


def test_images_belong_to_annotations(tmp_path):
    with pytest.raises(UserError, match='--images belongs to --ann'):
        run('fit-covariance', 'c.py', 'c.pth', '--out', tmp_path, '--images', tmp_path)


def test_test_takes_the_results(fitted, tmp_path):
    words = ['test', fitted / 'config.py', fitted / 'checkpoint.pth', '--work-dir', tmp_path]
    run(*words, '--out', tmp_path / 'metrics.json')
    metrics = json.loads((tmp_path / 'metrics.json').read_text())
    assert any(name.startswith('coco/') for name in metrics)
    assert any(name.startswith('calibration/') for name in metrics)


def test_train_takes_the_results(fitted, tmp_path):
    options = ['train_cfg.max_epochs=1', 'train_dataloader.batch_size=8']
    run('train', fitted / 'config.py', '--work-dir', tmp_path, '--cfg-options', *options)
    assert (tmp_path / 'epoch_1.pth').is_file()


def test_calibrate_takes_the_results(fitted, tmp_path):
    run('calibrate', fitted / 'config.py', fitted / 'checkpoint.pth', '--out', tmp_path)
    assert (tmp_path / 'calibration.json').is_file()


def test_infer_takes_the_results_and_the_calibration(fitted, tmp_path):
    image = fitted.parent / 'images' / '0.png'
    words = ['infer', image, '--config', fitted / 'config.py']
    words += ['--checkpoint', fitted / 'checkpoint.pth', '--device', 'cpu']
    run(*words, '--pred-out-dir', tmp_path / 'plain')
    # A recalibration that is worse on others is written as the identity: this one is not.
    content = json.loads((fitted / 'calibration' / 'calibration.json').read_text())
    calibration = tmp_path / 'calibration.json'
    calibration.write_text(json.dumps({**content, 'alpha': [4.0], 'beta': [0.0]}))
    run(*words, '--pred-out-dir', tmp_path / 'calibrated', '--calibration', calibration)
    plain, calibrated = (
        json.loads((tmp_path / name / '0.json').read_text())[0] for name in ('plain', 'calibrated')
    )
    assert plain['keypoints'] == calibrated['keypoints']
    assert plain['keypoint_scores'] == calibrated['keypoint_scores']
    assert len(plain['keypoint_probabilities']) == JOINTS
    four_times = 4 * np.array(plain['covariance'])
    np.testing.assert_allclose(calibrated['covariance'], four_times, rtol=1e-6)
    assert plain['keypoint_probabilities'] != calibrated['keypoint_probabilities']


def test_export_takes_the_results(fitted, tmp_path):
    onnxruntime = pytest.importorskip('onnxruntime')
    words = ['export', fitted / 'config.py', fitted / 'checkpoint.pth']
    run(*words, '--out', tmp_path / 'model.onnx')
    session = onnxruntime.InferenceSession(str(tmp_path / 'model.onnx'))
    names = [output.name for output in session.get_outputs()]
    assert names == ['heatmaps', 'covariance']
    image = np.random.default_rng(0).uniform(0, 255, (2, 3, 64, 48)).astype(np.float32)
    heatmaps, covariance = session.run(names, {'image': image})
    assert heatmaps.shape[:2] == (2, JOINTS)
    assert np.linalg.eigvalsh(covariance).min() > 0
