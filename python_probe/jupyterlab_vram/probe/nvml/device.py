"""One GPU read through NVML, each value for itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import pynvml as nv

from ... import wire
from ..processes import implausible, merge
from ..reading import GpuProcess
from . import calls

Answer = TypeVar("Answer")

MEMORY = ("memory.used", "memory.total", "memory.free")
PCIE = ("pcie.rx", "pcie.tx")
ASKED_ONCE = ("pci_bus_id", "uuid", "name", "temperature.slowdown", "power.limit")
PER_SLICE = "The driver measures this for the whole card only."


class Listed(NamedTuple):
    """A GPU's processes, or a sentence on why there are none."""

    processes: Sequence[GpuProcess] = ()
    doubt: str | None = None
    """The list can't be true, or was lost on the way: another source may do better."""
    refusal: str | None = None
    """The driver does not give the list here."""


@dataclass
class Device:
    """A GPU (or MIG slice): its facts that stay, and what it refuses to tell."""

    index: int
    """Place in the driver's list; of a slice, its place on its card."""
    uuid: str
    name: str
    handle: Any = None
    """None: the driver gives no access to it."""
    pci_bus_id: str | None = None
    parent: str | None = None
    sliced: bool = False
    unified: bool = False
    """It has no memory of its own, but the computer's RAM."""
    slowdown: float | None = None
    power_limit: float | None = None
    pcie: wire.Traffic = field(default_factory=wire.Traffic)
    """As last measured."""
    no_pcie: str | None = "Not measured yet."
    """Why it is not known."""

    health: wire.Health = "ok"
    error: int | None = None
    """The code of the last refusal."""
    answered: bool = False
    """Whether the last reading got any answer, if only that a value is not supported."""
    refused: bool = False
    """Whether the last reading met any other refusal."""
    lasting: dict[str, str] = field(default_factory=dict)
    """What it doesn't support: path to reason. Not asked again."""
    no_lists: set[Callable[..., Any]] = field(default_factory=set)
    """Lists of processes that it doesn't support."""
    unknown: dict[str, str] = field(default_factory=dict)
    """``lasting`` and what the last reading did not get."""

    @property
    def broken(self) -> bool:
        return self.health in ("lost", "needs-reset")

    @property
    def silent(self) -> bool:
        """Nothing could be read of it."""
        return self.handle is None or (self.refused and not self.answered)

    @classmethod
    def identify(cls, handle: Any, index: int, parent: str | None = None) -> Device:
        """Ask for what stays as it is.

        Raises NVMLError if the library is gone, or the GPU before it has told who it is.
        """
        device = cls(index=index, uuid="", name="", handle=handle, parent=parent)
        ask = device._ask
        device.pci_bus_id = ask(("pci_bus_id",), calls.pci_bus_id)
        device.uuid = (
            ask(("uuid",), nv.nvmlDeviceGetUUID)
            or f"unknown-{parent or ''}{device.pci_bus_id or ''}-{index}"
        )
        # Some drivers answer with bytes that are no text; that must not hide the GPU.
        device.name = ask(("name",), nv.nvmlDeviceGetName) or f"GPU {index}"
        try:
            if ask(MEMORY, calls.memory) is None:
                device.unified = device.error == nv.NVML_ERROR_NOT_SUPPORTED and parent is None
            if parent is None:
                device.slowdown = ask(("temperature.slowdown",), calls.slowdown)
                device.power_limit = ask(("power.limit",), calls.power_limit)
            else:
                device.lasting["utilization.gpu"] = PER_SLICE
        except nv.NVMLError as error:
            if error.value in calls.LIBRARY_GONE:
                raise
            device._break(error)
        device.lasting.update({p: why for p, why in device.unknown.items() if p in ASKED_ONCE})
        return device

    def shut_out(self, error: nv.NVMLError) -> None:
        """The driver counts this GPU and gives no access to it."""
        self.error = error.value
        if error.value == nv.NVML_ERROR_NO_PERMISSION:
            self.health = "ok"
            self.unknown = dict.fromkeys(MEMORY, str(error))
        else:
            self._break(error)
        self.let_go()

    def let_go(self) -> None:
        """Show it as it was last seen, without asking again."""
        self.handle = None
        self.lasting = self.unknown

    def read(self, pcie: bool = False) -> wire.Gpu:
        """Everything but the processes; ``pcie``: also measure its traffic now, which takes long.

        Raises NVMLError only if the library is gone.
        """
        self.unknown = dict(self.lasting)
        gpu = wire.Gpu(
            uuid=self.uuid,
            index=self.index,
            name=self.name,
            pci_bus_id=self.pci_bus_id,
            parent=self.parent,
        )
        if self.handle is not None:
            self.health = "ok"
            self.answered = self.refused = False
            try:
                self._read(gpu, pcie)
            except nv.NVMLError as error:
                if error.value in calls.LIBRARY_GONE:
                    raise
                self._break(error)
        gpu.health = self.health
        gpu.unknown = self.unknown
        return gpu

    def processes(self, total: int | None) -> Listed:
        """What holds its memory, of which there are ``total`` bytes.

        Raises NVMLError only if the library is gone.
        """
        if self.handle is None or self.broken or self.sliced:
            return Listed()
        try:
            compute = calls.compute_processes(self.handle) + self._list(calls.mps_processes)
            found = merge(self.uuid, compute, self._list(calls.graphics_processes))
        except nv.NVMLError as error:
            if error.value in calls.LIBRARY_GONE:
                raise
            if error.value in calls.BROKEN:
                self._break(error)
                return Listed()
            words = f"The driver did not list the processes of GPU {self.index}: {error}."
            if error.value == nv.NVML_ERROR_FUNCTION_NOT_FOUND or error.value not in calls.REFUSED:
                return Listed(doubt=words)
            return Listed(refusal=words)
        wrong = implausible(found, total)
        if wrong:
            return Listed(
                doubt=f"The driver's process list of GPU {self.index} can't be right: {wrong}."
            )
        return Listed(found)

    def _list(self, call: Callable[[Any], list[tuple[int, int | None]]]) -> list[Any]:
        """A list that not every driver has; none there is an empty one."""
        if call in self.no_lists:
            return []
        try:
            return call(self.handle)
        except nv.NVMLError as error:
            if error.value not in calls.REFUSED:
                raise
            if error.value in calls.UNSUPPORTED:
                self.no_lists.add(call)
            return []

    def _read(self, gpu: wire.Gpu, pcie: bool) -> None:
        ask = self._ask
        gpu.memory = ask(MEMORY, calls.memory) or wire.Memory()
        if self.parent:
            return
        busy = ask(("utilization.gpu", "utilization.memory_bandwidth"), calls.utilization)
        gpu.utilization = wire.Utilization(
            gpu=busy and busy[0],
            memory_bandwidth=busy and busy[1],
            encoder=ask(("utilization.encoder",), calls.encoder),
            decoder=ask(("utilization.decoder",), calls.decoder),
        )
        gpu.temperature = wire.Temperature(
            now=ask(("temperature.now",), calls.temperature), slowdown=self.slowdown
        )
        gpu.power = wire.Power(draw=ask(("power.draw",), calls.power), limit=self.power_limit)
        gpu.clocks = wire.Clocks(
            sm=ask(("clocks.sm",), calls.sm_clock),
            memory=ask(("clocks.memory",), calls.memory_clock),
        )
        gpu.fan = ask(("fan",), calls.fan)
        gpu.throttling = ask(("throttling",), calls.throttling) or []
        if pcie:
            self._measure_pcie()
        gpu.pcie = self.pcie
        if self.no_pcie:
            self.unknown.update(dict.fromkeys(PCIE, self.no_pcie))

    def _measure_pcie(self) -> None:
        if PCIE[0] in self.lasting:
            return
        try:
            self.pcie, self.no_pcie = calls.pcie(self.handle), None
        except nv.NVMLError as error:
            if error.value in calls.LIBRARY_GONE or error.value in calls.BROKEN:
                raise
            self.pcie, self.no_pcie = wire.Traffic(), str(error)
            if error.value in calls.UNSUPPORTED:
                self.lasting.update(dict.fromkeys(PCIE, self.no_pcie))

    def _ask(self, paths: tuple[str, ...], call: Callable[[Any], Answer]) -> Answer | None:
        """The answer; or None, with the reason kept for each of the paths it would have filled.

        Raises NVMLError only if the whole GPU or the library is gone.
        """
        if paths[0] in self.lasting:
            return None
        try:
            answer = call(self.handle)
        except nv.NVMLError as error:
            if error.value in calls.LIBRARY_GONE or error.value in calls.BROKEN:
                raise
            self.error = error.value
            if error.value not in calls.REFUSED:
                self.health = "sensor-error"
            reason, lasting = str(error), error.value in calls.UNSUPPORTED
            self.answered |= lasting
            self.refused |= not lasting
        except UnicodeDecodeError:
            reason, lasting = "The driver's answer is not text. A newer driver may help.", True
        else:
            self.answered = True
            return answer
        self.unknown.update(dict.fromkeys(paths, reason))
        if lasting:
            self.lasting.update(dict.fromkeys(paths, reason))
        return None

    def _break(self, error: nv.NVMLError) -> None:
        self.error = error.value
        self.health = calls.BROKEN.get(error.value, "lost")
        self.unknown = {"health": str(error)}
