"""Moves GPU data to host RAM and back, every variable kept. Runs in the user's kernel.

Each storage is copied to host RAM, then resized to nothing in place; all tensors on it stay what
they are. Until it is back nobody may touch one (a real card ends the context then, and much is
silent: ``torch.save`` writes nothing), so ``gate.py`` is shut meanwhile, and ``bystanders.py`` says
whether anything needs no gate to run.

Nothing is resized before all is copied, and nothing that was copied is let go before all is back;
so whatever fails in between (an error, an interrupt, no room), the data is in one of the places.

A framework's mover, a file of ``MOVERS``, has these functions; ``parts`` is its own list of what
it moves, each with ``nbytes`` (None where nobody knows), and ``check`` is called between pieces of
at most 64 MiB; it raises if the user interrupts.

- ``refusals(agent, framework)``: sentences, each a reason against parking at all.
- ``survey(agent, framework, objects)``: ``{"parts", "refused", "stays": [(object, kind, bytes,
  device index)], "found", "allocated"}``; found are the bytes that the objects account for out of
  those that the framework has allocated.
- ``save(agent, framework, parts, check)``: copies to host RAM. Changes nothing.
- ``empty(agent, framework, parts)``: gives the GPU's memory to the framework's cache.
- ``lacks(agent, framework, parts)``: ``[(bytes needed, bytes free)]`` of each GPU without room.
- ``fill(agent, framework, parts)``: takes GPU memory again, under the streams of before. What has
  some keeps it.
- ``load(agent, framework, parts, check)``: copies back.
"""

from __future__ import annotations

import atexit
import gc
import signal
import threading
from typing import Any

MOVERS = {"torch": "torch_park", "simulated": "simulated_park", "vllm": "vllm_park"}
SPARE = 0.2
"""Share of the host's RAM that must stay free."""
GIB = 1 << 30


def check(agent: Any, request: dict[str, Any]) -> dict[str, Any]:
    """What parking would move, or the sentences against it. Changes nothing.

    ``bytes``, ``count`` (storages), ``refused`` (sentences), ``stays`` (rows as a scan's),
    ``stays_bytes``, ``host_free``, ``host_left`` (share of the host's RAM, 0..1), ``differs``
    (share of the allocated bytes that was not found).
    """
    if "parked" in agent.kept:
        return {"refused": ["It is parked already."]}
    return _survey(agent).told()


def park(agent: Any, request: dict[str, Any]) -> dict[str, Any]:
    """``moved`` (bytes), ``count`` (storages) and ``stays`` (rows); a refusal changes nothing."""
    if "parked" in agent.kept:
        return _failed("It is parked already.")
    gc.collect()
    parked = _Parked(agent)
    with _Interrupts() as interrupts, parked.lock:
        # First: a request in another thread waits from here on, and one that is already running
        # is seen by the survey.
        parked.shut()
        try:
            survey = _survey(agent)
            if survey.refused:
                return _failed("Not parked; nothing was changed. " + " ".join(survey.refused))
            parked.take(survey, interrupts.check)
        except BaseException as error:  # noqa: BLE001 - told as a sentence
            why = "interrupted" if type(error) is KeyboardInterrupt else parked.sentence(error)
            if parked.groups:
                return _failed(f"Parked, with a problem: {why}.")
            return _failed(f"Not parked; all is where it was: {why}.")
        finally:
            if not parked.groups:
                parked.opened()
    return {"moved": parked.nbytes, "count": parked.count, "stays": survey.stays}


def restore(agent: Any, request: dict[str, Any]) -> dict[str, Any]:
    """``moved`` (bytes) and ``count`` (storages); what fails leaves everything parked."""
    parked = agent.kept.get("parked")
    if parked is None:
        return _failed("Nothing of this notebook's is parked.")
    problem = parked.bring_back()
    if parked.groups:
        return _failed(problem)
    return {"moved": parked.nbytes, "count": parked.count}


def _failed(text: str) -> dict[str, Any]:
    return {"ok": False, "text": text, "moved": 0, "count": 0}


class _Group:
    """What one framework has to move."""

    def __init__(self, agent: Any, adapter: Any, framework: Any, parts: list[Any]) -> None:
        self.agent = agent
        self.adapter = adapter
        self.framework = framework
        self.parts = parts
        self._mover = agent.module(MOVERS[adapter.NAME])

    def do(self, step: str, *arguments: Any) -> Any:
        """A function of the mover's."""
        return getattr(self._mover, step)(self.agent, self.framework, self.parts, *arguments)


class _Survey:
    """What is there to move, and what stands against it."""

    def __init__(self, agent: Any) -> None:
        self.groups: list[_Group] = []
        self.refused: list[str] = []
        self.stays: list[dict[str, Any]] = []
        found = allocated = 0
        frameworks = [pair for pair in agent.frameworks() if pair[0].NAME in MOVERS]
        # Its tensors are torch's, but nobody else's to move.
        vllm = [pair for pair in frameworks if pair[0].NAME == "vllm"]
        for adapter, framework in vllm or frameworks:
            mover = agent.module(MOVERS[adapter.NAME])
            self.refused += mover.refusals(agent, framework)
            if self.refused:
                continue
            seen = mover.survey(agent, framework, _arrays(agent, adapter, framework))
            self.refused += seen["refused"]
            self.groups.append(_Group(agent, adapter, framework, seen["parts"]))
            self.stays += [_row(agent, adapter, framework, *stay) for stay in seen["stays"]]
            found += seen["found"]
            allocated += seen["allocated"]
            if seen["allocated"] > seen["found"]:
                self.stays.append(_unseen(adapter, seen["allocated"] - seen["found"]))
        self.differs = (allocated - found) / allocated if allocated else None
        sizes = [part.nbytes for group in self.groups for part in group.parts]
        self.nbytes: int | None = None if None in sizes else sum(sizes)
        self.count = sum(len(group.parts) for group in self.groups)
        self.refused += agent.module("bystanders").others(agent.kernel)
        if not self.refused and not self.count:
            self.refused.append("There is no GPU data of PyTorch's in this notebook to move.")
        self.host_free: int | None = None
        self.host_left: float | None = None
        self._look_at_host(agent.module("host_memory"))

    def _look_at_host(self, host_memory: Any) -> None:
        try:
            limits = host_memory.limits()
        except host_memory.Unknown as error:
            self.refused.append(str(error))
            return
        self.host_free = min(limit.free for limit in limits)
        left = host_memory.left_after(limits, self.nbytes or 0)
        self.host_left = left if self.nbytes is not None else None
        if left < SPARE:
            self.refused.append(
                f"The host's RAM is too small: {_size(self.host_free)} of it are free, and with "
                f"{_size(self.nbytes)} more in use less than {SPARE:.0%} of it would stay free."
            )

    def told(self) -> dict[str, Any]:
        sizes = [row["bytes"] for row in self.stays]
        return {
            "bytes": self.nbytes,
            "count": self.count,
            "refused": self.refused,
            "stays": self.stays,
            "stays_bytes": sum(sizes),
            "host_free": self.host_free,
            "host_left": self.host_left,
            "differs": self.differs,
        }


def _survey(agent: Any) -> _Survey:
    enabled = gc.isenabled()
    gc.disable()  # which would look again and again at the many things made here
    try:
        return _Survey(agent)
    finally:
        if enabled:
            gc.enable()


def _arrays(agent: Any, adapter: Any, framework: Any) -> list[Any]:
    """By their types alone: to ask an object what it is would run its class's code."""
    # By identity, with the class to keep that valid: a metaclass may have its own __hash__.
    kinds: dict[int, tuple[type, bool]] = {}
    found: list[Any] = []
    if not hasattr(adapter, "is_array"):
        return found
    objects, graph = gc.get_objects(), agent.module("graph")
    if gc.get_freeze_count() > graph.FROZEN:
        roots = agent.module("roots").Roots(agent).stops
        objects = graph.with_frozen(objects, list(roots.values()))
    for thing in objects:
        key = id(type(thing))
        if key not in kinds:
            kinds[key] = type(thing), adapter.is_array(framework, type(thing))
        if kinds[key][1]:
            found.append(thing)
    return found


def _row(
    agent: Any, adapter: Any, framework: Any, thing: Any, kind: str, nbytes: int, device: int
) -> dict[str, Any]:
    told = adapter.describe(framework, thing)
    naming = agent.module("naming")
    names = list(agent.shell.user_ns.items())
    called = [naming.variable(key) for key, value in names if value is thing]
    # IPython's own for an output, _ and _5, are no variables.
    name = next((name for name in called if name and not name.startswith("_")), None)
    return {
        "label": f"a {told['kind']}" if name is None else naming.word(name),
        "where": "unknown" if name is None else "variable",
        "kind": kind,
        "bytes": nbytes,
        "device": device,
        "framework": adapter.NAME,
        "shape": told["shape"],
        "dtype": told["dtype"],
        "name": name,
    }


def _unseen(adapter: Any, nbytes: int) -> dict[str, Any]:
    return {
        "label": "held by the framework itself",
        "where": "framework",
        "kind": "no Python object",
        "bytes": nbytes,
        "framework": adapter.NAME,
    }


class _Parked:
    """Data in host RAM, from before it is copied until it is back."""

    def __init__(self, agent: Any) -> None:
        self.lock = threading.Lock()
        self.groups: list[_Group] = []
        self.nbytes: int | None = 0
        self.count = 0
        self._agent = agent
        self._gate: Any = None
        self.sentence = agent.module("handlers").sentence

    def shut(self) -> None:
        self._gate = self._agent.module("gate").Gate(self._agent, self.bring_back)

    def take(self, survey: _Survey, check: Any) -> None:
        """Raises what a mover raises, and KeyboardInterrupt; then nothing is parked."""
        for group in survey.groups:
            group.do("save", check)
        self.groups, self.nbytes, self.count = survey.groups, survey.nbytes, survey.count
        self._agent.kept.update(parked=self, parked_bytes=self.nbytes)
        # What the user has registered for the kernel's end finds the data: the last comes first.
        atexit.register(self.bring_back)
        try:
            for group in self.groups:
                group.do("empty")
        except BaseException:
            # What was emptied is still the framework's, so that there is room.
            self._fill(lambda: None)
            raise
        for group in self.groups:
            group.adapter.release(group.framework)

    def bring_back(self) -> str | None:
        """None once nothing is parked any more, else a sentence; then everything still is."""
        with _Interrupts() as interrupts, self.lock:
            if not self.groups:
                return None
            try:
                lacks = [lack for group in self.groups for lack in group.do("lacks")]
                if lacks:
                    return self._stuck(_no_room(lacks))
                self._fill(interrupts.check)
                interrupts.check()
            except KeyboardInterrupt:
                if not self.groups:
                    return "Interrupted; the data is back on the GPU."
                return self._stuck("it was interrupted")
            except BaseException as error:  # noqa: BLE001 - told as a sentence
                return self._stuck(self.sentence(error))
            return None

    def _fill(self, check: Any) -> None:
        try:
            for group in self.groups:
                group.do("fill")
            for group in self.groups:
                group.do("load", check)
        except BaseException:
            for group in self.groups:
                group.do("empty")
                group.adapter.release(group.framework)
            raise
        self.groups = []
        self.opened()

    def opened(self) -> None:
        """No trace stays, neither in the kernel nor of the data."""
        self._gate.open()
        self._agent.kept.pop("parked", None)
        self._agent.kept.pop("parked_bytes", None)

    def _stuck(self, why: str) -> str:
        return (
            f"This notebook is parked: {_size(self.nbytes)} of its GPU data is in host RAM, and "
            f"could not be brought back: {why}. Nothing is lost and nothing was run. Free "
            "memory on the GPU, then try again."
        )


class _Interrupts:
    """Holds the user's interrupts back until it suits: ``check`` raises if there was one.

    Python has them in the main thread only, so that there is nothing to do in others.
    """

    def __enter__(self) -> _Interrupts:
        self._asked = False
        self._main = threading.current_thread() is threading.main_thread()
        if self._main:
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        if self._main:
            signal.signal(signal.SIGINT, self._before)

    def _note(self, *_: object) -> None:
        self._asked = True

    def check(self) -> None:
        if self._asked:
            raise KeyboardInterrupt


def _no_room(lacks: list[tuple[int, int]]) -> str:
    return "; ".join(
        f"the GPU has {_size(free)} free, and {_size(needed)} are needed" for needed, free in lacks
    )


def _size(nbytes: int | None) -> str:
    if nbytes is None:
        return "an unknown part"
    return f"{nbytes / GIB:.1f} GiB" if nbytes >= GIB / 10 else f"{nbytes / (1 << 20):.1f} MiB"
