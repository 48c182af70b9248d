"""A stand-in for RMM. See README."""

from . import mr


class DeviceBuffer:
    def __init__(self, *, ptr=0, size=0):
        self._resource = mr.get_current_device_resource()
        self._size, self._ptr = size, self._resource.allocate(size)

    @property
    def ptr(self):
        return self._ptr

    @property
    def size(self):
        return self._size

    def capacity(self):
        return self._size

    def __del__(self):
        self._resource.deallocate(self._ptr, self._size)
