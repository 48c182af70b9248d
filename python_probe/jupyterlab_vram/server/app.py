"""The server extension: the operator's settings, and its life within a Jupyter server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jupyter_core.paths import jupyter_data_dir
from jupyter_server.extension.application import ExtensionApp
from traitlets import Bool, Enum, Float

from ..kernels.activity import leave_no_trace
from .config import ConfigStore
from .routes import handlers
from .service import Rules, Service


class VramApp(ExtensionApp):
    """Shows which notebook kernel holds the GPU's memory, and gives it back."""

    name = "jupyterlab_vram"
    load_other_extensions = True

    source = Enum(
        ["auto", "nvml", "nvidia-smi", "simulated"],
        "auto",
        help="""Where GPU readings come from when the server starts.

        auto (default): NVML, and nvidia-smi where NVML can't be used; or what a user chose last in
        the panel. nvml, nvidia-smi: that one only. simulated: an invented GPU, for trying this out
        without one; kernels are real. Users can choose another source while the server runs.
        """,
    ).tag(config=True)

    min_interval = Float(
        0.25,
        min=0.25,
        max=60.0,
        help="""The shortest interval in seconds between two readings that users may choose.

        Default 0.25. Readings are taken only while somebody looks, at the users' interval (1 s
        unless they change it), and every 15 s for the history while a kernel uses a GPU.
        """,
    ).tag(config=True)

    read_limit = Float(
        5.0,
        min=0.1,
        help="""Seconds that an answer of the GPU driver is awaited before the panel says that it
        doesn't answer. Default 5. A call that hangs blocks nothing else.
        """,
    ).tag(config=True)

    read_only = Bool(
        False,
        help="""Show GPU memory, but free none: no remedy, no ended process, no changed setting.
        Default False.
        """,
    ).tag(config=True)

    allow_code_in_kernels = Bool(
        True,
        help="""Run code in a kernel when its user asks for its memory: to see what holds it, and
        to release it without a restart. Where the GPU driver hides how much a kernel holds, idle
        kernels that use a GPU are also asked while somebody looks, unless users turn that off.
        Default True. Without it, kernels can only be interrupted, restarted and shut down.
        """,
    ).tag(config=True)

    allow_end_processes = Bool(
        True,
        help="""Let users end processes of their own account that hold GPU memory, such as what a
        restarted kernel left behind. Default True.
        """,
    ).tag(config=True)

    show_other_users = Bool(
        False,
        help="""Show the names of other users' processes. Default False: only how much GPU memory
        they hold.
        """,
    ).tag(config=True)

    allow_simulation = Bool(
        True,
        help="""Let users turn on the simulated GPU, for everybody on this server. Default True.
        """,
    ).tag(config=True)

    service: Service | None = None

    def initialize_settings(self) -> None:
        serverapp = self.serverapp
        assert serverapp is not None
        leave_no_trace(serverapp.kernel_manager, serverapp.web_app.settings)
        self.service = Service(
            kernel_manager=serverapp.kernel_manager,
            session_manager=serverapp.session_manager,
            config=ConfigStore(
                Path(jupyter_data_dir()) / self.name / "config.json",
                source=self.source,
                min_interval=self.min_interval,
                allow_simulation=self.allow_simulation,
                log=self.log,
            ),
            rules=Rules(
                read_only=self.read_only,
                allow_code_in_kernels=self.allow_code_in_kernels,
                allow_end_processes=self.allow_end_processes,
                show_other_users=self.show_other_users,
            ),
            read_limit=self.read_limit,
            log=self.log,
        )

    def initialize_handlers(self) -> None:
        assert self.service is not None
        self.handlers.extend(handlers(self.service))

    async def _start_jupyter_server_extension(self, serverapp: Any) -> None:
        """Called once the event loop runs."""
        assert self.service is not None
        self.service.start()

    async def stop_extension(self) -> None:
        if self.service is not None:
            await self.service.close()
