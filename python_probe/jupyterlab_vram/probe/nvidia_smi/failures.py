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


PHRASES = {
    "version mismatch": 18,
    "communicate with the NVIDIA driver": 9,
    "Insufficient Permissions": 4,
    "Shared Library Not Found": 12,
    "find libnvidia-ml": 12,
}
"""To the exit code that should have come with them; some versions end with 0 or 255."""


def failure(text: str, code: int, worked: bool) -> Trouble:
    """What the program's words (both streams) and exit code mean.

    ``worked``: it has given an answer before.
    """
    lost = LOST.search(text)
    if lost:
        return problems.gpu_lost(lost[1])
    words = _first_line(text) or f"nvidia-smi ended with code {code}"
    code = next((known for phrase, known in PHRASES.items() if phrase in text), code)
    if not worked and (code == 6 or "No devices were found" in text):
        return problems.no_devices()
    return problems.of_code(code, words, worked)


def _first_line(text: str) -> str:
    lines = (line.strip() for line in text.splitlines())
    return next((line for line in lines if line), "")[:200]
