"""Parks vLLM by its own sleep mode, see ``park.py``: weights go to host RAM, caches are forgotten.

How much that is only vLLM's engine knows, mostly in another process, so the sizes are None. Tried
with a stand-in of vLLM's only.
"""

from __future__ import annotations

from typing import Any


class Part:
    """All engines together."""

    nbytes = None


def refusals(agent: Any, vllm: Any) -> list[str]:
    refused = agent.module("vllm_engine").park_refused(vllm)
    return [] if refused is None else [refused]


def survey(agent: Any, vllm: Any, objects: list[Any]) -> dict[str, Any]:
    return {"parts": [Part()], "refused": [], "stays": [], "found": 0, "allocated": 0}


def save(agent: Any, vllm: Any, parts: list[Part], check: Any) -> None:
    check()


def empty(agent: Any, vllm: Any, parts: list[Part]) -> None:
    agent.module("vllm_engine").park(vllm)


def lacks(agent: Any, vllm: Any, parts: list[Part]) -> list[tuple[int, int]]:
    return []


def fill(agent: Any, vllm: Any, parts: list[Part]) -> None:
    agent.module("vllm_engine").restore(vllm)


def load(agent: Any, vllm: Any, parts: list[Part], check: Any) -> None:
    check()
