"""NVML's life cycle: opened by the first reading, opened again after a failure.

What does not change (names, ids, limits) is read when the library is opened and again every minute;
in between, nothing is asked that a GPU does not support. A reading makes about 14 calls a GPU. PCIe
traffic is measured on one GPU in each reading, in turn, because that takes real boards 40 ms: the
value is as many readings old as there are GPUs.
"""

from __future__ import annotations

import time

import pynvml as nv

from ... import wire
from .. import problems
from ..backoff import Backoff
from ..processes import views
from ..reading import GpuProcess, Reading, Trouble
from ..unified import share_ram
from . import calls
from .device import Device


class NvmlProbe:
    """A `Probe` over NVML."""

    source: wire.Source = "nvml"

    def __init__(self, refresh: float = 60.0, retry: float = 1.0) -> None:
        """``refresh``: seconds between two looks for what seldom changes. ``retry``: seconds before
        the first new attempt after a failure; later ones wait longer, 15 s at most."""
        self._refresh = refresh
        self._refresh_at = 0.0
        self._backoff = Backoff(retry, 15.0)
        self._open = False
        self._worked = False
        self._trouble = problems.starting()
        self._driver = wire.Driver()
        self._devices: list[Device] = []
        self._turn = 0

    def read(self) -> Reading:
        if self._open or self._backoff.due:
            try:
                self._prepare()
                result = self._read()
            except nv.NVMLError as error:
                result = self._trouble_of(error.value, str(error))
            if isinstance(result, Reading):
                self._worked = True
                self._backoff.worked()
                return result
            self._trouble = result
            self._backoff.failed()
            self.close()
        return Reading.without(self.source, self._trouble)

    def close(self) -> None:
        if self._open:
            self._open = False
            try:
                nv.nvmlShutdown()
            except nv.NVMLError:
                return  # Gone already, which is all that is wanted here.

    def _prepare(self) -> None:
        now = time.monotonic()
        if self._open and now < self._refresh_at:
            return
        if any(device.broken for device in self._devices):
            self.close()  # A GPU that was reset comes back only to those who open NVML anew.
        if not self._open:
            nv.nvmlInit()
            self._open = True
        self._driver = calls.driver()
        self._devices = self._enumerate()
        self._refresh_at = now + self._refresh

    def _enumerate(self) -> list[Device]:
        found: list[Device] = []
        for index in range(nv.nvmlDeviceGetCount()):
            try:
                card = Device.identify(nv.nvmlDeviceGetHandleByIndex(index), index)
                slices = [
                    Device.identify(handle, number, parent=card.uuid)
                    for number, handle in enumerate(calls.slices(card.handle))
                ]
            except nv.NVMLError as error:
                if error.value in calls.LIBRARY_GONE:
                    raise
                found.append(self._absent(index, error))
            else:
                card.sliced = bool(slices)
                found += [card, *slices]
        here = {device.uuid for device in found}
        gone = [device for device in self._devices if device.broken and device.uuid not in here]
        for device in gone:
            device.let_go()
        return found + gone

    def _absent(self, index: int, error: nv.NVMLError) -> Device:
        """A GPU without access, under the name that it had when it last answered."""
        known = (d for d in self._devices if d.index == index and d.parent is None)
        device = next(known, Device(index=index, uuid=f"unknown-{index}", name=f"GPU {index}"))
        device.shut_out(error)
        return device

    def _read(self) -> Reading | Trouble:
        taken_at = time.time()
        gpus: list[wire.Gpu] = []
        processes: list[GpuProcess] = []
        doubt: str | None = None
        refusal: str | None = None
        cards = [device for device in self._devices if device.parent is None]
        self._turn += 1
        its_turn = cards[self._turn % len(cards)] if cards else None
        for device in self._devices:
            gpu = device.read(pcie=device is its_turn)
            listed = device.processes(gpu.memory.total)
            # It may break between the two.
            gpu.health, gpu.unknown = device.health, device.unknown
            if device.unified and not device.broken:
                share_ram(gpu, listed.processes)
            gpus.append(gpu)
            processes += listed.processes
            doubt = doubt or listed.doubt
            refusal = refusal or listed.refusal
        if all(device.silent and not device.broken for device in self._devices):
            return self._silence()
        return Reading(
            taken_at=taken_at,
            source=self.source,
            state="ok",
            views=views(gpus, processes, doubt or refusal),
            driver=self._driver,
            gpus=tuple(gpus),
            processes=tuple(processes),
            doubt=doubt,
        )

    def _silence(self) -> Trouble:
        """No GPU, or none that gives any value."""
        if not self._devices:
            return problems.lost_access("no GPU") if self._worked else problems.no_devices()
        code = self._devices[0].error or nv.NVML_ERROR_UNKNOWN
        return self._trouble_of(code, str(nv.NVMLError(code)))

    def _trouble_of(self, code: int, words: str) -> Trouble:
        if code == nv.NVML_ERROR_TIMEOUT:
            return problems.timeout()
        return problems.of_code(code, words, self._worked)
