"""A checkpoint that does not fit is named before it is loaded."""

from pathlib import Path

import pytest
import torch

from hetpose.engine.checkpoint import check_fit, read_checkpoint
from hetpose.errors import UserError


def check(model: torch.nn.Module, path: Path, whole: bool) -> None:
    check_fit(model, read_checkpoint(path), path, whole)


class TestCheckpoint:
    @pytest.fixture
    def model(self) -> torch.nn.Module:
        return torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 1))

    def save(self, tmp_path: Path, state: dict) -> Path:
        torch.save({'state_dict': state}, tmp_path / 'c.pth')
        return tmp_path / 'c.pth'

    def test_its_own_weights_fit(self, tmp_path: Path, model: torch.nn.Module) -> None:
        check(model, self.save(tmp_path, model.state_dict()), whole=True)

    def test_another_shape_is_named(self, tmp_path: Path, model: torch.nn.Module) -> None:
        state = {**model.state_dict(), '1.weight': torch.zeros(2, 3)}
        path = self.save(tmp_path, state)
        with pytest.raises(UserError, match=r'1\.weight is \(2, 3\) there and \(1, 3\)'):
            check(model, path, whole=True)
        check(model, path, whole=False)  # a new head on the old trunk

    def test_another_network_is_no_start(self, tmp_path: Path, model: torch.nn.Module) -> None:
        state = {name: torch.zeros(7) for name in model.state_dict()}
        with pytest.raises(UserError, match='4 such weights'):
            check(model, self.save(tmp_path, state), whole=False)

    def test_a_part_is_enough_for_fine_tuning_only(
        self, tmp_path: Path, model: torch.nn.Module
    ) -> None:
        state = {k: v for k, v in model.state_dict().items() if k.startswith('0.')}
        path = self.save(tmp_path, state)
        check(model, path, whole=False)
        with pytest.raises(UserError, match='lacks 2 of 4 weights'):
            check(model, path, whole=True)

    def test_another_model_fits_nothing(self, tmp_path: Path, model: torch.nn.Module) -> None:
        with pytest.raises(UserError, match='lacks 4 of 4'):
            check(model, self.save(tmp_path, {'x': torch.ones(1)}), whole=False)

    @pytest.mark.parametrize('content', [b'', b'not a checkpoint', b'PK\x03\x04half'])
    def test_a_torn_file_is_named(
        self, tmp_path: Path, model: torch.nn.Module, content: bytes
    ) -> None:
        (tmp_path / 'c.pth').write_bytes(content)
        with pytest.raises(UserError, match=r'c\.pth cannot be read'):
            check(model, tmp_path / 'c.pth', whole=True)

    def test_a_missing_file_is_named(self, model: torch.nn.Module) -> None:
        with pytest.raises(UserError, match=r'checkpoint not found: no\.pth'):
            check(model, 'no.pth', whole=True)
