"""The peak of a process is measured from the last reset on."""

import mmap

import pytest

from hetpose import memory

MEGABYTE = 2**20
SIZE = 256 * MEGABYTE


def test_the_peak_outlives_what_was_freed_and_is_forgotten_when_asked() -> None:
    if not memory.CLEAR_REFS.exists():
        pytest.skip('only Linux forgets the peak of a process')
    before = memory.reset_peak()
    with mmap.mmap(-1, SIZE) as block:  # not malloc, which may keep for itself what is freed
        for page in range(0, SIZE, mmap.PAGESIZE):
            block[page] = 1
        held = memory.peak()
    assert held - before > 200 * MEGABYTE
    assert memory.peak() > held - MEGABYTE  # the kernel counts in batches
    assert memory.reset_peak() < held - 200 * MEGABYTE


def test_other_systems_report_the_peak_of_the_whole_process(monkeypatch, tmp_path) -> None:
    here = memory.peak()
    monkeypatch.setattr(memory, 'STATUS', tmp_path / 'absent')
    monkeypatch.setattr(memory, 'CLEAR_REFS', tmp_path / 'absent' / 'absent')
    assert here / 2 < memory.peak() < here * 100  # of the right unit
    assert memory.reset_peak() == memory.peak()
