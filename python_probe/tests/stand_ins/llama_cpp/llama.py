"""A stand-in for ``llama_cpp.llama``."""

import device_memory


class Llama:
    __backend_initialized = False

    def __init__(self, model_path, *, n_gpu_layers=0):
        Llama.__backend_initialized = True
        self._weights = device_memory.take(256 << 20) if n_gpu_layers else None

    def close(self):
        if self._weights is not None:
            device_memory.give(self._weights)
            self._weights = None

    def __del__(self):
        self.close()
