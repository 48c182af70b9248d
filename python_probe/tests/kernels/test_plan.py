"""What a plan promises, from figures alone."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from jupyterlab_vram import wire
from jupyterlab_vram.kernels.figures import Measured
from jupyterlab_vram.kernels.plan import make_plan
from jupyterlab_vram.kernels.situation import Situation

GIB = 1 << 30
MAIN = wire.Holder(gpu="GPU-1", pid=10, bytes=5 * GIB, kind="kernel", role="main", kernel_id="k")
CHILD = wire.Holder(gpu="GPU-1", pid=11, bytes=GIB, kind="kernel", role="worker", kernel_id="k")


def situation(holders: Sequence[wire.Holder], releasable: int | None) -> Situation:
    held = sum(holder.bytes or 0 for holder in holders)
    use = wire.FrameworkUse(live=2 * GIB, cached=2 * GIB)
    kernel = wire.Kernel(id="k", name="python3", bytes=held, frameworks={"torch": use})
    inside = Measured(at=0.0, frameworks=kernel.frameworks, releasable=releasable, devices={})
    return Situation(kernel=kernel, holders=holders, inside=inside)


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
        assert promises(situation([MAIN], GIB))[remedy] == (5 * GIB, "exact")
        assert promises(situation([MAIN, CHILD], GIB))[remedy] == (6 * GIB, "at-most")
