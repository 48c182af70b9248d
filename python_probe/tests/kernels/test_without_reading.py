"""Kernels of a computer whose GPU can't be read are looked after all the same."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from jupyterlab_vram import wire
from jupyterlab_vram.kernels import lifecycle
from jupyterlab_vram.kernels.channel import KernelChannel
from jupyterlab_vram.kernels.describe import Describer
from jupyterlab_vram.kernels.registry import KernelRegistry
from jupyterlab_vram.kernels.remedies import Remedies
from jupyterlab_vram.probe import problems
from jupyterlab_vram.probe.reading import Reading
from users import Person


async def test_restart_where_no_gpu_can_be_read(
    registry: KernelRegistry,
    describer: Describer,
    jp_serverapp: Any,
    person: Callable[..., Awaitable[Person]],
) -> None:
    someone = await person()

    async def read() -> wire.Snapshot:
        return await describer.snapshot(Reading.without("nvml", problems.no_devices()))

    channel = KernelChannel(jp_serverapp.kernel_manager)
    door = Remedies(registry, channel, read, describer.measured)
    request = wire.RunRequest(remedies=[wire.RunStep(id="restart")])
    report = await door.run(someone.kernel_id, request, lambda _: None)
    channel.close()
    [step] = report.steps
    assert (step.ok, step.freed, report.remains.bytes) == (True, None, None)
    assert step.seconds is not None
    assert step.seconds < lifecycle.RETURN_LIMIT / 2, "it waited for what can't come"
    await someone.sit_down()
    assert (await someone.run("x"))["ename"] == "NameError"
