"""What NVIDIA's driver tells without being initialised. Runs in the user's kernel.

CuPy and RMM ask the runtime for each figure, and the runtime makes a context on a GPU that has
none yet, which costs hundreds of MiB. So the driver is asked first which GPUs have one.
"""

from __future__ import annotations

import ctypes
import os
import sys
import uuid
from typing import Any


def contexts() -> list[int]:
    """GPUs, as CUDA counts, on which this process has a context; none without a loaded driver."""
    driver = _driver()
    count, device = ctypes.c_int(), ctypes.c_int()
    flags, active = ctypes.c_uint(), ctypes.c_int()
    # Before somebody initialised it the driver answers with an error, and that is the answer.
    if driver is None or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return []
    found = []
    for index in range(count.value):
        if (
            driver.cuDeviceGet(ctypes.byref(device), index) == 0
            and driver.cuDevicePrimaryCtxGetState(device, ctypes.byref(flags), ctypes.byref(active))
            == 0
            and active.value
        ):
            found.append(index)
    return found


def device_uuid(index: int) -> str | None:
    """As the driver spells a whole card's; None if it can't be told."""
    driver = _driver()
    device, value = ctypes.c_int(), (ctypes.c_ubyte * 16)()
    if (
        driver is None
        or driver.cuDeviceGet(ctypes.byref(device), index) != 0
        or driver.cuDeviceGetUuid(ctypes.byref(value), device) != 0
    ):
        return None
    return f"GPU-{uuid.UUID(bytes=bytes(value))}"


def _driver() -> Any:
    """The driver's library if this process has loaded it already, else None."""
    try:
        if sys.platform == "win32":
            find = ctypes.windll.kernel32.GetModuleHandleW
            find.restype = ctypes.c_void_p
            handle = find("nvcuda.dll")
            return ctypes.WinDLL("nvcuda.dll", handle=handle) if handle else None
        return ctypes.CDLL("libcuda.so.1", mode=os.RTLD_NOLOAD)
    except OSError:
        return None
