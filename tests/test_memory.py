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


def test_what_was_freed_before_does_not_hide_what_is_held_now() -> None:
    if not memory.CLEAR_REFS.exists():
        pytest.skip('only Linux forgets the peak of a process')
    blocks = [bytearray(100_000) for _ in range(1000)]  # small enough for malloc's own store
    last = bytearray(100_000)  # above them, so that the store cannot shrink by itself
    del blocks
    before = memory.reset_peak()
    blocks = [bytearray(100_000) for _ in range(1000)]
    assert memory.peak() - before > 0.9 * 1000 * 100_000
    assert len(blocks) * len(last) == 1000 * 100_000


def test_pages_of_files_do_not_count(tmp_path) -> None:
    if not memory.CLEAR_REFS.exists():
        pytest.skip('only Linux tells the pages of files apart')
    path = tmp_path / 'library'
    path.write_bytes(b'1' * 64 * MEGABYTE)
    before = memory.reset_peak()
    with path.open('rb') as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as block:
        assert sum(block[page] == ord('1') for page in range(0, len(block), mmap.PAGESIZE))
        assert memory.peak() - before < 8 * MEGABYTE


def test_other_systems_report_the_peak_of_the_whole_process(monkeypatch, tmp_path) -> None:
    here = memory.peak()
    monkeypatch.setattr(memory, 'STATUS', tmp_path / 'absent')
    monkeypatch.setattr(memory, 'CLEAR_REFS', tmp_path / 'absent' / 'absent')
    assert here / 2 < memory.peak() < here * 100  # of the right unit
    assert memory.reset_peak() == memory.peak()
