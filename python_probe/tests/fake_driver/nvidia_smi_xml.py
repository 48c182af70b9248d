"""``nvidia-smi -q -x``: the parts of its document that concern memory, use, heat and processes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

if TYPE_CHECKING:
    from .nvidia_smi import Machine

MIB = 1 << 20
UNKNOWN = "N/A"

REASONS = {
    "gpu_idle": 1,
    "applications_clocks_setting": 2,
    "sw_power_cap": 4,
    "hw_slowdown": 8,
    "sync_boost": 16,
    "sw_thermal_slowdown": 32,
    "hw_thermal_slowdown": 64,
    "hw_power_brake_slowdown": 128,
}
TYPES = {1: "C", 2: "G", 3: "C+G", 4: "M"}


def add(parent: ET.Element, tag: str, text: object = None) -> ET.Element:
    element = ET.SubElement(parent, tag)
    if text is not None:
        element.text = str(text)
    return element


def number(value: float | None, unit: str = "", form: str = "{}") -> str:
    return UNKNOWN if value is None else f"{form.format(value)} {unit}".strip()


def mode(value: int | None) -> str:
    return UNKNOWN if value is None else ("Disabled", "Enabled")[value]


def document(machine: Machine, chosen: list[int], command_of: Callable[[int], str]) -> str:
    root = ET.Element("nvidia_smi_log")
    driver = machine.state.driver
    add(root, "timestamp", time.strftime("%a %b %d %H:%M:%S %Y"))
    add(root, "driver_version", driver.driver_version)
    add(root, "cuda_version", f"{driver.cuda_version // 1000}.{driver.cuda_version % 1000 // 10}")
    add(root, "attached_gpus", len(machine.cards))
    for index in chosen:
        gpu(root, machine, index, command_of)
    ET.indent(root, "\t")
    head = '<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">\n'
    return head + ET.tostring(root, encoding="unicode")


def gpu(root: ET.Element, machine: Machine, index: int, command_of: Callable[[int], str]) -> None:
    device = machine.device(index)
    element = add(root, "gpu")
    element.set("id", device.bus_id)
    add(element, "product_name", device.name)
    add(element, "uuid", device.uuid)
    add(element, "serial", device.serial or UNKNOWN)
    add(element, "minor_number", machine.cards.index(index))
    mig = add(element, "mig_mode")
    add(mig, "current_mig", mode(device.mig_mode))
    add(mig, "pending_mig", mode(device.mig_mode))
    slices = add(element, "mig_devices", None if machine.slices(index) else "\n")
    for k, i in enumerate(machine.slices(index)):
        part = machine.device(i)
        item = add(slices, "mig_device")
        add(item, "index", k)
        add(item, "gpu_instance_id", part.gpu_instance)
        add(item, "compute_instance_id", part.compute_instance)
        memory(item, machine, i)
    add(element, "fan_speed", number(device.fan, "%"))
    add(element, "performance_state", number(device.performance_state, "", "P{}"))
    pci = add(element, "pci")
    add(pci, "pci_bus_id", device.bus_id)
    add(pci, "tx_util", number(device.pcie_tx, "KB/s"))
    add(pci, "rx_util", number(device.pcie_rx, "KB/s"))
    reasons = add(element, "clocks_event_reasons")
    for name, bit in REASONS.items():
        active = "Active" if device.throttling & bit else "Not Active"
        add(reasons, f"clocks_event_reason_{name}", active)
    memory(element, machine, index)
    use = add(element, "utilization")
    sliced = device.mig_mode == 1
    for tag, value in (
        ("gpu_util", device.gpu_use),
        ("memory_util", device.memory_use),
        ("encoder_util", device.encoder_use),
        ("decoder_util", device.decoder_use),
    ):
        add(use, tag, number(None if sliced else value, "%"))
    heat = add(element, "temperature")
    add(heat, "gpu_temp", number(device.temperature, "C"))
    add(heat, "gpu_temp_max_threshold", number(device.shutdown_at, "C"))
    add(heat, "gpu_temp_slow_threshold", number(device.slowdown_at, "C"))
    add(heat, "gpu_temp_max_gpu_threshold", number(device.max_operating, "C"))
    add(heat, "memory_temp", number(device.memory_temperature, "C"))
    power = add(element, "gpu_power_readings")
    for tag, milliwatts in (
        ("average_power_draw", device.power),
        ("instant_power_draw", device.power),
        ("current_power_limit", device.power_limit),
    ):
        watts = None if milliwatts is None else milliwatts / 1000
        add(power, tag, number(watts, "W", "{:.2f}"))
    clocks = add(element, "clocks")
    add(clocks, "graphics_clock", number(device.clock_graphics, "MHz"))
    add(clocks, "sm_clock", number(device.clock_sm, "MHz"))
    add(clocks, "mem_clock", number(device.clock_memory, "MHz"))
    processes(element, machine, index, command_of)


def memory(parent: ET.Element, machine: Machine, index: int) -> None:
    figures, unknown = machine.state.memory[index], machine.device(index).no_memory_info
    element = add(parent, "fb_memory_usage")
    for name in ("total", "reserved", "used", "free"):
        value = None if unknown else getattr(figures, name) // MIB
        add(element, name, number(value, "MiB"))


def processes(
    parent: ET.Element, machine: Machine, index: int, command_of: Callable[[int], str]
) -> None:
    element = add(parent, "processes")
    for process in machine.processes(index):
        held, on = machine.size(process), machine.device(process.device)
        info = add(element, "process_info")
        add(info, "gpu_instance_id", number(on.gpu_instance))
        add(info, "compute_instance_id", number(on.compute_instance))
        add(info, "pid", machine.shown_pid(process))
        add(info, "type", TYPES.get(process.lists, "C"))
        add(info, "process_name", command_of(process.pid))
        add(info, "used_memory", number(None if held is None else held // MIB, "MiB"))
