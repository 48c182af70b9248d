"""What nvidia-smi says instead of an answer."""

from __future__ import annotations

import re

from .. import problems
from ..reading import Trouble

LOST = re.compile(
    r"Unable to determine the device handle for GPU\s?(?:\d+:\s)?"
    r"([0-9A-F]{3,8}:[0-9A-F]{2}:[0-9A-F]{2}\.[0-9A-F]): ([^\n]*)",
    re.IGNORECASE,
)
"""A GPU that fell off the bus, in all spellings known: bus id and the driver's words."""


def failure(text: str, code: int, worked: bool) -> Trouble:
    """What the program's words (both streams) and exit code mean.

    The codes are listed in its manual; ``worked``: it has given an answer before.
    """
    if "version mismatch" in text or code == 18:
        return problems.version_mismatch()
    lost = LOST.search(text)
    if lost:
        return problems.gpu_lost(lost[1])
    words = _first_line(text) or f"nvidia-smi ended with code {code}"
    if worked:
        return problems.lost_access(words)
    if "No devices were found" in text or code == 6:
        return problems.no_devices()
    if "communicate with the NVIDIA driver" in text or code == 9:
        return problems.no_driver()
    if "Insufficient Permissions" in text or code == 4:
        return problems.no_permission()
    if "Shared Library Not Found" in text or "find libnvidia-ml" in text or code == 12:
        return problems.no_library()
    return problems.driver_error(words)


def _first_line(text: str) -> str:
    lines = (line.strip() for line in text.splitlines())
    return next((line for line in lines if line), "")[:200]
