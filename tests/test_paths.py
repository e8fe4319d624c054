"""An argument wins over the environment, the environment over the default."""

from pathlib import Path

import pytest

from hetpose.errors import UserError
from hetpose.paths import data_root, existing


def test_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv('HETPOSE_DATA', raising=False)
    assert data_root('uci') == Path('data/uci')
    monkeypatch.setenv('HETPOSE_DATA', '/elsewhere')
    assert data_root('uci') == Path('/elsewhere/uci')
    assert data_root('uci', '/mine') == Path('/mine')


def test_absent_data_is_named(tmp_path: Path) -> None:
    assert existing(tmp_path, 'folder') == tmp_path
    with pytest.raises(UserError, match=r'annotations not found: .*nothing.*HETPOSE_DATA'):
        existing(tmp_path / 'nothing', 'annotations')
