"""The answer of ``nvidia-smi -q -x``, of any generation of its schema, as our facts.

Only a GPU's id is required. Everything else may be missing, renamed, or words in place of a number;
the words become the reason why the value is unknown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from xml.etree import ElementTree

from ... import wire
from ..paths import put
from ..processes import implausible, merge
from ..reading import GpuProcess
from ..throttling import throttling
from ..unified import share_ram
from .failures import LOST
from .values import name, number, pid, whole

MISSING = "nvidia-smi does not list it."

REASON_BITS = {
    "applications_clocks_setting": 0x02,
    "sw_power_cap": 0x04,
    "hw_slowdown": 0x08,
    "sync_boost": 0x10,
    "sw_thermal_slowdown": 0x20,
    "hw_thermal_slowdown": 0x40,
    "hw_power_brake_slowdown": 0x80,
    "display_clocks_setting": 0x100,
}
POWER = ("gpu_power_readings", "power_readings")

VALUES: dict[str, tuple[str, ...]] = {
    "memory.total": ("fb_memory_usage/total",),
    "memory.used": ("fb_memory_usage/used",),
    "memory.free": ("fb_memory_usage/free",),
    "utilization.gpu": ("utilization/gpu_util",),
    "utilization.memory_bandwidth": ("utilization/memory_util",),
    "utilization.encoder": ("utilization/encoder_util",),
    "utilization.decoder": ("utilization/decoder_util",),
    "temperature.now": ("temperature/gpu_temp",),
    "temperature.slowdown": ("temperature/gpu_temp_slow_threshold",),
    "power.draw": tuple(
        f"{section}/{tag}"
        for section in POWER
        for tag in ("instant_power_draw", "power_draw", "average_power_draw")
    ),
    "power.limit": tuple(
        f"{section}/{tag}"
        for section in POWER
        for tag in ("current_power_limit", "enforced_power_limit", "power_limit")
    ),
    "clocks.sm": ("clocks/sm_clock",),
    "clocks.memory": ("clocks/mem_clock",),
    "fan": ("fan_speed",),
    "pcie.rx": ("pci/rx_util",),
    "pcie.tx": ("pci/tx_util",),
}
"""Where a value may stand, newest schema first."""
BYTES = ("memory.total", "memory.used", "memory.free")


class ParseError(Exception):
    """The text is no answer of ``nvidia-smi -q -x``."""


@dataclass(frozen=True)
class Answer:
    driver: wire.Driver
    gpus: list[wire.Gpu]
    processes: list[GpuProcess]
    doubt: str | None
    """Why the processes of some GPU were left out; a sentence."""


def parse(text: str) -> Answer:
    """Raises ParseError."""
    root = _root(text)
    gpus: list[wire.Gpu] = []
    processes: list[GpuProcess] = []
    doubts: list[str] = []
    for index, node in enumerate(root.iterfind("gpu")):
        card = _gpu(node, index)
        slices = _slices(node, card)
        listed = _processes(node, card.uuid, {key: gpu.uuid for key, gpu in slices.items()})
        for gpu in (card, *slices.values()):
            own = [process for process in listed if process.gpu == gpu.uuid]
            wrong = implausible(own, gpu.memory.total)
            if wrong:
                doubts.append(f"nvidia-smi's processes of GPU {index} can't be right: {wrong}.")
            else:
                processes += own
            if gpu is card and gpu.health == "ok" and _has_no_memory_of_its_own(node):
                share_ram(gpu, own)
            gpus.append(gpu)
    for bus_id, words in LOST.findall(text):
        gpus.append(
            wire.Gpu(
                uuid=f"unknown-{bus_id}",
                index=len(gpus),
                name=f"GPU {bus_id}",
                pci_bus_id=bus_id,
                health="lost",
                unknown={"health": words.strip()},
            )
        )
    return Answer(
        driver=wire.Driver(
            version=root.findtext("driver_version"), cuda_version=root.findtext("cuda_version")
        ),
        gpus=gpus,
        processes=processes,
        doubt=doubts[0] if doubts else None,
    )


def _root(text: str) -> ElementTree.Element:
    # Warnings may stand before and after the document.
    found = re.search(r"<nvidia_smi_log>.*</nvidia_smi_log>", text, re.DOTALL)
    if not found:
        raise ParseError("There is no XML document in nvidia-smi's answer.")
    # Without its prologue the document declares no entities: none can blow up or fetch a file.
    document = re.sub(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", found[0])
    try:
        return ElementTree.fromstring(document)  # noqa: S314
    except ElementTree.ParseError:
        # Processes choose their names, and not every driver escapes them.
        nameless = re.sub(
            r"<process_name>.*?</process_name>(?=\s*<used_memory>)", "", document, flags=re.DOTALL
        )
    try:
        return ElementTree.fromstring(nameless)  # noqa: S314
    except ElementTree.ParseError as error:
        raise ParseError(f"nvidia-smi's answer is no proper XML: {error}.") from error


def _gpu(node: ElementTree.Element, index: int) -> wire.Gpu:
    bus_id = node.get("id") or node.findtext("pci/pci_bus_id")
    gpu = wire.Gpu(
        uuid=(node.findtext("uuid") or "").strip() or f"unknown-{bus_id or index}",
        index=index,
        name=(node.findtext("product_name") or "").strip() or f"GPU {index}",
        pci_bus_id=bus_id,
    )
    for path, places in VALUES.items():
        _fill(gpu, path, [node.findtext(place) for place in places])
    reserved = node.findtext("fb_memory_usage/reserved")
    gpu.memory.reserved = whole(reserved) if reserved else None
    gpu.throttling = _throttling(node)
    words = " ".join(gpu.unknown.values()).lower()
    if "gpu is lost" in words:
        gpu.health = "lost"
    elif "requires reset" in words or "requires restart" in words:
        gpu.health = "needs-reset"
    elif "unknown error" in words or "err!" in words:
        gpu.health = "sensor-error"
    return gpu


def _fill(gpu: wire.Gpu, path: str, texts: list[str | None]) -> None:
    """Put the first of ``texts`` that is a number at ``path``, or note why there is none."""
    present = [text for text in texts if text]
    value = next((value for text in present if (value := number(text)) is not None), None)
    if value is None:
        gpu.unknown[path] = present[0].strip() if present else MISSING
    else:
        put(gpu, path, int(value) if path in BYTES else value)


def _has_no_memory_of_its_own(node: ElementTree.Element) -> bool:
    """Boards that use the computer's RAM give no number at all, in words that say so."""
    total = (node.findtext("fb_memory_usage/total") or "").strip("[] ")
    return total in ("N/A", "Not Supported")


def _throttling(node: ElementTree.Element) -> list[str]:
    mask = 0
    for section in ("clocks_event_reasons", "clocks_throttle_reasons"):
        for reason in node.iterfind(f"{section}/*"):
            if (reason.text or "").strip() == "Active":
                word = re.sub(r"^clocks_(event|throttle)_reasons?_", "", reason.tag)
                mask |= REASON_BITS.get(word, 0)
    return throttling(mask)


def _slices(node: ElementTree.Element, card: wire.Gpu) -> dict[tuple[str, str], wire.Gpu]:
    """A card's MIG slices by (GPU instance, compute instance)."""
    found: dict[tuple[str, str], wire.Gpu] = {}
    for number_, part in enumerate(node.iterfind("mig_devices/mig_device")):
        key = (part.findtext("gpu_instance_id", ""), part.findtext("compute_instance_id", ""))
        gpu = wire.Gpu(
            # Drivers that give a slice no uuid of its own name it so (before 470 all did).
            uuid=part.findtext("uuid") or f"MIG-{card.uuid}/{key[0]}/{key[1]}",
            index=number_,
            name=part.findtext("product_name") or f"{card.name} MIG",
            pci_bus_id=card.pci_bus_id,
            parent=card.uuid,
        )
        for path in BYTES:
            _fill(gpu, path, [part.findtext(VALUES[path][0])])
        found[key] = gpu
    return found


def _processes(
    node: ElementTree.Element, card: str, slices: dict[tuple[str, str], str]
) -> list[GpuProcess]:
    # "accounted_processes" are those that have ended.
    rows = [*node.iterfind("processes/process_info"), *node.iterfind("compute_processes/*")]
    lists: dict[str, dict[str, list[tuple[int, int | None]]]] = {}
    names: dict[int, str | None] = {}
    for row in rows:
        number_ = pid(row.findtext("pid", ""))
        if number_ is None:
            continue
        key = (row.findtext("gpu_instance_id", ""), row.findtext("compute_instance_id", ""))
        kinds = lists.setdefault(slices.get(key, card), {"C": [], "G": []})
        for kind in row.findtext("type", "C").strip().split("+"):
            # "M+C" is a compute process under MPS.
            kinds.get(kind, kinds["C"]).append((number_, whole(row.findtext("used_memory", ""))))
        names[number_] = name(row.findtext("process_name", ""))
    return [
        GpuProcess(
            gpu=process.gpu,
            pid=process.pid,
            bytes=process.bytes,
            type=process.type,
            name=names[process.pid],
        )
        for gpu, kinds in lists.items()
        for process in merge(gpu, kinds["C"], kinds["G"])
    ]
