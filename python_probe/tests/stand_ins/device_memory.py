"""Memory on the simulated driver, for the stand-ins here. Addresses; sizes in bytes."""

import ctypes

_driver = ctypes.CDLL("libcuda.so.1")
_contexts: dict = {}


def _check(code):
    if code == 2:
        raise MemoryError("the simulated GPU has too little memory left")
    if code:
        raise RuntimeError(f"the simulated driver answered {code}")


def use(device):
    """Make ``device`` current in this thread, with the context that every program shares."""
    if device not in _contexts:
        handle, context = ctypes.c_int(), ctypes.c_void_p()
        _check(_driver.cuInit(0))
        _check(_driver.cuDeviceGet(ctypes.byref(handle), device))
        _check(_driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), handle))
        _contexts[device] = context
    _check(_driver.cuCtxSetCurrent(_contexts[device]))


def take(nbytes, device=0):
    use(device)
    address = ctypes.c_uint64()
    _check(_driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(nbytes)))
    return address.value


def give(address, device=0):
    use(device)
    _check(_driver.cuMemFree_v2(ctypes.c_uint64(address)))


class Pool:
    """What TensorFlow's and JAX's pools do: grow to the most that was ever in use, and stay so."""

    def __init__(self):
        self.size = 0

    def hold(self, nbytes):
        if nbytes > self.size:
            take(nbytes - self.size)
            self.size = nbytes
