"""NumPy's arrays of objects, which the garbage collector doesn't see into."""

from __future__ import annotations

from typing import Any

import pytest
from jupyterlab_vram.kernels.answers import Scan
from jupyterlab_vram.kernels.channel import KernelChannel
from remedied import MIB, sit_down

pytestmark = [pytest.mark.frameworks, pytest.mark.parametrize("kind", ["cpu", "cpu-old"])]

TABLE = """
import numpy
def table(*mib):
    made = numpy.empty((2, 2), object)
    made.flat[:len(mib)] = [take(each) for each in mib]
    return made
"""


async def test_what_is_in_one_is_named_and_goes_with_it(
    start: Any, channel: KernelChannel, kind: str
) -> None:
    kernel = await sit_down(start, channel, kind)
    await kernel.run(TABLE)
    await kernel.run("names = table(12, 14); nested = table(); nested[0, 1] = [table(16)]")
    await kernel.run("view = nested.T; only = {'table': table(18)}")
    scan = await channel.scan(kernel.notebook.kernel_id)
    assert isinstance(scan, Scan) and scan.ok, scan
    rows = {(row.label, row.name, row.bytes // MIB, row.gain) for row in scan.rows}
    assert rows == {
        ("names[0]", "names", 12, 26 * MIB),
        ("names[1]", "names", 14, 26 * MIB),
        ('only["table"][0]', "only", 18, 18 * MIB),
        ("nested[1][0][0]", "nested", 16, 0),
    }
    done = await kernel.remedy("delete", names=["nested"])
    assert done.text == "What nested referred to is still referred to by view."
    done = await kernel.remedy("delete", names=["view", "names", "only"])
    assert (done.text, await kernel.live()) == (None, 0)


async def test_an_output_that_is_one_goes(start: Any, channel: KernelChannel, kind: str) -> None:
    kernel = await sit_down(start, channel, kind)
    await kernel.run(TABLE)
    await kernel.run("table(12)")
    scan = await channel.scan(kernel.notebook.kernel_id)
    assert isinstance(scan, Scan)
    gain = scan.gains["unpin-outputs"]
    assert (gain.bytes, gain.is_) == (12 * MIB, "exact")
    done = await kernel.remedy("unpin-outputs")
    assert (done.dropped, await kernel.live()) == (1, 0)


async def test_one_that_is_too_large_is_said_to_be(
    start: Any, channel: KernelChannel, kind: str
) -> None:
    kernel = await sit_down(start, channel, kind)
    await kernel.run("import numpy; many = numpy.empty(3_000_000, object); many[-1] = take(12)")
    await kernel.run("many")
    scan = await channel.scan(kernel.notebook.kernel_id)
    assert isinstance(scan, Scan) and not scan.complete
    done = await kernel.remedy("unpin-outputs")
    assert (
        done.text is not None and "it has too many parts: an output that is a ndarray" in done.text
    )
    assert await kernel.live() == 12
