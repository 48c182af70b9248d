"""Restarting a kernel elsewhere: on one GPU, or on the CPU.

The choice stands in the environment that the kernel's specification adds, which the provisioner
applies last and at every start, so that it outlives later restarts, also the automatic ones.
"""

from __future__ import annotations

import copy
from typing import Any

import psutil
from jupyter_client.provisioning.local_provisioner import LocalProvisioner

from .. import wire
from .errors import NotOffered

CPU = "cpu"

VARIABLE = "CUDA_VISIBLE_DEVICES"
"""Everything that uses CUDA heeds it, ROCm's HIP too. It takes uuids, also those of slices."""

_NO_GPU = "-1"
"""No device has this number. An empty value would do on Linux; Windows has no empty variables."""


def check(place: str, manager: Any, snapshot: wire.Snapshot) -> None:
    """
    Args:
        manager: the kernel's own.

    Raises:
        NotOffered: there is no such place, or this kernel can't be put there.
    """
    if not isinstance(getattr(manager, "provisioner", None), LocalProvisioner):
        raise NotOffered(
            "This kernel isn't started by this server itself, so its GPU can't be chosen here."
        )
    if place == CPU:
        return
    if place not in {gpu.uuid for gpu in snapshot.gpus}:
        raise NotOffered("There is no GPU with this id here (any more). Choose another, or cpu.")
    if any(gpu.parent == place for gpu in snapshot.gpus):
        raise NotOffered("This card is cut into slices: choose one of them.")


def place_of(manager: Any) -> str | None:
    """Where the kernel's next process is put; None if nobody chose one place."""
    spec = getattr(getattr(manager, "provisioner", None), "kernel_spec", None)
    value = getattr(spec, "env", {}).get(VARIABLE)
    if value in (_NO_GPU, ""):
        return CPU
    one = isinstance(value, str) and value.startswith(("GPU-", "MIG-")) and "," not in value
    return value if one else None


def choose(manager: Any, place: str) -> Any:
    """Put the kernel's next processes there; gives what ``undo`` takes."""
    provisioner = manager.provisioner
    before = provisioner.kernel_spec
    # another kernel may have the same object, where a manager of specifications keeps them
    spec = copy.copy(before)
    spec.env = {**spec.env, VARIABLE: _NO_GPU if place == CPU else place}
    provisioner.kernel_spec = spec
    return before


def undo(manager: Any, before: Any) -> None:
    manager.provisioner.kernel_spec = before


def is_at(process: psutil.Process, place: str) -> bool | None:
    """Whether ``process`` was started there; None if the system doesn't tell."""
    try:
        value = process.environ().get(VARIABLE)
    except (psutil.Error, OSError):
        return None
    return value == (_NO_GPU if place == CPU else place)
