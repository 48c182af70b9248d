"""A stand-in for ``rmm.mr``: resources that take from each other, and from the driver at last."""

from dataclasses import dataclass

import device_memory


class DeviceMemoryResource:
    pass


class CudaMemoryResource(DeviceMemoryResource):
    def allocate(self, nbytes):
        return device_memory.take(nbytes)

    def deallocate(self, ptr, nbytes):
        device_memory.give(ptr)


class UpstreamResourceAdaptor(DeviceMemoryResource):
    def __init__(self, upstream_mr):
        self.upstream_mr = upstream_mr

    def allocate(self, nbytes):
        return self.upstream_mr.allocate(nbytes)

    def deallocate(self, ptr, nbytes):
        self.upstream_mr.deallocate(ptr, nbytes)


class PoolMemoryResource(UpstreamResourceAdaptor):
    """Reuses blocks of the very size, and gives none back, as the real one."""

    def __init__(self, upstream_mr):
        super().__init__(upstream_mr)
        self._free, self._size = [], 0

    def pool_size(self):
        return self._size

    def allocate(self, nbytes):
        for block in self._free:
            if block[1] == nbytes:
                self._free.remove(block)
                return block[0]
        self._size += nbytes
        return super().allocate(nbytes)

    def deallocate(self, ptr, nbytes):
        self._free.append((ptr, nbytes))


@dataclass
class Statistics:
    current_bytes: int = 0
    current_count: int = 0
    peak_bytes: int = 0


class StatisticsResourceAdaptor(UpstreamResourceAdaptor):
    def __init__(self, upstream_mr):
        super().__init__(upstream_mr)
        self._counts = Statistics()

    @property
    def allocation_counts(self):
        return self._counts

    def allocate(self, nbytes):
        counts = self._counts
        counts.current_bytes += nbytes
        counts.current_count += 1
        counts.peak_bytes = max(counts.peak_bytes, counts.current_bytes)
        return super().allocate(nbytes)

    def deallocate(self, ptr, nbytes):
        self._counts.current_bytes -= nbytes
        self._counts.current_count -= 1
        super().deallocate(ptr, nbytes)


class LimitingResourceAdaptor(UpstreamResourceAdaptor):
    def __init__(self, upstream_mr, allocation_limit):
        super().__init__(upstream_mr)
        self._limit, self._allocated = allocation_limit, 0

    def get_allocated_bytes(self):
        return self._allocated

    def get_allocation_limit(self):
        return self._limit

    def allocate(self, nbytes):
        self._allocated += nbytes
        return super().allocate(nbytes)

    def deallocate(self, ptr, nbytes):
        self._allocated -= nbytes
        super().deallocate(ptr, nbytes)


_per_device_mrs: dict = {}


def get_per_device_resource(device):
    return _per_device_mrs.setdefault(device, CudaMemoryResource())


def set_per_device_resource(device, resource):
    _per_device_mrs[device] = resource


def get_current_device_resource():
    return get_per_device_resource(0)


def set_current_device_resource(resource):
    set_per_device_resource(0, resource)
