"""Every sentence that says why there is no reading: what happened, what it means, what to do.

A problem's ``code`` names the case for those who translate; it is the state's own name unless one
state has several cases.
"""

from __future__ import annotations

from ..wire import Problem, Source
from . import host
from .reading import Reading, Trouble

RETRY = "Jupyter keeps trying and shows the GPU as soon as it answers."


def no_library() -> Trouble:
    if host.is_tegra():
        return Trouble(
            "no-library",
            Problem(
                code="no-library-jetson",
                text="This Jetson has no GPU counters that Jupyter could read.",
                hint="Figures that the notebooks' own frameworks report still work. "
                "JetPack 7 and later bring the driver library.",
                tried=tried(),
            ),
        )
    return Trouble(
        "no-library",
        Problem(
            code="no-library",
            text="No NVIDIA GPU found: the NVIDIA driver's library is not on this computer "
            "(or in this container).",
            hint="If there is an NVIDIA GPU, install its driver; a container must be started with "
            "access to the GPU.",
            tried=["The NVIDIA driver's library was not found.", *tried()],
        ),
    )


def no_program() -> Trouble:
    return Trouble(
        "no-library",
        Problem(
            code="no-nvidia-smi",
            text="No NVIDIA GPU found: the driver's program nvidia-smi is not on this computer "
            "(or in this container).",
            hint="If there is an NVIDIA GPU, install its driver; a container must be started with "
            "access to the GPU.",
            tried=["The program nvidia-smi was not found.", *tried()],
        ),
    )


def no_driver() -> Trouble:
    return Trouble(
        "no-driver",
        Problem(
            code="no-driver",
            text="The NVIDIA driver is installed but not running, so no GPU can be used.",
            hint="Restart the computer; if that does not help, install the driver again. " + RETRY,
            tried=tried(),
        ),
    )


def version_mismatch() -> Trouble:
    loaded, library = host.driver_version(), host.library_version()
    versions = f" Loaded: {loaded}. Library: {library}." if loaded and library else ""
    return Trouble(
        "version-mismatch",
        Problem(
            code="version-mismatch",
            text=f"The NVIDIA driver was updated but not reloaded.{versions} "
            "Running notebooks keep working.",
            hint="New GPU work may fail until the computer (in a cluster, the container) "
            "is restarted.",
            tried=tried(),
        ),
    )


def no_devices() -> Trouble:
    return Trouble(
        "no-devices",
        Problem(
            code="no-devices",
            text="The NVIDIA driver runs but offers no GPU here.",
            hint="A container or batch job must be started with access to the GPU; otherwise the "
            "GPU may have failed to start. " + RETRY,
            tried=tried(),
        ),
    )


def no_permission() -> Trouble:
    return Trouble(
        "no-permission",
        Problem(
            code="no-permission",
            text="The NVIDIA driver does not let this user read the GPU.",
            hint="Ask the administrator for read access to the /dev/nvidia* files. "
            "Sizes can still come from the notebooks.",
            tried=tried(),
        ),
    )


def lost_access(words: str) -> Trouble:
    """The GPU could be read before and can't be now; ``words`` are the driver's."""
    return Trouble(
        "lost-access",
        Problem(
            code="lost-access",
            text=f"The GPU could be read before; now the driver answers: {words.rstrip('.')}.",
            hint="In a container this happens when the system takes the GPU away from it: recreate "
            "the container. Otherwise restart the Jupyter server, then the computer. " + RETRY,
            tried=tried(),
        ),
    )


def driver_error(words: str) -> Trouble:
    """The driver never answered with anything but an error, in its ``words``."""
    return Trouble(
        "no-driver",
        Problem(
            code="driver-error",
            text=f"The NVIDIA driver is there but answers with an error: {words.rstrip('.')}.",
            hint="If other programs can use the GPU, restart the Jupyter server (or its "
            "container); else restart the computer. " + RETRY,
            tried=tried(),
        ),
    )


def failed(words: str) -> Trouble:
    """Our own code stopped in a way that nobody foresaw, with this exception."""
    return Trouble(
        "no-driver",
        Problem(
            code="reading-failed",
            text=f"Reading the GPU failed in a way that was not foreseen: {words[:300]}.",
            hint="The Jupyter server's log says where. An outdated package named pynvml hides "
            "nvidia-ml-py: if it is installed here, uninstall it, install nvidia-ml-py again, and "
            "restart the server.",
        ),
    )


def gpu_lost(name: str) -> Trouble:
    """nvidia-smi gives up on all GPUs because of the one it names by bus id."""
    return Trouble(
        "lost-access",
        Problem(
            code="gpu-lost",
            text=f"The GPU {name} stopped answering, and nvidia-smi reads no other because of it.",
            hint="Restart the computer or ask your admin.",
            tried=tried(),
        ),
    )


def of_code(code: int, words: str, worked: bool) -> Trouble:
    """What NVML's error ``code`` (nvml.h; nvidia-smi's exit codes are the same) means, with the
    driver's ``words``; ``worked``: the driver has given an answer before."""
    if code == 18:
        return version_mismatch()
    if worked:
        return lost_access(words)
    known = {4: no_permission, 9: no_driver, 12: no_library}
    return known[code]() if code in known else driver_error(words)


def timeout(seconds: float | None = None) -> Trouble:
    """The driver (or nvidia-smi) has not answered, for ``seconds`` if that is known."""
    since = "" if seconds is None else f" for {seconds:.0f} s"
    return Trouble(
        "timeout",
        Problem(
            code="timeout",
            text=f"The NVIDIA driver has not answered{since}. Kernels and notebooks go on.",
            hint="This passes when the driver is merely busy. If it stays, a GPU may hang: "
            "restart the computer or ask your admin.",
        ),
    )


def starting() -> Trouble:
    return Trouble(
        "starting",
        Problem(
            code="starting",
            text="Looking for GPUs…",
            hint="Reading the NVIDIA driver. This takes up to 2 s the first time.",
        ),
    )


def timeout_reading(source: Source, seconds: float | None = None) -> Reading:
    """For a driver call that has not answered within the caller's limit."""
    return Reading.without(source, timeout(seconds))


def starting_reading(source: Source) -> Reading:
    """For the time before the first answer."""
    return Reading.without(source, starting())


def tried() -> list[str]:
    """What the system shows of a GPU, for the list under "no GPU"."""
    files, version, library = host.device_files(), host.driver_version(), host.library_path()
    found = [
        f"Device files: {', '.join(files)}." if files else "There is no device file of a GPU.",
        f"The driver's kernel module {version} is loaded."
        if version
        else "The driver's kernel module is not loaded (or hidden from here).",
    ]
    if library:
        found.append(f"The driver's library was loaded from {library}.")
    return found
