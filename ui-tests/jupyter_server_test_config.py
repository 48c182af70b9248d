"""Server for the UI tests. Never use it elsewhere: it has no token and exposes JupyterLab's objects."""

import os
import tempfile
from pathlib import Path

from jupyterlab.galata import configure_jupyter_server

work = Path(tempfile.mkdtemp(prefix="jupyterlab-vram-ui-"))
# A ledger and a data folder of its own: other servers of this user are not touched.
os.environ["VRAM_SIMULATED_LEDGER"] = str(work / "ledger")
os.environ["JUPYTER_DATA_DIR"] = str(work / "data")
# A kernel that is not ipykernel's, and what stands in for frameworks that need a real card.
jupyter = Path(__file__).parent / "jupyter"
os.environ["JUPYTER_PATH"] = str(jupyter)
os.environ["PYTHONPATH"] = str(jupyter / "stand_ins")

configure_jupyter_server(c)  # noqa: F821
c.JupyterNotebookApp.expose_app_in_browser = True  # noqa: F821
c.ServerApp.ip = "127.0.0.1"  # noqa: F821
c.ServerApp.port = int(os.environ["VRAM_UI_PORT"])  # noqa: F821
c.ServerApp.allow_root = True  # noqa: F821
c.VramApp.source = os.environ["VRAM_UI_SOURCE"]  # noqa: F821
