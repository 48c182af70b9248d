"""What a process is for, told by its name and command line."""

from __future__ import annotations

import re

from .. import wire
from .processes import Facts

SHARED = frozenset(
    {
        "nvidia-cuda-mps-server",
        "nvidia-cuda-mps-control",
        "nvidia-persistenced",
        "Xorg",
        "X",
        "Xwayland",
        "Xvnc",
        "gnome-shell",
        "gnome-remote-desktop-daemon",
        "mutter",
        "kwin_x11",
        "kwin_wayland",
        "plasmashell",
        "sway",
        "weston",
        "cosmic-comp",
        "cinnamon",
        "xfwm4",
        "compiz",
        "dwm.exe",
        "csrss.exe",
        "explorer.exe",
    }
)
"""Programs that serve many others: ending one would hurt more than its own user."""

_WORKER = re.compile(
    r"pt_data_worker|multiprocessing[.-](spawn|fork|resource_tracker)|loky|joblib|ray::"
)
_ENGINE = re.compile(r"\bVLLM::|EngineCore|sglang::|trtllm")
_DEBUGGER = re.compile(r"\bdebugpy\b|\bpydevd\b")


def is_shared(facts: Facts) -> bool:
    """A server that all users' programs go through."""
    return facts.name in SHARED


def role(facts: Facts, kernel: Facts | None) -> wire.Role:
    """The role of a process that descends from ``kernel``, the nearest kernel process above it.

    ``kernel`` is ``facts`` itself for the kernel's own process, None where there is none.
    """
    text = " ".join([facts.name or "", *facts.command])
    if _ENGINE.search(text):
        return "engine"
    if _WORKER.search(text):
        return "worker"
    if _DEBUGGER.search(text):
        return "debugger"
    if kernel is None or not facts.command:
        return "unknown"
    if facts is kernel:
        return "main"
    # a forked worker still carries the command line of the kernel it was forked from
    return "worker" if facts.command == kernel.command else "command"
