"""The text that the server sends into a kernel, on a person's click.

Every other file here is data for the server: it runs in the user's kernel, which may be an older
Python (3.8 and later) in an environment without this package, so it uses the standard library
only and touches a framework only if ``sys.modules`` already has it. A new framework is one more
file in ``FRAMEWORKS``; the words that it has to offer are described in ``handlers.py``.
"""

from __future__ import annotations

import functools
import hashlib
from importlib import resources

MESSAGE_TYPE = "vram_request"
REPLY_TYPE = "vram_reply"

FRAMEWORKS: tuple[str, ...] = ("torch_cuda", "simulated_gpu")
"""The adapters, one file each, in the order in which they are asked."""


@functools.cache
def _sources() -> dict[str, str]:
    folder = resources.files(__name__)
    return {
        name: folder.joinpath(f"{name}.py").read_text(encoding="utf-8")
        for name in (*FRAMEWORKS, "handlers")
    }


@functools.cache
def version() -> str:
    """Changes whenever the text does, so that a kernel with another one gets a new one."""
    digest = hashlib.sha256()
    for name, source in _sources().items():
        digest.update(f"{name}\0{source}\0".encode())
    return digest.hexdigest()[:16]


@functools.cache
def text() -> str:
    """The whole agent as one Python program; run, it leaves ``bootstrap.install`` and ``AGENT``.

    ``install(*AGENT, start_before)`` puts the handlers into the kernel.
    """
    bootstrap = resources.files(__name__).joinpath("bootstrap.py").read_text(encoding="utf-8")
    agent = (_sources(), list(FRAMEWORKS), version(), MESSAGE_TYPE, REPLY_TYPE)
    return f"{bootstrap}\n\nAGENT = {agent!r}\n"


def install_expression(start_before: float) -> str:
    """A Python expression that installs the agent and yields its answer (``bootstrap.install``).

    Args:
        start_before: Seconds since the epoch. If the kernel only gets to it later, it installs
            nothing: whoever asked has been told by then that the kernel is busy.

    An expression, because a kernel evaluates those of an otherwise empty execute in place: no
    cell runs, nothing enters the history, and no name is bound in the user's namespace. It goes
    through ``__import__``, since ``exec`` is a name that a notebook may well have rebound.
    """
    return (
        f"(lambda builtins, agent: (builtins.exec({text()!r}, agent), "
        f"agent['install'](*agent['AGENT'], {start_before!r}))[1])(__import__('builtins'), {{}})"
    )
