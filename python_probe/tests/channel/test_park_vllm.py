"""Parking vLLM by its own sleep mode, with the stand-in of tests/stand_ins."""

from __future__ import annotations

from typing import Any

import pytest
from jupyterlab_vram.kernels.answers import ParkCheck, RemedyDone
from stories import Tell

pytestmark = pytest.mark.fake_driver

CONTEXT = 300


async def test_its_engine_sleeps_until_the_next_cell(tell: Tell) -> None:
    story = await tell("vllm", "import vllm; llm = vllm.LLM('a model', enable_sleep_mode=True)")
    awake = story.held()
    checked = await story.channel.park_check(story.notebook.kernel_id)
    assert isinstance(checked, ParkCheck) and checked.refused == [], checked
    # Only its engine knows how much it moves.
    assert (checked.bytes, checked.count, checked.host_left) == (None, 1, None)
    for road in ("restore", "cell"):
        parked: Any = await story.channel.remedy(story.notebook.kernel_id, "park")
        assert isinstance(parked, RemedyDone) and parked.ok and parked.moved is None, parked
        assert story.held() == CONTEXT
        if road == "restore":
            back: Any = await story.channel.remedy(story.notebook.kernel_id, "restore")
            assert isinstance(back, RemedyDone) and back.ok, back
        else:
            assert (await story.notebook.run("llm"))["status"] == "ok"
        assert story.held() == awake


async def test_without_sleep_mode_it_is_refused(tell: Tell) -> None:
    story = await tell("vllm", "import vllm; llm = vllm.LLM('a model')")
    checked = await story.channel.park_check(story.notebook.kernel_id)
    assert isinstance(checked, ParkCheck)
    assert checked.refused == [
        "vLLM's engine was made without enable_sleep_mode=True, so that it can't sleep."
    ]
