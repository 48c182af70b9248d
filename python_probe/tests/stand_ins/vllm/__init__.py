"""A stand-in for vLLM. See README. As in the real one, ``LLM`` is imported when it is asked for."""


def __getattr__(name):
    if name != "LLM":
        raise AttributeError(name)
    from .entrypoints.llm import LLM

    return LLM
