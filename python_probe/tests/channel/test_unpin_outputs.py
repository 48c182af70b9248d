"""What outputs keep alive in a real kernel, and what stays when they are let go."""

from __future__ import annotations

from typing import Any

import pytest
from channel_user import GENERATIONS
from jupyterlab_vram.kernels.channel import KernelChannel
from remedied import sit_down

OP = "unpin-outputs"

HOLDERS = {
    "an array": "take(124)",
    "a list": "[take(100), 1, take(24)]",
    "nested": "{'batches': [(0, take(124))]}",
    "an object's field": "class Model: pass\nm = Model(); m.layers = [take(124)]; m",
    "a bound method": "class Model:\n    def f(self): pass\nm = Model(); m.w = take(124); m.f",
    "a closure": "def make():\n    array = take(124)\n    return lambda: array.nbytes\nmake()",
    "a generator": "def gen():\n    a = take(124)\n    yield\ng = gen(); next(g); g",
    "a partial": "import functools; functools.partial(print, take(124))",
    "an error": "def f():\n    a = take(124)\n    1 / 0\ntry: f()\nexcept Exception as e: x = e\nx",
}
"""Cells whose output keeps 124 MiB."""


@GENERATIONS
async def test_outputs_with_memory_go_and_the_others_stay(
    start: Any, channel: KernelChannel, kind: str
) -> None:
    kernel = await sit_down(start, channel, kind)
    for what, cell in HOLDERS.items():
        await kernel.remedy(OP, all=True)
        await kernel.run("41 + 1")
        await kernel.run(cell)
        await kernel.run("m = g = x = f = None; gc.collect();")
        assert await kernel.live() == 124, what
        inputs = await kernel.evaluate("In[:]")

        done = await kernel.remedy(OP)
        assert (done.ok, done.dropped, done.text) == (True, 1, None), what
        assert await kernel.live() == 0, what
        assert await kernel.evaluate("[list(Out.values()), In[:]]") == [[42], inputs], what

        # IPython goes on as before: the last output is _, and the one with memory is no more.
        await kernel.run("7")
        assert await kernel.evaluate("[_, __, ___]") == [7, "", 42], what


BY_HAND = """
for name in [name for name in globals() if name[:1] == '_' and name[1:].isdigit()]:
    del globals()[name]
_oh.clear()
"""

PLACES = {
    "the last result of a cell": (
        # With its cache off, IPython keeps an output only there.
        "get_ipython().displayhook.cache_size = 0",
        "take(124)",
        "get_ipython().displayhook.cache_size = 1000",
    ),
    "hidden names after Out is cleared": ("", "take(124)", "Out.clear(); del _, __, ___"),
    "underscores two and three": ("", "take(124)", "1;\n2"),
    "after a loop over the names that are seen": ("", "take(124)", BY_HAND),
    "a gettext _ in builtins": (
        "import builtins; builtins._ = str",
        "take(124)",
        "del builtins._",
    ),
}


@GENERATIONS
async def test_every_place_lets_go(start: Any, channel: KernelChannel, kind: str) -> None:
    kernel = await sit_down(start, channel, kind)
    for what, (before, cell, after) in PLACES.items():
        await kernel.run(before)
        await kernel.run(cell)
        if "last result" in what:
            # The next cell's result would replace it.
            await kernel.remedy(OP)
            assert await kernel.live() == 0, what
            await kernel.run(after)
            continue
        await kernel.run(after)
        assert await kernel.live() == 124, what
        await kernel.remedy(OP)
        assert await kernel.live() == 0, what


@GENERATIONS
async def test_what_the_user_has_assigned_stays(
    start: Any, channel: KernelChannel, kind: str
) -> None:
    kernel = await sit_down(start, channel, kind)
    await kernel.run("mine = take(100)")
    await kernel.run("mine")
    await kernel.run("take(20)")
    await kernel.run("_ = [take(40)]; _4 = [take(60)]")
    done = await kernel.remedy(OP)
    assert (done.ok, done.dropped) == (True, 2)
    assert await kernel.live() == 200
    sizes = "[array.nbytes >> 20 for array in (mine, _[0], _4[0])]"
    assert await kernel.evaluate(sizes) == [100, 40, 60]
    await kernel.run("del mine, _, _4")
    assert await kernel.live() == 0


@GENERATIONS
async def test_all_outputs_go_when_asked_for(start: Any, channel: KernelChannel, kind: str) -> None:
    kernel = await sit_down(start, channel, kind)
    for cell in ("take(124)", "41 + 1", "'text'", "mine = [1]", "mine"):
        await kernel.run(cell)
    inputs = await kernel.evaluate("In[:]")
    done = await kernel.remedy(OP, all=True)
    assert (done.ok, done.dropped, done.text) == (True, 4, None)
    assert await kernel.live() == 0
    left = "[len(Out), _, __, ___, [n for n in globals() if n[:1] == '_' and n[1:].isdigit()]]"
    assert await kernel.evaluate(left) == [0, "", "", "", []]
    assert await kernel.evaluate("[In[:], mine]") == [inputs, [1]]
    await kernel.run("7")
    assert await kernel.evaluate("[_, list(Out.values())]") == [7, [7]]


@GENERATIONS
async def test_outputs_that_resist_do_no_harm(
    start: Any, channel: KernelChannel, kind: str
) -> None:
    kernel = await sit_down(start, channel, kind)
    await kernel.run(
        "called = []\n"
        "def no(*a, **k):\n"
        "    called.append(1)\n"
        "    raise RuntimeError('touched')\n"
        "class Meta(type):\n"
        "    __hash__ = __eq__ = __instancecheck__ = __subclasscheck__ = no\n"
        "class Bad(metaclass=Meta):\n"
        "    __eq__ = __hash__ = __len__ = __bool__ = __iter__ = __repr__ = no\n"
        "    def __getattr__(self, name): no()\n"
        "bad = Bad(); bad.array = take(124)"
    )
    await kernel.run("[bad]; Out[1] = bad")
    await kernel.run("del bad; called.clear()")
    done = await kernel.remedy(OP)
    assert (done.ok, done.dropped, await kernel.live()) == (True, 1, 0)
    assert await kernel.evaluate("called") == []


async def test_an_output_that_is_too_large_to_look_through_stays(
    start: Any, channel: KernelChannel
) -> None:
    kernel = await sit_down(start, channel, "now")
    await kernel.run("class Big(list):\n    def __repr__(self): return 'big'")
    await kernel.run("Big([*([] for _ in range(1_000_001)), take(124)])")
    done = await kernel.remedy(OP)
    assert (done.dropped, await kernel.live()) == (0, 124)
    assert done.text is not None and "that is a Big. It stays" in done.text
    assert done.seconds < 10
    assert (await kernel.remedy(OP, all=True)).dropped == 1
    assert await kernel.live() == 0


@pytest.mark.parametrize("kind", ["now"])
async def test_nothing_appears_under_a_cell(start: Any, channel: KernelChannel, kind: str) -> None:
    kernel = await sit_down(start, channel, kind)
    await kernel.run(
        "class Loud:\n"
        "    def __init__(self): self.array = take(124)\n"
        "    def __repr__(self): return 'loud'\n"
        "    def __del__(self):\n"
        "        print('going')\n"
        "        raise ValueError('in __del__')"
    )
    await kernel.shown("Loud()")
    before = await kernel.notebook.state()
    done = await kernel.remedy(OP)
    assert (done.ok, done.dropped, await kernel.live()) == (True, 1, 0)
    assert await kernel.below() == []
    after = await kernel.notebook.state()
    assert {**after, "outputs": "", "names": "", "hidden": ""} == {
        **before,
        "outputs": "",
        "names": "",
        "hidden": "",
    }
    assert len(before["names"]) - len(after["names"]) == 1  # its _3
