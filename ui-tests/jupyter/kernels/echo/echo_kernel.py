"""A kernel that knows no Python: each cell is a number of GiB to hold of the simulated GPU."""

from typing import Any, ClassVar

from ipykernel.kernelapp import IPKernelApp
from ipykernel.kernelbase import Kernel
from jupyterlab_vram import simulated


class EchoKernel(Kernel):
    implementation = "echo"
    implementation_version = "1"
    language = "text"
    language_info: ClassVar[dict[str, Any]] = {
        "name": "text",
        "mimetype": "text/plain",
        "file_extension": ".txt",
    }
    banner = "Echo"

    held = None

    async def do_execute(self, code, silent, *args, **kwargs):
        self.held = simulated.empty(int(code) * 2**30, dtype="uint8")
        return {
            "status": "ok",
            "execution_count": self.execution_count,
            "payload": [],
            "user_expressions": {},
        }


if __name__ == "__main__":
    IPKernelApp.launch_instance(kernel_class=EchoKernel)
