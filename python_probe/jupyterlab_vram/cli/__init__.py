"""``jupyter vram``: who holds the GPU's memory, on the command line."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from .. import __version__
from . import snapshot


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status.

    0: done. 1: there is no reading of the GPU. 2: wrong usage (by ``SystemExit``).
    """
    parser = argparse.ArgumentParser(
        prog="jupyter vram", description="Which notebook kernel holds the GPU's memory."
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    snapshot.add_to(commands)
    chosen = parser.parse_args(arguments)
    _make_writable()
    try:
        return int(chosen.run(chosen))
    except KeyboardInterrupt:
        return 0
    except BrokenPipeError:
        # whoever read our output (head, less) has seen enough
        _drop_output()
        return 0
    except OSError as error:
        sys.stderr.write(f"jupyter vram stopped: {error.strerror or error}.\n")
        _drop_output()
        return 1


def _make_writable() -> None:
    """A name that the terminal's encoding lacks is shown with "?"; who closed a stream (``>&-``)
    wants none of it."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _drop_output() -> None:
    """Let Python's flush at exit succeed where nothing can be written any more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
