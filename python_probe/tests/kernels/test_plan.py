"""What a plan promises and says, from figures alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from asking import by_id
from jupyterlab_vram import wire
from jupyterlab_vram.kernels.answers import Gain, ParkCheck, Row, Scan
from jupyterlab_vram.kernels.costs import NOTHING_LOST
from jupyterlab_vram.kernels.figures import Measured
from jupyterlab_vram.kernels.gains import expected
from jupyterlab_vram.kernels.offers import PlanState
from jupyterlab_vram.kernels.plan import make_plan
from jupyterlab_vram.kernels.situation import Insight, Situation

GIB = 1 << 30
MAIN = wire.Holder(gpu="GPU-1", pid=10, bytes=5 * GIB, kind="kernel", role="main", kernel_id="k")
CHILD = wire.Holder(gpu="GPU-1", pid=11, bytes=GIB, kind="kernel", role="worker", kernel_id="k")
KEEPS = "TensorFlow keeps its memory pool until the process ends."
SESSION = "You lose Keras' global state."


def situation(
    holders: Sequence[wire.Holder] = (MAIN,),
    releasable: int | None = 2 * GIB,
    insight: Insight | None = None,
    name: str = "torch",
    parked: int | None = None,
    **inside: Any,
) -> Situation:
    held = sum(holder.bytes or 0 for holder in holders)
    use = wire.FrameworkUse(live=2 * GIB, cached=2 * GIB)
    kernel = wire.Kernel(id="k", name="python3", bytes=held, frameworks={name: use}, parked=parked)
    measured = Measured(
        at=0.0,
        frameworks=kernel.frameworks,
        releasable=releasable,
        devices={"0": "GPU-1"},
        **inside,
    )
    return Situation(kernel=kernel, holders=holders, inside=measured, insight=insight or Insight())


def scanned(rows: Sequence[Row] = (), check: ParkCheck | None = None, **gains: Gain) -> Insight:
    scan = Scan(
        ok=True,
        seconds=0.1,
        rows=list(rows),
        complete=True,
        variables=14,
        models=1,
        gains={name.replace("_", "-"): gain for name, gain in gains.items()},
    )
    return Insight(scan=scan, park=check)


def check(**values: Any) -> ParkCheck:
    return ParkCheck(**{"ok": True, "seconds": 0.1, "bytes": 2 * GIB, "stays_bytes": 0, **values})


def promises(now: Situation) -> dict[str, tuple[int | None, str]]:
    plan = make_plan(now, "idle", None)
    return {remedy.id: (remedy.gain, remedy.gain_is) for remedy in plan.remedies}


@pytest.mark.parametrize(
    ("releasable", "promised"), [(GIB, (GIB, "exact")), (None, (2 * GIB, "at-most"))]
)
def test_a_cache_may_share_segments_with_what_is_in_use(
    releasable: int | None, promised: tuple[int, str]
) -> None:
    assert promises(situation([MAIN], releasable))["release-cache"] == promised


def test_children_may_outlive_their_kernel() -> None:
    for remedy in ("restart", "shutdown"):
        assert promises(situation([MAIN]))[remedy] == (5 * GIB, "exact")
        assert promises(situation([MAIN, CHILD]))[remedy] == (6 * GIB, "at-most")
    assert promises(situation([MAIN, CHILD]))["end-children"] == (GIB, "exact")


def test_what_was_not_looked_at_is_unknown_and_says_why() -> None:
    plan = make_plan(situation(insight=Insight(why_none="It ran out of time.")), "idle", None)
    found = by_id(plan)
    for remedy in ("park", "delete"):
        assert (found[remedy].gain, found[remedy].gain_is) == (None, "unknown")
        assert not found[remedy].offered
        assert found[remedy].why_not == "It ran out of time."
    for remedy in ("collect", "unpin-exceptions", "unpin-outputs"):
        assert (found[remedy].gain, found[remedy].gain_is) == (None, "unknown")
        assert found[remedy].offered
    assert (plan.scan, plan.park, plan.variables) == (None, None, None)


@pytest.mark.parametrize(
    ("releasable", "certainty"), [(2 * GIB, "exact"), (GIB, "at-most"), (None, "at-most")]
)
def test_a_count_is_a_bound_where_segments_are_shared_or_may_be(
    releasable: int | None, certainty: str
) -> None:
    insight = scanned(
        collect=Gain(bytes=GIB, is_="exact"),
        unpin_outputs=Gain(bytes=GIB, is_="at-most"),
        unpin_exceptions=Gain(bytes=None, is_="unknown"),
        delete=Gain(bytes=GIB, is_="exact"),
    )
    found = promises(situation(releasable=releasable, insight=insight))
    assert found["collect"] == (GIB, certainty)
    assert found["unpin-outputs"] == (GIB, "at-most")
    assert found["unpin-exceptions"] == (None, "unknown")
    assert found["delete"] == (GIB, "at-most")


def test_a_driver_that_names_nobody_does_not_make_a_kernel_empty() -> None:
    plan = make_plan(situation(holders=()), "idle", None)
    assert plan.bytes == 0
    assert by_id(plan)["collect"].offered
    assert by_id(plan)["release-cache"].offered


def test_pools_give_nothing_back_and_say_so() -> None:
    insight = scanned(
        [Row(label="x", where="variable", kind="Array", framework="tensorflow", name="x", gain=9)],
        delete=Gain(bytes=GIB, is_="exact"),
        collect=Gain(bytes=GIB, is_="exact"),
    )
    now = situation(
        insight=insight,
        name="tensorflow",
        releasable=0,
        keeps={"tensorflow": KEEPS},
        sessions={"tensorflow": SESSION},
    )
    plan = make_plan(now, "idle", None)
    found = by_id(plan)
    assert plan.pools == ["tensorflow"]
    assert KEEPS in (plan.remains.why or "")
    for remedy in ("collect", "release-cache", "clear-session", "delete"):
        assert (found[remedy].gain, found[remedy].gain_is) == (0, "exact")
    assert found["clear-session"].offered
    assert found["clear-session"].loses == (
        f"{SESSION} Makes up to 2.0\u00a0GiB reusable inside this notebook. "
        "Returns nothing to the GPU."
    )
    assert plan.holders_in_kernel[0].gain == 0
    assert (found["restart"].gain, found["restart"].gain_is) == (5 * GIB, "exact")
    assert found["restart"].loses == "You lose every variable: 14 variables, 1 model."


def test_a_session_is_only_offered_where_there_is_one() -> None:
    assert "clear-session" not in promises(situation())
    assert promises(situation(sessions={"torch": SESSION}))["clear-session"] == (None, "unknown")


@pytest.mark.parametrize(
    ("values", "offered", "gain", "words"),
    [
        ({}, True, (2 * GIB, "exact"), None),
        ({"stays_bytes": GIB, "bytes": GIB}, True, (GIB, "at-most"), None),
        ({"differs": 0.01}, True, (2 * GIB, "at-most"), None),
        ({"bytes": 0}, False, (2 * GIB, "exact"), "Nothing was found"),
        (
            {"refused": ["A thread of yours runs: loader", "CuPy is loaded."], "ok": False},
            False,
            (2 * GIB, "at-most"),
            "A thread of yours runs: loader. CuPy is loaded.",
        ),
    ],
)
def test_parking(
    values: dict[str, Any], offered: bool, gain: tuple[int, str], words: str | None
) -> None:
    now = situation(insight=scanned(check=check(**values)))
    plan = make_plan(now, "idle", None, park_ticked=True)
    first = plan.remedies[0]
    assert (first.id, first.offered) == ("park", offered)
    assert (first.gain, first.gain_is) == gain
    assert words is None or words in (first.why_not or "")
    assert first.default is (offered and not values.get("stays_bytes"))
    assert not by_id(make_plan(now, "idle", None))["park"].default


def test_parking_says_first_where_the_sums_differ() -> None:
    now = situation(insight=scanned(check=check(differs=0.08)))
    park = by_id(make_plan(now, "idle", None, park_ticked=True))["park"]
    assert park.offered and not park.default
    assert park.loses.startswith(f"{NOTHING_LOST} What was found differs by 8%")


def test_a_parked_kernel_is_only_restored_or_ended() -> None:
    plan = make_plan(situation(parked=3 * GIB), "idle", None)
    offered = [remedy.id for remedy in plan.remedies if remedy.offered]
    assert offered == ["restore", "restart", "shutdown"]
    assert plan.remedies[0].loses == f"{NOTHING_LOST} 3.0\u00a0GiB goes back to the GPU."


@pytest.mark.parametrize("state", ["busy", "silent", "gone", "no-agent"])
def test_what_is_left_without_an_idle_kernel(state: PlanState) -> None:
    plan = make_plan(situation([MAIN, CHILD]), state, "Why.")
    offered = [remedy.id for remedy in plan.remedies if remedy.offered]
    interrupt = ["interrupt"] if state in ("busy", "silent") else []
    assert offered == ["end-children", *interrupt, "restart", "shutdown"]
    listed = [remedy.id for remedy in plan.remedies]
    assert ("collect" in listed) is (state != "no-agent")
    assert not any(remedy.default for remedy in plan.remedies)
    assert "running cell" in by_id(plan)["restart"].loses or not interrupt


@pytest.mark.parametrize(
    ("steps", "bytes_"),
    [
        (["collect"], 0),
        (["release-cache"], 2 * GIB),
        (["collect", "release-cache"], 2 * GIB + 1),
        (["unpin-outputs"], 2 * GIB + 1 + 4),
        (["collect", "release-cache", "unpin-outputs", "unpin-exceptions"], 2 * GIB + 1 + 4 + 2),
        (["park"], 4 * GIB),
        (["park", "release-cache", "unpin-outputs", "collect"], 4 * GIB),
        (["interrupt"], None),
        (["restart", "collect"], 6 * GIB),
    ],
)
def test_steps_together(steps: list[wire.RemedyId], bytes_: int | None) -> None:
    insight = scanned(
        check=check(),
        collect=Gain(bytes=1, is_="exact"),
        unpin_exceptions=Gain(bytes=2, is_="exact"),
        unpin_outputs=Gain(bytes=4, is_="exact"),
    )
    now = situation([MAIN, CHILD], insight=insight)
    assert expected(now, [wire.RunStep(id=step) for step in steps]) == bytes_


def test_chosen_variables_and_children_are_summed() -> None:
    rows = [
        Row(label=name, where="variable", kind="Tensor", name=name, gain=gain)
        for name, gain in (("a", 1), ("b", 2), ("c", None))
    ]
    now = situation([MAIN, CHILD], releasable=0, insight=scanned(rows))

    def deleting(*names: str) -> int | None:
        return expected(now, [wire.RunStep(id="delete", names=list(names))])

    assert deleting("a") == 1
    assert deleting("a", "b", "b") == 3
    assert deleting("c") == 0  # the caches' share is known to be nothing
    assert expected(now, [wire.RunStep(id="end-children", pids=[11])]) == GIB


def test_what_a_kernel_says_is_cut_to_what_is_sensible() -> None:
    rows = [
        Row(
            label="x" * 10_000 + "\ud800",
            where="<script>",
            kind="y" * 10_000,
            shape=list(range(1000)),
            dtype="z" * 10_000,
            name=name,
            device=0,
            also=["w" * 10_000] * 100,
        )
        for name in ["fine", "lone \ud800 surrogate", "n" * 1001, *["more"] * 1000]
    ]
    hostile = check(refused=["\ud800" + "r" * 10_000], host_left=float("nan"), differs=1e300)
    now = situation(insight=scanned(rows, check=hostile))
    plan = make_plan(now, "idle", None)
    assert len(plan.holders_in_kernel) == 200
    row = plan.holders_in_kernel[0]
    assert (len(row.label), row.where, len(row.kind)) == (200, "unknown", 60)
    assert (len(row.shape or []), len(row.dtype or ""), row.gpu) == (16, 60, "GPU-1")
    assert [len(name) for name in row.also] == [200] * 3
    assert [each.name for each in plan.holders_in_kernel[:3]] == ["fine", None, None]
    assert plan.park is not None
    assert (plan.park.host_left, plan.park.differs) == (None, 1.0)
    assert len(by_id(plan)["park"].why_not or "") < 310
    assert wire.encode(plan)
