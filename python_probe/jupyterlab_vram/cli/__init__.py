"""``jupyter vram``: who holds the GPU's memory, on the command line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

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
    try:
        return int(chosen.run(chosen))
    except KeyboardInterrupt:
        return 0
    except BrokenPipeError:
        # whoever read our output (head, less) has seen enough
        sys.stderr.close()
        return 0
