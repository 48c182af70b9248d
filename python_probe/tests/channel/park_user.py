"""What the tests of parking share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from channel_user import Notebook
from jupyterlab_vram.kernels.answers import Figures, Installed, RemedyDone
from jupyterlab_vram.kernels.channel import KernelChannel, Op
from jupyterlab_vram.simulated.ledger import Ledger

MIB = 1 << 20
CONTEXT = 300 * MIB

DATA = """
from jupyterlab_vram import simulated
x = simulated.empty(100 << 20, dtype='uint8')
view = x.view()
kept = [simulated.empty(200 << 20, dtype='uint8'), simulated.empty(1000, dtype='uint8')]
cached = simulated.empty(50 << 20, dtype='uint8'); del cached
"""
SIZES = "[a.storage.nbytes for a in (x, view, *kept)]"
FULL = [100 * MIB, 100 * MIB, 200 * MIB, 1000]
MOVED = 300 * MIB + 1000

EXECUTE = {
    "code": "",
    "silent": True,
    "store_history": False,
    "user_expressions": {"x": f"globals().update(seen={SIZES})"},
    "allow_stdin": False,
}
"""A request that leaves the sizes as it saw them in ``seen``."""


def held(tmp_path: Path, notebook: Notebook) -> int:
    """Bytes of the simulated GPU, by its driver."""
    with Ledger.open(tmp_path / "ledger") as ledger:
        return ledger.held(notebook.kernel.provisioner.pid, 0)


async def installed(notebook: Notebook, channel: KernelChannel, code: str = DATA) -> None:
    reply = await notebook.run(code)
    assert reply["status"] == "ok", reply
    assert isinstance(await channel.install(notebook.kernel_id), Installed)


async def done(notebook: Notebook, channel: KernelChannel, op: Op) -> RemedyDone:
    answer = await channel.remedy(notebook.kernel_id, op)
    assert isinstance(answer, RemedyDone), answer
    return answer


async def parked(notebook: Notebook, channel: KernelChannel, code: str = DATA) -> None:
    await installed(notebook, channel, code)
    answer = await done(notebook, channel, "park")
    assert answer.ok, answer


async def is_parked(notebook: Notebook, channel: KernelChannel) -> bool:
    figures = await channel.figures(notebook.kernel_id)
    assert isinstance(figures, Figures), figures
    return figures.parked is not None


async def answer(notebook: Notebook, kind: str, content: Any, channel: str = "shell") -> Any:
    """The content of the reply to any request, on any channel."""
    at = getattr(notebook.client, f"{channel}_channel")
    message = notebook.client.session.msg(kind, content)
    at.send(message)
    while True:
        reply = await at.get_msg(timeout=20)
        if reply["parent_header"].get("msg_id") == message["header"]["msg_id"]:
            assert reply["header"]["msg_type"] == kind.replace("_request", "_reply")
            return reply["content"]
