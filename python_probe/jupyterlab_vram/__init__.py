"""Which notebook kernel holds the GPU's memory, and how to get it back."""

from __future__ import annotations

from typing import Any

from ._version import __version__

__all__ = ["__version__"]


def _jupyter_labextension_paths() -> list[dict[str, str]]:
    return [{"src": "labextension", "dest": "jupyterlab-vram"}]


def _jupyter_server_extension_points() -> list[dict[str, Any]]:
    # Imported here: notebooks import this package too, in kernels without a Jupyter server.
    from .server.app import VramApp

    return [{"module": "jupyterlab_vram", "app": VramApp}]
