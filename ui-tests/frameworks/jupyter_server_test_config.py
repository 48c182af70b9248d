"""For server.py. Never use it elsewhere: it has no token and exposes JupyterLab's objects."""

import os

from jupyterlab.galata import configure_jupyter_server

configure_jupyter_server(c)  # noqa: F821
c.ServerApp.ip = "127.0.0.1"  # noqa: F821
c.ServerApp.port = int(os.environ["VRAM_UI_PORT"])  # noqa: F821
c.ServerApp.allow_root = True  # noqa: F821
c.VramApp.source = "nvml"  # noqa: F821
