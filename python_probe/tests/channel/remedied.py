"""A kernel whose memory is to be freed, and what a user sees there meanwhile."""

from __future__ import annotations

from typing import Any

from channel_user import Notebook
from jupyterlab_vram.kernels.answers import Figures, Installed, RemedyDone
from jupyterlab_vram.kernels.channel import KernelChannel, Op

MIB = 1 << 20

TAKE = """
import gc, sys, threading
from jupyterlab_vram import simulated
gc.disable()
def take(mib): return simulated.empty(mib << 20, dtype="uint8")
"""


class Kernel:
    def __init__(self, notebook: Notebook, channel: KernelChannel, framework: str) -> None:
        self.notebook = notebook
        self.run = notebook.run
        self.evaluate = notebook.evaluate
        self.channel = channel
        self.framework = framework

    async def fails(self, code: str) -> None:
        assert (await self.run(code))["status"] == "error"

    async def live(self) -> int:
        """MiB that the framework's arrays take."""
        figures = await self.channel.figures(self.notebook.kernel_id)
        assert isinstance(figures, Figures)
        return (figures.frameworks[self.framework].total().live or 0) // MIB

    async def remedy(self, op: Op, **arguments: Any) -> RemedyDone:
        done = await self.channel.remedy(self.notebook.kernel_id, op, **arguments)
        assert isinstance(done, RemedyDone), done
        if self.framework in done.after:
            total = done.after[self.framework].total()
            assert total.cached == 0 and total.live == await self.live() * MIB
        return done

    async def shown(self, code: str) -> list[dict[str, Any]]:
        """The streams and errors that a cell shows."""
        self.cell = self.notebook.send(code)
        await self.notebook.reply(self.cell)
        return await self.below()

    async def below(self) -> list[dict[str, Any]]:
        """What has appeared under that cell since."""
        await self.notebook.idle()
        found = []
        while await self.notebook.client.iopub_channel.msg_ready():
            message = await self.notebook.client.get_iopub_msg(timeout=5)
            if message["parent_header"].get("msg_id") == self.cell:
                found.append(message)
        return [m for m in found if m["header"]["msg_type"] in ("stream", "error")]

    async def variables_panel(self) -> list[str] | None:
        """Names in JupyterLab's panel of variables, where the kernel has a debugger."""
        client = self.notebook.client
        if not await self.evaluate("bool(getattr(get_ipython().kernel, 'debugger', None))"):
            return None
        content = {"type": "request", "seq": 1, "command": "inspectVariables", "arguments": {}}
        request = client.session.msg("debug_request", content)
        client.control_channel.send(request)
        while True:
            reply = await client.get_control_msg(timeout=30)
            if reply["parent_header"].get("msg_id") == request["header"]["msg_id"]:
                await self.notebook.idle()
                return [variable["name"] for variable in reply["content"]["body"]["variables"]]

    async def last_error(self) -> str:
        """What %tb prints."""
        messages = await self.shown("%tb")
        contents = [message["content"] for message in messages]
        return "".join(c["text"] if "text" in c else "\n".join(c["traceback"]) for c in contents)


async def sit_down(start: Any, channel: KernelChannel, kind: str) -> Kernel:
    """At a kernel with the simulated GPU, whose garbage nobody collects unasked."""
    notebook = await start(kind)
    assert isinstance(await channel.install(notebook.kernel_id), Installed)
    await notebook.run(TAKE)
    return Kernel(notebook, channel, "simulated")
