"""The text that the server sends into a kernel, on a person's click.

Every other file here is data for the server: it runs in the user's kernel, which may be an older
Python (3.8 and later) in an environment without this package, so it uses the standard library
only and touches a framework only if ``sys.modules`` already has it. ``handlers.py`` says what a
file may be asked for; a new framework is one more file, named in ``FRAMEWORKS``.
"""

from __future__ import annotations

import ast
import base64
import functools
import hashlib
import json
import zlib
from importlib import resources

MESSAGE_TYPE = "vram_request"
REPLY_TYPE = "vram_reply"

FRAMEWORKS: dict[str, str] = {
    "torch_gpu": "torch",
    "tensorflow_gpu": "tensorflow.python.eager.context",
    "jax_gpu": "jax",
    "cupy_gpu": "cupy",
    "numba_cuda": "numba.cuda.cudadrv.devices",
    "rmm_gpu": "rmm",
    "vllm_engine": "vllm",
    "llama_cpp_engine": "llama_cpp.llama",
    "simulated_gpu": "jupyterlab_vram.simulated",
}
"""The adapters, one file each, in the order in which they are asked, each with the module that
is in ``sys.modules`` if the framework is used."""


@functools.cache
def sources() -> dict[str, str]:
    """File name without ``.py`` to its text, of all that a kernel may need."""
    return {
        file.name[:-3]: file.read_text(encoding="utf-8")
        for file in sorted(resources.files(__name__).iterdir(), key=lambda file: file.name)
        if file.name.endswith(".py") and file.name not in ("__init__.py", "bootstrap.py")
    }


def without_remarks(source: str) -> str:
    """The program without docstrings and lines of comment; every line keeps its number."""
    lines = ["" if line.lstrip().startswith("#") else line for line in source.splitlines()]
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            first, last = node.lineno - 1, node.end_lineno or node.lineno
            # Something must stay, where it is all that a function has.
            lines[first:last] = [" " * node.col_offset + '""'] + [""] * (last - first - 1)
    return "\n".join(lines)


@functools.cache
def version() -> str:
    """Changes whenever the text does, so that a kernel with another one gets a new one."""
    digest = hashlib.sha256()
    for name, source in sources().items():
        digest.update(f"{name}\0{source}\0".encode())
    return digest.hexdigest()[:16]


@functools.cache
def text() -> str:
    """The whole agent as one Python program; run, it leaves ``bootstrap.install`` and ``AGENT``.

    ``install(*AGENT, start_before)`` puts the handlers into the kernel. The sources are bare and
    packed, which makes the message a quarter; a kernel compiles each when it first needs it.
    """
    bootstrap = resources.files(__name__).joinpath("bootstrap.py").read_text(encoding="utf-8")
    bare = {name: without_remarks(source) for name, source in sources().items()}
    packed = base64.b85encode(zlib.compress(json.dumps(bare).encode(), 9)).decode()
    agent = (packed, list(FRAMEWORKS.items()), version(), MESSAGE_TYPE, REPLY_TYPE)
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
