"""Loaders leave bad samples out, and report afterwards how many."""

from pathlib import Path

import pytest
from helpers_coco import coco_config, write_coco
from mmengine.registry import init_default_scope

from hetpose.engine.loaders import guarded_loader, quarantine_for, report_bad_samples


def test_a_batch_holds_what_can_be_used_and_the_rest_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    init_default_scope('mmpose')
    write_coco(tmp_path / 'data', 8)
    (tmp_path / 'data' / '01.jpg').write_text('no image')
    config = coco_config(tmp_path / 'data', tmp_path / 'work')
    loader = guarded_loader(config.test_dataloader, quarantine_for(config, 'test', tmp_path))
    assert [len(batch['inputs']) for batch in loader] == [3, 4]
    said: list[str] = []
    monkeypatch.setattr('hetpose.engine.loaders.print_log', lambda text, **_: said.append(text))
    report_bad_samples(loader, None)
    assert len(said) == 1
    assert '1 bad samples were left out, listed in' in said[0]


def test_the_config_says_what_a_bad_sample_is_worth() -> None:
    quarantine = quarantine_for(dict(bad_samples='fail', bad_samples_limit=0.5), 'val', 'folder')
    assert (quarantine.action, quarantine.limit) == ('fail', 0.5)
    assert quarantine.path == Path('folder/quarantine.jsonl')
