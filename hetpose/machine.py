"""The machine that a number was measured on, in words."""

from __future__ import annotations

import platform
from pathlib import Path

CPU_INFO = Path('/proc/cpuinfo')  # Linux only


def describe_machine() -> str:
    """Processor, architecture and system, such as 'AMD EPYC, x86_64, Linux'."""
    parts = (_processor(), platform.machine(), platform.system())
    return ', '.join(dict.fromkeys(part for part in parts if part))


def _processor() -> str:
    """The model of the processor; empty where the system does not tell."""
    try:
        lines = CPU_INFO.read_text(encoding='utf-8').splitlines()
    except OSError:
        return platform.processor()
    fields = (line.partition(':') for line in lines)
    return next((value.strip() for key, _, value in fields if key.strip() == 'model name'), '')
