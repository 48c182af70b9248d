"""A stand-in for llama-cpp-python. See README."""


def llama_supports_gpu_offload():
    return True


from .llama import Llama  # noqa: E402

__all__ = ["Llama", "llama_supports_gpu_offload"]
