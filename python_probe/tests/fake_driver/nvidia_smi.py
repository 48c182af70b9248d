"""A stand-in for ``nvidia-smi`` over the ledger, for the forms that a program may read.

``-L``, ``-q -x``, ``--query-gpu=…`` and ``--query-compute-apps=…`` with ``--format=csv[,noheader]
[,nounits]``, each with ``-i``. Errors are injected by NVML's function names and told as the tool
tells them. The layout is written from its documentation and from pasted output, not from the tool.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from jupyterlab_vram.simulated.layout import (
    COMPUTE,
    HIDDEN,
    NO_SIZE,
    NVML_ERRORS,
    Device,
    Process,
)
from jupyterlab_vram.simulated.ledger import Ledger, State

from fake_driver import nvidia_smi_xml

MIB = 1 << 20
UNKNOWN = "[N/A]"

START_ERRORS = {
    NVML_ERRORS["DRIVER_NOT_LOADED"]: (
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. "
        "Make sure that the latest NVIDIA driver is installed and running.\n"
    ),
    NVML_ERRORS["LIB_RM_VERSION_MISMATCH"]: (
        "Failed to initialize NVML: Driver/library version mismatch"
    ),
    NVML_ERRORS["NO_PERMISSION"]: "Failed to initialize NVML: Insufficient Permissions",
    NVML_ERRORS["LIBRARY_NOT_FOUND"]: "Failed to initialize NVML: NVML Shared Library Not Found",
}


class Machine:
    """The ledger as the tool sees it."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.state: State = ledger.state()
        self.cards = [i for i, d in enumerate(self.state.devices) if d.parent is None]

    def call(self, function: str, device: int | None = None) -> int:
        return self.ledger.call(function, device)

    def device(self, index: int) -> Device:
        return self.state.devices[index]

    def slices(self, index: int) -> list[int]:
        return [i for i, d in enumerate(self.state.devices) if d.parent == index]

    def processes(self, index: int) -> list[Process]:
        if self.device(index).hide_processes:
            return []
        on = (index, *self.slices(index))
        return [p for p in self.state.processes if p.device in on and not p.flags & HIDDEN]

    def shown_pid(self, process: Process) -> int:
        return (process.pid + self.state.driver.pid_offset) % (1 << 32)

    def size(self, process: Process) -> int | None:
        sizeless = self.device(process.device).wddm or process.flags & NO_SIZE
        return None if sizeless else process.bytes


def leave(text: str, status: int) -> NoReturn:
    print(text)
    sys.exit(status)


def command_of(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return "[Not Found]"


Field = Callable[[Machine, int, str], str]


def quantity(read: Callable[[Device], int | None], unit: str = "", form: str = "{}") -> Field:
    """A number of the device with its unit, or the token for "not supported"."""

    def text(machine: Machine, index: int, space: str) -> str:
        value = read(machine.device(index))
        return UNKNOWN if value is None else form.format(value) + (space and unit and f" {unit}")

    return text


def memory(name: str) -> Field:
    def text(machine: Machine, index: int, space: str) -> str:
        if machine.device(index).no_memory_info:
            return UNKNOWN
        value = getattr(machine.state.memory[index], name) // MIB
        return f"{value} MiB" if space else f"{value}"

    return text


def watts(read: Callable[[Device], int | None]) -> Field:
    def in_watts(device: Device) -> float | None:
        value = read(device)
        return None if value is None else value / 1000

    return quantity(in_watts, "W", "{:.2f}")  # type: ignore[arg-type]


def use(read: Callable[[Device], int | None]) -> Field:
    return quantity(lambda d: None if d.mig_mode == 1 else read(d), "%")


def words(read: Callable[[Device], int | None], *names: str) -> Field:
    def text(machine: Machine, index: int, space: str) -> str:
        value = read(machine.device(index))
        return UNKNOWN if value is None else names[value]

    return text


def reason(bit: int) -> Field:
    return lambda machine, index, space: (
        "Active" if machine.device(index).throttling & bit else "Not Active"
    )


GPU_FIELDS: dict[str, Field] = {
    "index": lambda machine, index, _: str(machine.cards.index(index)),
    "count": lambda machine, index, _: str(len(machine.cards)),
    "name": lambda machine, index, _: machine.device(index).name,
    "uuid": lambda machine, index, _: machine.device(index).uuid,
    "serial": lambda machine, index, _: machine.device(index).serial or UNKNOWN,
    "pci.bus_id": lambda machine, index, _: machine.device(index).bus_id,
    "driver_version": lambda machine, index, _: machine.state.driver.driver_version,
    "timestamp": lambda machine, index, _: time.strftime("%Y/%m/%d %H:%M:%S.000"),
    "memory.total": memory("total"),
    "memory.used": memory("used"),
    "memory.free": memory("free"),
    "memory.reserved": memory("reserved"),
    "utilization.gpu": use(lambda d: d.gpu_use),
    "utilization.memory": use(lambda d: d.memory_use),
    "utilization.encoder": use(lambda d: d.encoder_use),
    "utilization.decoder": use(lambda d: d.decoder_use),
    "temperature.gpu": quantity(lambda d: d.temperature),
    "temperature.memory": quantity(lambda d: d.memory_temperature),
    "power.draw": watts(lambda d: d.power),
    "power.limit": watts(lambda d: d.power_limit),
    "enforced.power.limit": watts(lambda d: d.power_limit),
    "fan.speed": quantity(lambda d: d.fan, "%"),
    "clocks.sm": quantity(lambda d: d.clock_sm, "MHz"),
    "clocks.gr": quantity(lambda d: d.clock_graphics, "MHz"),
    "clocks.mem": quantity(lambda d: d.clock_memory, "MHz"),
    "clocks.max.sm": quantity(lambda d: d.max_clock_sm, "MHz"),
    "clocks.max.mem": quantity(lambda d: d.max_clock_memory, "MHz"),
    "pstate": quantity(lambda d: d.performance_state, "", "P{}"),
    "pcie.link.gen.current": quantity(lambda d: d.pcie_generation),
    "pcie.link.width.current": quantity(lambda d: d.pcie_width),
    "persistence_mode": words(lambda d: d.persistence, "Disabled", "Enabled"),
    "display_active": words(lambda d: d.display_active, "Disabled", "Enabled"),
    "mig.mode.current": words(lambda d: d.mig_mode, "Disabled", "Enabled"),
    "compute_cap": lambda machine, index, _: (
        f"{machine.device(index).cc_major}.{machine.device(index).cc_minor}"
    ),
    "ecc.errors.uncorrected.volatile.total": quantity(lambda d: d.ecc_errors),
    "clocks_event_reasons.active": quantity(lambda d: d.throttling, "", "0x{:016X}"),
    **{f"clocks_event_reasons.{name}": reason(bit) for name, bit in nvidia_smi_xml.REASONS.items()},
}
for alias, field in {
    "gpu_name": "name",
    "gpu_uuid": "uuid",
    "gpu_bus_id": "pci.bus_id",
    "clocks.current.sm": "clocks.sm",
    "clocks.current.graphics": "clocks.gr",
    "clocks.current.memory": "clocks.mem",
    "power.draw.instant": "power.draw",
}.items():
    GPU_FIELDS[alias] = GPU_FIELDS[field]
for field in [name for name in GPU_FIELDS if name.startswith("clocks_event_reasons.")]:
    GPU_FIELDS[field.replace("event", "throttle", 1)] = GPU_FIELDS[field]

UNITS = {"memory.": "MiB", "utilization.": "%", "power.": "W", "fan.": "%", "clocks.": "MHz"}


def app_fields(machine: Machine, index: int, process: Process, space: str) -> dict[str, str]:
    held, device = machine.size(process), machine.device(index)
    used = UNKNOWN if held is None else f"{held // MIB}{space and ' MiB'}"
    name = command_of(process.pid)
    return {
        "pid": str(machine.shown_pid(process)),
        "process_name": name,
        "name": name,
        "used_memory": used,
        "used_gpu_memory": used,
        "gpu_uuid": device.uuid,
        "gpu_name": device.name,
        "gpu_bus_id": device.bus_id,
        "gpu_serial": device.serial or UNKNOWN,
        "timestamp": time.strftime("%Y/%m/%d %H:%M:%S.000"),
    }


def print_csv(fields: list[str], options: list[str], rows: list[list[str]]) -> None:
    if "noheader" not in options:
        units = [next((u for s, u in UNITS.items() if f.startswith(s)), "") for f in fields]
        print(", ".join(f + (f" [{u}]" if u else "") for f, u in zip(fields, units, strict=True)))
    for row in rows:
        print(", ".join(row))


def check_fields(fields: list[str], known: set[str]) -> None:
    for field in fields:
        if field not in known:
            leave(f'Field "{field}" is not a valid field to query.\n', 2)


def argument(arguments: list[str], *names: str) -> str | None:
    for i, word in enumerate(arguments):
        name, equals, value = word.partition("=")
        if name in names:
            return value if equals else arguments[i + 1]
    return None


def select(machine: Machine, arguments: list[str]) -> list[int]:
    wanted = argument(arguments, "-i", "--id")
    if wanted is None:
        return machine.cards
    found = [
        index
        for number, index in enumerate(machine.cards)
        if {str(number), machine.device(index).uuid, machine.device(index).bus_id}
        & set(wanted.split(","))
    ]
    return found or leave("No devices were found", 6)


def query(machine: Machine, chosen: list[int], arguments: list[str]) -> None:
    options = (argument(arguments, "--format") or "").split(",")
    if "csv" not in options:
        leave("\"--format=\" switch is missing. Please run 'nvidia-smi -h' for help.", 2)
    space = "" if "nounits" in options else " "
    gpu = argument(arguments, "--query-gpu")
    if gpu is not None:
        fields = [name.strip() for name in gpu.split(",")]
        check_fields(fields, set(GPU_FIELDS))
        rows = [[GPU_FIELDS[f](machine, i, space) for f in fields] for i in chosen]
        print_csv(fields, options, rows)
        return
    apps = argument(arguments, "--query-compute-apps", "--query-apps") or ""
    fields = [name.strip() for name in apps.split(",")]
    known = {"pid", "process_name", "name", "used_memory", "used_gpu_memory", "timestamp"}
    check_fields(fields, known | {"gpu_uuid", "gpu_name", "gpu_bus_id", "gpu_serial"})
    rows = [
        [app_fields(machine, i, process, space)[f] for f in fields]
        for i in chosen
        for process in machine.processes(i)
        if process.lists & COMPUTE
    ]
    print_csv(fields, options, rows)


def main(arguments: list[str]) -> None:
    path = os.environ.get("VRAM_SIMULATED_LEDGER")
    if not path or not Path(path).exists():
        leave(START_ERRORS[NVML_ERRORS["DRIVER_NOT_LOADED"]], 9)
    machine = Machine(Ledger(path))
    code = machine.call("nvmlInit_v2")
    if code:
        text = START_ERRORS.get(code, "Failed to initialize NVML: Unknown Error")
        leave(text, min(code, 255))
    if not machine.cards:
        leave("No devices were found", 6)
    for number, index in enumerate(machine.cards):
        lost = machine.call("nvmlDeviceGetHandleByIndex_v2", index)
        if lost:
            is_lost = lost == NVML_ERRORS["GPU_IS_LOST"]
            why = "GPU is lost.  Reboot the system to recover this GPU"
            leave(
                f"Unable to determine the device handle for GPU{number}: "
                f"{machine.device(index).bus_id[4:]}: {why if is_lost else 'Unknown Error'}",
                min(lost, 255),
            )
    chosen = select(machine, arguments)
    if any(word.startswith("--query-") for word in arguments):
        query(machine, chosen, arguments)
    elif arguments[:1] == ["-L"]:
        for index in chosen:
            device, number = machine.device(index), machine.cards.index(index)
            print(f"GPU {number}: {device.name} (UUID: {device.uuid})")
            for k, i in enumerate(machine.slices(index)):
                part = machine.device(i)
                profile = part.name.split("MIG ")[-1]
                print(f"  MIG {profile:<11} Device {k:2}: (UUID: {part.uuid})")
    elif "-q" in arguments and "-x" in arguments:
        print(nvidia_smi_xml.document(machine, chosen, command_of))
    else:
        leave("This stand-in knows -L, -q -x, --query-gpu and --query-compute-apps only.", 2)


if __name__ == "__main__":
    main(sys.argv[1:])
