"""The page's way from an image and a box to pixels is that of the inferencer."""

import re

import cv2
import numpy as np
import pytest
from helpers_inference import noise_image, write_tiny

from hetpose import cli
from hetpose.apis import HetPoseInferencer
from hetpose.apis.calibration.recalibration import Recalibration, weights_fingerprint
from hetpose.apis.loading import load_pose_model

pytest.importorskip('onnxscript', reason='needs hetpose[export]')


@pytest.mark.slow
@pytest.mark.parametrize('calibrated', [True, False])
def test_the_recipe_gives_what_infer_gives(root, tmp_path, monkeypatch, calibrated) -> None:
    monkeypatch.chdir(tmp_path)
    config, checkpoint = write_tiny(tmp_path)
    model = load_pose_model(config, checkpoint, 'cpu')
    words = ['export', str(config), str(checkpoint), '--out', 'model.onnx']
    calibration = None
    if calibrated:
        numbers = dict(alpha=(2.0, 0.5, 1.0, 3.0), beta=(4.0, 1.0, 0.0, 9.0))
        calibration = Recalibration(
            **numbers,
            dim=8,
            count=9,
            nll_before=1.0,
            nll_after=0.5,
            joint_names=tuple(model.joint_names),
            units='pixels',
            model=model.name,
            weights=weights_fingerprint(model.network),
        )
        calibration.save('calibration.json')
        words += ['--calibration', 'calibration.json']
    assert not cli.dispatch(words)
    cv2.imwrite('photo.png', noise_image())

    names: dict = {}
    text = (root / 'docs' / 'export.md').read_text(encoding='utf-8')
    blocks = re.findall(r'^```python\n(.*?)^```', text, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 2
    for code in blocks:
        exec(compile(code, 'export.md', 'exec'), names)

    inferencer = HetPoseInferencer(model, calibration=calibration)
    (result,) = inferencer(
        'photo.png', bboxes=np.float32([[10, 5, 60, 50]]), return_datasamples=True
    )
    instances = result['predictions'][0].pred_instances
    np.testing.assert_allclose(names['joints'], instances.keypoints[0], atol=0.02)
    np.testing.assert_allclose(
        names['sigma'], instances.covariances[0], rtol=0.02, atol=0.02 * names['sigma'].max()
    )
    assert (len(names['session'].get_inputs()) == 2) == calibrated
