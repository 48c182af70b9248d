"""Why a GPU's clocks are held down, from the driver's bit mask."""

from __future__ import annotations

REASONS = {
    0x02: "other",  # applications clocks: somebody has set them
    0x04: "power",  # software power cap
    0x08: "other",  # hardware slowdown: heat or power, then told apart by the bits below
    0x10: "other",  # sync boost
    0x20: "heat",  # software thermal slowdown
    0x40: "heat",  # hardware thermal slowdown
    0x80: "power",  # power brake
    0x100: "other",  # display clocks
}
"""Bits of nvmlClocksEventReasons (nvml.h). Idling, 0x01, holds nothing down."""

HARDWARE = 0x08
HARDWARE_KNOWN = 0x40 | 0x80


def throttling(mask: int) -> list[str]:
    """``heat``, ``power``, ``other``: each once, in this order of the alphabet."""
    if mask & HARDWARE_KNOWN:
        mask &= ~HARDWARE
    return sorted({word for bit, word in REASONS.items() if mask & bit})
