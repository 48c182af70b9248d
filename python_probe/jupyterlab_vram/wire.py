"""Every message between server, browser and command line, defined once.

``src/service/wire.ts`` and ``wire.schema.json`` are generated from here (``npm run wire``).

Units: bytes are integers, times are seconds since the epoch, temperatures °C, power W, clocks MHz,
shares 0..1, PCIe and NVLink rates bytes a second. ``None`` (``null`` on the wire) means unknown;
zero is only ever a measured zero.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct, field

SCHEMA = 1
"""Raised on every breaking change; a browser whose number differs asks for a reload."""

Bytes = Annotated[int, Meta(ge=0)]
Share = Annotated[float, Meta(ge=0, le=1)]

Source = Literal["nvml", "nvidia-smi", "simulated"]
State = Literal[
    "ok",
    "no-library",
    "no-driver",
    "version-mismatch",
    "no-devices",
    "no-permission",
    "lost-access",
    "timeout",
    "starting",
    "stale",
]
Health = Literal["ok", "sensor-error", "needs-reset", "lost"]
HolderKind = Literal[
    "kernel", "leftover", "other-kernel", "own", "other-user", "system", "shared", "unseen"
]
Role = Literal["main", "worker", "engine", "command", "debugger", "unknown"]
KernelState = Literal[
    "starting", "idle", "busy", "restarting", "autorestarting", "dead", "terminating", "unknown"
]
RemedyId = Literal[
    "collect",
    "release-cache",
    "park",
    "restore",
    "unpin-exceptions",
    "unpin-outputs",
    "delete",
    "clear-session",
    "end-children",
    "interrupt",
    "restart",
    "shutdown",
]


# --- Snapshot -------------------------------------------------------------------------------


class Problem(Struct, kw_only=True):
    """Why there is no reading, in plain words."""

    code: str
    text: str
    hint: str
    tried: list[str] = field(default_factory=list)
    """What was looked at, one finished sentence each, for the "no GPU" list."""


class Driver(Struct, kw_only=True):
    version: str | None = None
    cuda_version: str | None = None
    """The newest CUDA that the driver supports, not the one that is installed."""


class Views(Struct, kw_only=True):
    """What the driver lets this system see."""

    processes: Literal["all", "namespace", "none"] = "all"
    sizes: Literal["all", "some", "none"] = "all"
    reason: str | None = None


class Memory(Struct, kw_only=True):
    total: Bytes | None = None
    used: Bytes | None = None
    """In use without the driver's own reserve (NVML's memory info version 2)."""
    free: Bytes | None = None
    reserved: Bytes | None = None
    unified: bool = False
    """The GPU shares the system's RAM, so that a share of ``total`` says little."""


class Utilization(Struct, kw_only=True):
    gpu: Share | None = None
    memory_bandwidth: Share | None = None
    """How busy the memory bus is; not how full the memory is."""
    encoder: Share | None = None
    decoder: Share | None = None


class Temperature(Struct, kw_only=True):
    now: float | None = None
    slowdown: float | None = None
    """Where this GPU itself begins to slow down."""


class Power(Struct, kw_only=True):
    draw: float | None = None
    limit: float | None = None


class Clocks(Struct, kw_only=True):
    sm: float | None = None
    memory: float | None = None


class Traffic(Struct, kw_only=True):
    rx: float | None = None
    tx: float | None = None


class Gpu(Struct, kw_only=True):
    """One device with its own memory. Identity is ``uuid``, never ``index``."""

    uuid: str
    index: int
    name: str
    pci_bus_id: str | None = None
    parent: str | None = None
    """The uuid of the card that this MIG slice is a part of."""
    memory: Memory = field(default_factory=Memory)
    utilization: Utilization = field(default_factory=Utilization)
    temperature: Temperature = field(default_factory=Temperature)
    power: Power = field(default_factory=Power)
    clocks: Clocks = field(default_factory=Clocks)
    fan: Share | None = None
    pcie: Traffic = field(default_factory=Traffic)
    nvlink: Traffic = field(default_factory=Traffic)
    throttling: list[str] = field(default_factory=list)
    """Why the clocks are held down now: ``heat``, ``power``, ``other``."""
    health: Health = "ok"
    unknown: dict[str, str] = field(default_factory=dict)
    """Path of a value that is null (``"power.draw"``) to the reason in the driver's words."""


class Engines(Struct, kw_only=True):
    sm: Share | None = None
    memory: Share | None = None
    encoder: Share | None = None
    decoder: Share | None = None


class Holder(Struct, kw_only=True):
    """A process that holds memory on a GPU; one row per (gpu, pid)."""

    gpu: str
    pid: int
    started_at: float | None = None
    bytes: Bytes | None = None
    bytes_from: Literal["driver", "kernel", "estimate"] | None = None
    type: Literal["C", "G", "C+G"] | None = None
    name: str | None = None
    kind: HolderKind = "unseen"
    role: Role = "unknown"
    kernel_id: str | None = None
    notebook: str | None = None
    """The notebook it was started from, also if its kernel is gone or another server's."""
    engines: Engines = field(default_factory=Engines)
    evidence: str | None = None
    """How the owner was found, one sentence."""


class KernelSession(Struct, kw_only=True):
    id: str
    path: str
    name: str
    type: str


class FrameworkUse(Struct, kw_only=True):
    """One framework's own figures, summed over the kernel's devices."""

    live: Bytes | None = None
    cached: Bytes | None = None
    context: Bytes | None = None
    peak: Bytes | None = None


class Kernel(Struct, kw_only=True):
    id: str
    name: str
    """The kernelspec's name."""
    language: str | None = None
    notebook: str | None = None
    """Path of the notebook (or console), relative to the server's root; None without a session."""
    sessions: list[KernelSession] = field(default_factory=list)
    state: KernelState = "unknown"
    last_activity: float | None = None
    connections: int | None = None
    host: str | None = None
    """Where it runs if that is another computer, else None."""
    pids: list[int] = field(default_factory=list)
    """The process of the kernel itself, then its descendants that hold GPU memory."""
    bytes: Bytes | None = None
    """On all GPUs together; None = not known, 0 only if measured."""
    gpus: dict[str, Bytes | None] = field(default_factory=dict)
    parked: Bytes | None = None
    """GPU data that is in host RAM now; None if none is, or if it was never asked."""
    budget: Bytes | None = None
    place: str | None = None
    """The only GPU (uuid) that it may use, or ``cpu``: chosen at a restart, or in its
    specification. It stays for later restarts. None where it may use what it finds."""
    devices: dict[str, str] = field(default_factory=dict)
    """The kernel's own CUDA index to the GPU's uuid."""
    frameworks: dict[str, FrameworkUse] = field(default_factory=dict)
    asked_at: float | None = None
    """When ``frameworks`` was measured in the kernel."""


class Unattributed(Struct, kw_only=True):
    gpu: str
    bytes: Bytes
    reason: str


class Snapshot(Struct, kw_only=True, tag_field="type", tag="snapshot"):
    version: str
    schema: int = SCHEMA
    taken_at: float
    source: Source
    state: State
    problem: Problem | None = None
    views: Views = field(default_factory=Views)
    driver: Driver = field(default_factory=Driver)
    gpus: list[Gpu] = field(default_factory=list)
    holders: list[Holder] = field(default_factory=list)
    kernels: list[Kernel] = field(default_factory=list)
    unattributed: list[Unattributed] = field(default_factory=list)


# --- Plan, run, report ----------------------------------------------------------------------


class HolderInKernel(Struct, kw_only=True):
    """Something inside a kernel that keeps GPU memory in use."""

    label: str
    """The shortest name that a person would use."""
    where: str
    """One of variable, output, exception, module, closure, frame, thread, generator, framework,
    unknown."""
    kind: str
    bytes: Bytes | None = None
    """Each storage counts once, in one row."""
    gpu: str | None = None
    shape: list[int] | None = None
    dtype: str | None = None
    count: int = 1
    name: str | None = None
    """The notebook's variable that may be deleted for it, else None."""
    gain: Bytes | None = None
    """What deleting ``name`` alone returns; less than ``bytes`` where others refer to it too."""
    also: list[str] = field(default_factory=list)
    """Some other names that lead to the same memory."""


class Remains(Struct, kw_only=True):
    bytes: Bytes | None = None
    why: str | None = None


class Remedy(Struct, kw_only=True):
    id: RemedyId
    gain: Bytes | None = None
    """What the GPU gets back by it, beside what ``release-cache`` returns: each step that drops
    something releases the caches, too."""
    gain_is: Literal["exact", "at-most", "unknown"] = "unknown"
    loses: str
    """What the user loses, in words; "Nothing is lost" where nothing is."""
    offered: bool
    why_not: str | None = None
    default: bool = False
    """Ticked when the plan opens: only what loses nothing."""


class Survivor(Struct, kw_only=True):
    """A process that the kernel started, which holds memory, perhaps after the kernel has ended."""

    pid: int
    started_at: float | None = None
    name: str | None = None
    gpu: str | None = None
    bytes: Bytes | None = None


class ScanExtent(Struct, kw_only=True):
    """How far the kernel's objects were looked at."""

    objects: int
    complete: bool
    """False if it stopped at the first ``objects``, so that the list may lack something."""
    found: Bytes | None = None
    """GPU memory that the objects found account for."""


class ParkPlan(Struct, kw_only=True):
    """What parking would move to host RAM."""

    bytes: Bytes
    count: int
    stays: list[HolderInKernel] = field(default_factory=list)
    stays_bytes: Bytes | None = None
    host_free: Bytes | None = None
    host_left: Share | None = None
    """Share of the host's RAM that would still be free afterwards."""
    differs: Share | None = None
    """By how much what was found differs from what the framework says is in use."""


class Plan(Struct, kw_only=True, tag_field="type", tag="plan"):
    version: str
    schema: int = SCHEMA
    kernel_id: str
    state: Literal["idle", "busy", "silent", "gone", "no-agent"]
    measured_at: float | None = None
    bytes: Bytes | None = None
    """What the kernel holds now by the driver's figure, on all GPUs together."""
    gpus: dict[str, Bytes | None] = field(default_factory=dict)
    frameworks: dict[str, FrameworkUse] = field(default_factory=dict)
    holders_in_kernel: list[HolderInKernel] = field(default_factory=list)
    """Largest first; empty if the kernel was not looked into."""
    scan: ScanExtent | None = None
    park: ParkPlan | None = None
    """None if it was not looked at; whether it is offered stands in ``remedies``."""
    children: list[Survivor] = field(default_factory=list)
    """Processes that the kernel started and that hold memory: what ``end-children`` may end."""
    variables: int | None = None
    models: int | None = None
    """How many the notebook has, and would lose by a restart."""
    pools: list[str] = field(default_factory=list)
    """Frameworks in use that keep their memory until the process ends."""
    remedies: list[Remedy] = field(default_factory=list)
    remains: Remains = field(default_factory=Remains)
    """What would stay if every default step is run, and why."""
    text: str | None = None
    """A sentence on the state, where one is needed (busy, silent, no agent)."""


class RunStep(Struct, kw_only=True, forbid_unknown_fields=True):
    id: RemedyId
    names: list[Annotated[str, Meta(max_length=1000)]] | None = None
    """``delete``: the variables."""
    all: bool | None = None
    """``unpin-outputs``: every entry, not only those that hold GPU memory."""
    pids: list[Annotated[int, Meta(gt=0)]] | None = None
    """``end-children``: which."""
    place: Annotated[str, Meta(max_length=200)] | None = None
    """``restart``: a GPU's uuid, or ``cpu``."""
    by_page: Annotated[str, Meta(min_length=1, max_length=100)] | None = None
    """``restart``: the page that asks restarts the kernel, as only it can tell its documents, once
    ``Step.by_page`` is this, which is its own. The server chooses the place, and measures."""
    budget: Annotated[int, Meta(gt=0)] | None = None


class RunRequest(Struct, kw_only=True, forbid_unknown_fields=True):
    remedies: Annotated[list[RunStep], Meta(min_length=1, max_length=20)]
    when: Literal["now", "idle"] = "now"


class Step(Struct, kw_only=True):
    id: RemedyId
    ok: bool | None = None
    """None while it has not run yet."""
    freed: Bytes | None = None
    freed_by: Literal["driver", "framework"] | None = None
    before: Bytes | None = None
    after: Bytes | None = None
    frameworks_before: dict[str, FrameworkUse] = field(default_factory=dict)
    frameworks_after: dict[str, FrameworkUse] = field(default_factory=dict)
    """By the frameworks' own account; empty for steps outside the kernel."""
    seconds: float | None = None
    text: str | None = None
    by_page: str | None = None
    """The page that asked by this may restart the kernel now: what it held was noted."""


class Report(Struct, kw_only=True, tag_field="type", tag="report"):
    version: str
    schema: int = SCHEMA
    kernel_id: str
    run_id: str
    """The same in every progress message and in the answer of one run."""
    finished: bool = True
    waiting: bool = False
    """It waits for the kernel to be idle; it can be cancelled."""
    at: float
    steps: list[Step] = field(default_factory=list)
    freed: Bytes | None = None
    expected: Bytes | None = None
    remains: Remains = field(default_factory=Remains)
    survivors: list[Survivor] = field(default_factory=list)


class EndRequest(Struct, kw_only=True, forbid_unknown_fields=True):
    pid: Annotated[int, Meta(gt=0)]
    started_at: float


class Ended(Struct, kw_only=True):
    version: str
    schema: int = SCHEMA
    pid: int
    ended: bool
    text: str


# --- History --------------------------------------------------------------------------------


class GpuHistory(Struct, kw_only=True):
    used: list[Bytes | None]
    utilization: list[Share | None]


class History(Struct, kw_only=True):
    version: str
    schema: int = SCHEMA
    step: float
    from_: float = field(name="from")
    gpus: dict[str, GpuHistory] = field(default_factory=dict)
    kernels: dict[str, dict[str, list[Bytes | None]]] = field(default_factory=dict)


# --- Config ---------------------------------------------------------------------------------


class Thresholds(Struct, kw_only=True, forbid_unknown_fields=True):
    high: Share = 0.9
    """Share of a GPU's memory from which it counts as nearly full."""
    hot: Annotated[float, Meta(ge=30, le=130)] = 80.0
    """°C from which a GPU that names no slowdown temperature of its own counts as hot."""
    long_idle: Annotated[float, Meta(ge=60)] = 3600.0
    """Seconds from which an idle kernel counts as long idle."""
    hint: Share = 0.1
    """Share of a nearly full GPU that a long idle kernel must hold to be pointed out."""


class Config(Struct, kw_only=True, forbid_unknown_fields=True):
    """One set a server. ``version`` and ``schema`` are the server's; a client's are ignored."""

    version: str = ""
    schema: int = SCHEMA
    interval: Annotated[float, Meta(ge=0.25, le=60)] = 1.0
    """Seconds between two readings while somebody looks."""
    source: Literal["auto", "nvml", "nvidia-smi", "simulated"] = "auto"
    thresholds: Thresholds = field(default_factory=Thresholds)
    park_ticked: bool = False
    """Whether a plan opens with parking ticked, where everything can move."""
    ask_kernels: bool = True
    """Whether idle kernels are asked for their own figures where the driver hides processes or
    sizes, while somebody looks. An operator's ``allow_code_in_kernels`` turned off wins."""


class ConfigChanged(Struct, kw_only=True, tag_field="type", tag="config"):
    version: str
    schema: int = SCHEMA
    config: Config


class ErrorBody(Struct, kw_only=True):
    """The body of every 4xx answer: a sentence, and what may be done about it."""

    message: str
    reason: str | None = None


StreamMessage = Snapshot | Report | ConfigChanged
"""What the server sends on ``stream``; the browser tells them apart by ``type``."""

DOCUMENTS: tuple[Any, ...] = (
    Snapshot,
    Plan,
    RunRequest,
    Report,
    EndRequest,
    Ended,
    History,
    Config,
    ConfigChanged,
    ErrorBody,
)
"""The roots of the generated schema."""

REQUESTS: frozenset[str] = frozenset({"RunRequest", "RunStep", "EndRequest"})
"""What a client may leave fields out of; in everything else each field is always present."""

encode = msgspec.json.Encoder().encode


def json_schema() -> dict[str, Any]:
    """All documents as one JSON Schema, the source of ``wire.schema.json`` and ``wire.ts``."""
    roots, components = msgspec.json.schema_components(DOCUMENTS, ref_template="#/$defs/{name}")
    for name, component in components.items():
        if name not in REQUESTS:
            component["required"] = list(component["properties"])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "WireDocument",
        "description": f"Any document of the wire, schema {SCHEMA}.",
        "anyOf": list(roots),
        "$defs": components,
    }


def finite(value: float | None) -> float | None:
    """``value``, or None where it is not a number that JSON can carry."""
    return value if value is not None and math.isfinite(value) else None
