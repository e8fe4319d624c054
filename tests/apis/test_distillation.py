"""The distilled model has the teacher's keypoints, no Taylor terms, and works in every command."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers_training import pose_config
from mmpose.registry import MODELS

from hetpose import cli
from hetpose.apis.distillation import DistillReport
from hetpose.apis.export.onnx import ExportedPose
from hetpose.apis.loading import load_pose_model
from hetpose.apis.saving import write_model
from hetpose.errors import UserError

TAYLOR = dict(type='TaylorInducedCovariance', order='gradient', floor=1e-3)


def write_teacher(
    folder: Path, covariance: dict, objective: str = 'NLLObjective'
) -> tuple[Path, Path]:
    """An untrained model whose Σ varies with the image."""
    config = pose_config(folder)
    config.custom_hooks = []
    config.model.head.covariance = covariance
    config.model.head.objective = dict(type=objective)
    config.train_dataloader.dataset.dataset.length = 40
    for loader in (config.val_dataloader, config.test_dataloader):
        loader.dataset.length = 12
    config.dump(folder / 'teacher.py')
    torch.manual_seed(3)
    model = MODELS.build(config.model)
    torch.nn.init.normal_(model.head.covariance_branch.net[-1].weight, std=0.02)
    torch.nn.init.normal_(model.head.bottleneck.lift[0].weight, std=0.3)
    write_model(config, model, {}, folder / 'made')
    return folder / 'teacher.py', folder / 'made' / 'checkpoint.pth'


@pytest.fixture(scope='module')
def distilled(tmp_path_factory):
    folder = tmp_path_factory.mktemp('distilled')
    config, checkpoint = write_teacher(folder, TAYLOR)
    run('distill', config, checkpoint, '--out', folder / 'out', '--epochs', 3, '--device', 'cpu')
    return folder


def run(*words) -> None:
    assert not cli.dispatch([str(word) for word in words])


def predictions(config: Path, checkpoint: Path, folder: Path) -> list[dict]:
    image = Path(__file__).resolve().parents[2] / 'docs' / 'images' / 'figure.png'
    words = ['infer', image, '--config', config, '--checkpoint', checkpoint, '--device', 'cpu']
    run(*words, '--pred-out-dir', folder)
    return json.loads((folder / 'figure.json').read_text())


def test_keypoints_are_the_teachers_bit_for_bit(distilled, tmp_path) -> None:
    teacher = predictions(
        distilled / 'teacher.py', distilled / 'made' / 'checkpoint.pth', tmp_path / 'teacher'
    )
    student = predictions(
        distilled / 'out' / 'config.py', distilled / 'out' / 'checkpoint.pth', tmp_path / 'student'
    )
    assert student[0]['keypoints'] == teacher[0]['keypoints']
    assert student[0]['covariance'] != teacher[0]['covariance']
    report = json.loads((distilled / 'out' / 'report.json').read_text())
    assert report['unchanged'] == 0
    assert report['people'] == dict(train=40, val=12, test=12)


def test_the_student_has_no_taylor_terms_and_learned_the_teacher(distilled) -> None:
    model = load_pose_model(
        distilled / 'out' / 'config.py', distilled / 'out' / 'checkpoint.pth', 'cpu'
    )
    assert model.network.head.covariance.taylor_order is None
    report = json.loads((distilled / 'out' / 'report.json').read_text())
    assert np.isfinite(report['divergence'])
    assert report['student'] < report['teacher'] + 1


def test_test_and_calibrate_take_it(distilled, tmp_path) -> None:
    words = [distilled / 'out' / 'config.py', distilled / 'out' / 'checkpoint.pth']
    run('test', *words, '--work-dir', tmp_path, '--out', tmp_path / 'metrics.json')
    report = json.loads((distilled / 'out' / 'report.json').read_text())
    metrics = json.loads((tmp_path / 'metrics.json').read_text())
    assert metrics['pose/nll'] == pytest.approx(report['student'], rel=1e-4)
    run('calibrate', *words, '--out', tmp_path / 'calibration')
    assert (tmp_path / 'calibration' / 'calibration.json').is_file()


def test_it_exports(distilled, tmp_path) -> None:
    pytest.importorskip('onnxscript', reason='needs hetpose[export]')
    import onnxruntime

    words = [distilled / 'out' / 'config.py', distilled / 'out' / 'checkpoint.pth']
    run('export', *words, '--out', tmp_path / 'student.onnx')
    model = load_pose_model(*words, 'cpu')
    image = 255 * torch.rand(2, 3, 128, 128, generator=torch.Generator().manual_seed(0))
    session = onnxruntime.InferenceSession(str(tmp_path / 'student.onnx'))
    keypoints, covariance = session.run(None, {'image': image.numpy()})
    with torch.no_grad():
        expected = ExportedPose(model)(image)
    np.testing.assert_allclose(keypoints, expected[0], atol=1e-3)
    np.testing.assert_allclose(covariance, expected[1], rtol=1e-3, atol=1e-3)
    assert np.linalg.eigvalsh(covariance.astype(np.float64)).min() > 0


def test_views_are_passes_of_their_own(tmp_path) -> None:
    config, checkpoint = write_teacher(tmp_path, TAYLOR)
    words = ['distill', config, checkpoint, '--out', tmp_path / 'out', '--views', 2]
    run(*words, '--label-weight', 0, '--epochs', 1, '--device', 'cpu')
    report = json.loads((tmp_path / 'out' / 'report.json').read_text())
    assert report['people'] == dict(train=80, val=12, test=12)


def test_a_plain_covariance_is_refused(tmp_path) -> None:
    plain = dict(type='FactorCovariance', floor=1e-3)
    config, checkpoint = write_teacher(tmp_path, plain)
    with pytest.raises(UserError, match='FactorCovariance has no Taylor terms'):
        run('distill', config, checkpoint, '--out', tmp_path / 'out', '--device', 'cpu')
    heavy = dict(type='StudentCovariance', scale=TAYLOR)
    config, checkpoint = write_teacher(tmp_path, heavy, 'StudentNLLObjective')
    with pytest.raises(UserError, match='only Gaussians can be distilled'):
        run('distill', config, checkpoint, '--out', tmp_path / 'out', '--device', 'cpu')
    words = ['distill', config, checkpoint, '--out', tmp_path / 'out']
    config, checkpoint = write_teacher(tmp_path, TAYLOR)
    for kind in ('NoSuchCovariance', 'TaylorInducedCovariance'):
        with pytest.raises(UserError, match='covariance of the student'):
            run(*words, '--covariance', kind, '--device', 'cpu')
    with pytest.raises(UserError, match='--views must be at least 1'):
        run(*words, '--views', 0)
    with pytest.raises(UserError, match='--label-weight'):
        run(*words, '--label-weight', -1)


def test_the_table_shows_both() -> None:
    report = DistillReport(dict(train=3, val=2, test=1), 31.5, 31.25, 0.3, 0.0)
    for text in ('31.500', '31.250', '0.300', 'largest difference 0 '):
        assert text in report.table()
