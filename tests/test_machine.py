"""A machine is told by its processor, where the system names it."""

import platform

import pytest

from hetpose import machine


@pytest.mark.parametrize(
    ('text', 'said'),
    [
        ('processor\t: 0\nmodel name\t: Fast CPU: 9\nmodel name\t: Other\n', 'Fast CPU: 9, '),
        ('processor\t: 0\nCPU architecture: 8\n', ''),
        ('', ''),
    ],
)
def test_linux_names_the_processor(tmp_path, monkeypatch, text: str, said: str) -> None:
    file = tmp_path / 'cpuinfo'
    file.write_text(text)
    monkeypatch.setattr(machine, 'CPU_INFO', file)
    assert machine.describe_machine() == f'{said}{platform.machine()}, {platform.system()}'


def test_elsewhere_python_names_it(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(machine, 'CPU_INFO', tmp_path / 'absent')
    monkeypatch.setattr(platform, 'processor', lambda: 'arm')
    monkeypatch.setattr(platform, 'machine', lambda: 'arm')
    assert machine.describe_machine() == f'arm, {platform.system()}'
