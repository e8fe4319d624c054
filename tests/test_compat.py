"""The shims do what their docstrings promise, and no more."""

import importlib
import importlib.metadata
import sys
import types
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from mmengine.logging.history_buffer import HistoryBuffer

from hetpose import compat


def test_a_missing_mmcv_operator_raises_when_called() -> None:
    import mmcv.ops

    if getattr(sys.modules['mmcv._ext'].__spec__, 'loader', None) is not None:
        pytest.skip('a compiled mmcv is installed')
    with pytest.raises(compat.MissingOpError, match='nms_match.*pip install mmcv'):
        mmcv.ops.nms_match(torch.zeros(1, 5), 0.5)


def test_an_operator_that_is_provided_is_called() -> None:
    import mmcv.ops

    from hetpose.ops.nms import nms

    compat.provide_mmcv_op('nms', nms)
    boxes = torch.tensor([[0.0, 0, 10, 10], [1, 1, 11, 11], [20, 20, 30, 30]])
    scores = torch.tensor([0.5, 0.9, 0.1])
    assert mmcv.ops.nms(boxes, scores, 0.5)[1].tolist() == [1, 2]
    classes = torch.tensor([0, 1, 0])
    kept = mmcv.ops.batched_nms(boxes, scores, classes, dict(type='nms', iou_threshold=0.5))[1]
    assert kept.tolist() == [1, 0, 2]


def test_the_placeholder_does_not_pretend_to_be_the_real_thing() -> None:
    if getattr(sys.modules['mmcv._ext'].__spec__, 'loader', None) is not None:
        pytest.skip('a compiled mmcv is installed')
    import mmengine.utils.dl_utils.misc as misc

    assert not misc.mmcv_full_available()
    with pytest.raises(AttributeError):
        _ = sys.modules['mmcv._ext'].__path__


def test_a_real_extension_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    real = types.ModuleType('mmcv._ext')
    monkeypatch.setitem(sys.modules, 'mmcv._ext', real)
    compat.patch_mmcv_ops()
    assert sys.modules['mmcv._ext'] is real


def test_torchvision_imports_and_a_working_one_is_left_alone() -> None:
    before = importlib.import_module('torchvision')
    compat.patch_torchvision()
    assert sys.modules['torchvision'] is before
    from torchvision.transforms import functional

    assert functional.hflip(torch.tensor([[[1, 2]]])).tolist() == [[[2, 1]]]


def test_a_checkpoint_of_mmengine_loads_weights_only(tmp_path: Path) -> None:
    buffer = HistoryBuffer([1.0, 2.0], [1, 1])
    hub = {'log_scalars': {'loss': buffer}, 'seen': np.float64(0.5), 'flag': np.bool_(True)}
    torch.save({'state_dict': {'w': torch.ones(2)}, 'message_hub': hub}, tmp_path / 'c.pth')
    loaded = torch.load(tmp_path / 'c.pth', weights_only=True)
    assert loaded['message_hub']['log_scalars']['loss'].mean() == 1.5
    assert loaded['message_hub']['seen'] == 0.5


def test_mmpose_finds_the_albumentations_module_that_it_reads() -> None:
    import albumentations.augmentations as augmentations

    assert hasattr(augmentations.transforms, 'GaussNoise') or hasattr(
        augmentations.transforms, 'ToGray'
    )


@pytest.mark.parametrize(('version', 'silenced'), [('5.1.0', True), ('4.50.0', False)])
def test_multimodal_models_are_left_out_beside_transformers_5_only(
    monkeypatch: pytest.MonkeyPatch, version: str, silenced: bool
) -> None:
    import mmpretrain.utils.dependency as dependency

    monkeypatch.setattr(dependency, 'WITH_MULTIMODAL', True)
    monkeypatch.setattr(importlib.metadata, 'version', lambda name: version)
    compat.patch_mmpretrain()
    assert dependency.WITH_MULTIMODAL is not silenced


def test_only_known_deprecations_are_silenced() -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter('always')
        compat.silence_known_deprecations()
        warnings.warn(
            '`torch.cuda.amp.GradScaler(args...)` is deprecated.', FutureWarning, stacklevel=1
        )
        warnings.warn('something new is deprecated', FutureWarning, stacklevel=1)
    assert [str(w.message) for w in seen] == ['something new is deprecated']


def test_file_client_keeps_its_other_messages(capsys: pytest.CaptureFixture[str]) -> None:
    import mmengine.fileio.file_client as file_client

    compat.silence_file_client()  # a second call changes nothing
    file_client.print_log('"FileClient" will be deprecated in future.', logger=None)
    file_client.print_log('disk full', logger=None)
    assert capsys.readouterr().out == 'disk full\n'


def test_a_local_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    from mmengine.fileio import get_file_backend

    target = tmp_path / 'epoch_1.pth'
    backend = get_file_backend(str(target))
    backend.put(b'first', str(target))

    class Failing:
        def __len__(self) -> int:
            raise OSError('disk full')

    with pytest.raises((OSError, TypeError)):
        backend.put(Failing(), str(target))
    assert target.read_bytes() == b'first'
    assert [p.name for p in tmp_path.iterdir()] == ['epoch_1.pth']
