"""What the operating system tells about the GPU driver without calling it."""

from __future__ import annotations

import platform
import re
import sys
from pathlib import Path

import psutil

INITIAL_PID_NAMESPACE = "pid:[4026531836]"
"""The inode of a Linux system's first process namespace is a constant (PROC_PID_INIT_INO)."""


def driver_version() -> str | None:
    """Version of the loaded NVIDIA kernel module; None where there is none, or not Linux."""
    return version_in(_text(Path("/proc/driver/nvidia/version")))


def version_in(text: str) -> str | None:
    """The module's version in the text of ``/proc/driver/nvidia/version``."""
    found = re.search(r"NVRM version:.*?\b(\d+\.\d+(?:\.\d+)?)\b", text)
    return found[1] if found else None


def library_version() -> str | None:
    """Version of the driver library that this process has loaded, from its file's name."""
    path = library_path()
    found = re.search(r"\.so\.(\d+\.\d+(?:\.\d+)?)$", path or "")
    return found[1] if found else None


def library_path() -> str | None:
    """The driver library that this process has loaded; None where there is none, or not Linux."""
    found = re.search(r"\s(/\S*libnvidia-ml\.so\S*)", _text(Path("/proc/self/maps")))
    return found[1] if found else None


def device_files() -> list[str]:
    """The GPUs' device files, in WSL the one that stands for them."""
    numbered = [path for path in Path("/dev").glob("nvidia*") if path.name[6:].isdigit()]
    return sorted(str(path) for path in [*numbered, *Path("/dev").glob("dxg")])


def is_wsl() -> bool:
    return sys.platform == "linux" and (
        "microsoft" in platform.release().lower() or Path("/usr/lib/wsl/lib").is_dir()
    )


def is_tegra() -> bool:
    """A Jetson: before JetPack 7 these have no driver library that answers."""
    return Path("/etc/nv_tegra_release").exists()


def in_pid_namespace() -> bool:
    """Whether this process sees only a part of the computer's processes (a container)."""
    try:
        return str(Path("/proc/self/ns/pid").readlink()) != INITIAL_PID_NAMESPACE
    except OSError:
        return False


def ram() -> tuple[int, int]:
    """Total and available RAM in bytes."""
    memory = psutil.virtual_memory()
    return memory.total, memory.available


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
