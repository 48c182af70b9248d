"""A stand-in for ``cupy.cuda``: the pools, and the GPU that is current in a thread."""

import threading
from types import SimpleNamespace

import device_memory

_current = threading.local()


def _get_device():
    return getattr(_current, "device", 0)


def _set_device(index):
    device_memory.use(index)
    _current.device = index


runtime = SimpleNamespace(getDevice=_get_device, setDevice=_set_device)


class MemoryPointer:
    def __init__(self, mem, offset):
        self.mem, self.device_id, self.ptr = mem, mem.device_id, mem.ptr + offset


class PooledMemory:
    def __init__(self, ptr, size, device_id, pool, whole):
        self.ptr, self.size, self.device_id, self.pool = ptr, size, device_id, pool
        self.whole = whole

    def __del__(self):
        self.pool.free[self.device_id].append((self.ptr, self.size, self.whole))
        self.pool.used[self.device_id] -= self.size


class UnownedMemory:
    """Of another framework."""

    def __init__(self, ptr, size, owner, device_id=0):
        self.ptr, self.size, self.owner, self.device_id = ptr, size, owner, device_id


class MemoryPool:
    """Cuts up what it has before it takes more, and gives back only what is whole again; figures
    and release are the current GPU's, as in the real one."""

    def __init__(self):
        self.free, self.used = {0: [], 1: []}, {0: 0, 1: 0}

    def malloc(self, nbytes):
        device = runtime.getDevice()
        size = -(-nbytes // 512) * 512
        fitting = [block for block in self.free[device] if block[1] >= size]
        if fitting:
            block = min(fitting, key=lambda block: block[1])
            self.free[device].remove(block)
            ptr, had, whole = block
            if had > size:
                self.free[device].append((ptr + size, had - size, whole))
        else:
            ptr = device_memory.take(size, device)
            whole = (ptr, size)
        self.used[device] += size
        return MemoryPointer(PooledMemory(ptr, size, device, self, whole), 0)

    def used_bytes(self):
        return self.used[runtime.getDevice()]

    def free_bytes(self):
        return sum(size for _, size, _ in self.free[runtime.getDevice()])

    def total_bytes(self):
        return self.used_bytes() + self.free_bytes()

    def get_limit(self):
        return 0

    def free_all_blocks(self, stream=None):
        device = runtime.getDevice()
        for whole in {whole for _, _, whole in self.free[device]}:
            ptr, size = whole
            if sum(part for _, part, of in self.free[device] if of == whole) == size:
                self.free[device] = [block for block in self.free[device] if block[2] != whole]
                device_memory.give(ptr, device)


class PinnedMemoryPool:
    def __init__(self):
        self.released = 0

    def free_all_blocks(self):
        self.released += 1


_allocator = None


def set_allocator(allocator):
    global _allocator
    _allocator = allocator or _malloc


def get_allocator():
    return _allocator


def alloc(nbytes):
    return _allocator(nbytes)


class Memory:
    """Straight from the driver, without a pool."""

    def __init__(self, size):
        self.size, self.device_id = size, runtime.getDevice()
        self.ptr = device_memory.take(size, self.device_id)

    def __del__(self):
        device_memory.give(self.ptr, self.device_id)


def _malloc(nbytes):
    return MemoryPointer(Memory(nbytes), 0)
