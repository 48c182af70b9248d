"""What the last error keeps alive in a real kernel, and what letting go of it leaves."""

from __future__ import annotations

import re
from typing import Any

import pytest
from channel_user import GENERATIONS
from jupyterlab_vram.kernels.channel import KernelChannel
from remedied import MIB, sit_down

OP = "unpin-exceptions"
FAILS = "def f(error=ValueError('boom')):\n    array = take(124)\n    raise error\n"

CHAIN = """
def inner():
    one = take(100)
    raise ValueError('inner')
def middle():
    two = take(20)
    try: inner()
    except ValueError as e: raise KeyError('middle') from e
def outer():
    three = take(4)
    try: middle()
    except KeyError as e: {raises}
outer()
"""

SEVERAL = """
class Several(Exception):
    def __init__(self, errors): self.errors = {'all': errors}
def one(mib):
    array = take(mib)
    raise ValueError(mib)
def group(errors):
    # Python 3.10 and older have none: there it is one more of the other kind.
    return ExceptionGroup('some', errors) if sys.version_info >= (3, 11) else Several(errors)
def several(kind):
    errors = []
    for mib in (100, 20, 4):
        try: one(mib)
        except ValueError as e: errors.append(e)
    raise kind(errors)
"""

LEAKS = {
    "a function": (f"{FAILS}f()", 1),
    "a cause": (CHAIN.format(raises="raise RuntimeError('outer') from e"), 3),
    "a context": (CHAIN.format(raises="raise RuntimeError('outer')"), 3),
    "a suppressed context": (CHAIN.format(raises="raise RuntimeError('outer') from None"), 3),
    "an attribute of the error": (f"{SEVERAL}several(Several)", 4),
    "a group": (f"{SEVERAL}several(group)", 4),
    "the callers, which are in no traceback": (
        """
def inner(): raise ValueError('boom')
def middle():
    try: inner()
    except ValueError as e: return e
def outer():
    array = take(124)
    return middle()
raise outer()
""",
        1,
    ),
    "a coroutine": (
        """
import asyncio
async def f():
    array = take(124)
    await asyncio.sleep(0)
    raise ValueError('boom')
await f()
""",
        1,
    ),
    "an interrupt": (f"{FAILS}f(KeyboardInterrupt())", 1),
    "an exit": (f"{FAILS}def g():\n    try: f(SystemExit())\n    finally: 1 / 0\ng()", 2),
    "a syntax error": ("def f():\n    array = take(124)\n    compile('1 +', '', 'eval')\nf()", 1),
}
"""What keeps 124 MiB: a cell that fails, and how many errors there are."""


@GENERATIONS
async def test_frames_are_emptied_and_the_traceback_still_prints(
    start: Any, channel: KernelChannel, kind: str
) -> None:
    kernel = await sit_down(start, channel, kind)
    for what, (cell, errors) in LEAKS.items():
        await kernel.fails(cell)
        await kernel.run("gc.collect()")
        assert await kernel.live() == 124, what
        printed = await kernel.last_error()
        state = await kernel.notebook.state()

        done = await kernel.remedy(OP)
        assert (done.ok, done.dropped, done.text) == (True, errors, None), what
        assert (done.before["simulated"].total().live, await kernel.live()) == (124 * MIB, 0), what
        assert await kernel.notebook.state() == state, what
        again = await kernel.last_error()
        assert without_arguments(again) == without_arguments(printed) != "", what


def without_arguments(traceback: str) -> str:
    """``f(x)`` becomes ``f(***failed resolving arguments***)`` when there is no x any more."""
    return re.sub(r"\([^()]*\)", "()", traceback)


KEPT = {
    "an attribute": "class E(Exception): pass\ne = E(); e.batch = take(124)\nraise e",
    "an argument": "raise ValueError({'batch': [take(124)]})",
    "the names of exec": "exec('array = take(124); 1 / 0', {'take': take})",
}


@GENERATIONS
async def test_an_error_that_refers_to_memory_itself_is_forgotten(
    start: Any, channel: KernelChannel, kind: str
) -> None:
    kernel = await sit_down(start, channel, kind)
    for what, cell in KEPT.items():
        await kernel.fails(cell)
        await kernel.run("e = None; gc.collect()")
        assert await kernel.live() == 124, what
        done = await kernel.remedy(OP)
        assert done.text is not None and "IPython has forgotten it" in done.text, what
        assert (done.ok, done.dropped, await kernel.live()) == (True, 1, 0), what
        assert await kernel.evaluate("[n for n in dir(sys) if n.startswith('last_')]") == []
        assert "No traceback" in await kernel.last_error()
        assert (await kernel.run("%debug"))["status"] == "ok"

        # The next error is as any other.
        await kernel.fails(f"{FAILS}f()")
        assert "boom" in await kernel.last_error()
        assert ((await kernel.remedy(OP)).text, await kernel.live()) == (None, 0), what


@GENERATIONS
async def test_the_body_of_a_class_lets_go(start: Any, channel: KernelChannel, kind: str) -> None:
    """Python 3.13 can empty it; before, the error has to be forgotten."""
    kernel = await sit_down(start, channel, kind)
    await kernel.fails("class Config:\n    weights = take(124)\n    1 / 0")
    assert await kernel.live() == 124
    await kernel.remedy(OP)
    assert await kernel.live() == 0


USED = {
    # Since Python 3.10 the error refers to the object that lacks the attribute.
    "a model": "class Box: pass\nmine = Box(); mine.w = take(124)\nmine.no",
    # Since Python 3.11 a frame refers to its function.
    "a closure": """
def make():
    array = take(124)
    def step():
        array
        1 / 0
    return step
mine = make()
mine()
""",
}


@GENERATIONS
async def test_an_error_about_something_in_use_is_forgotten_when_that_is_deleted(
    start: Any, channel: KernelChannel, kind: str
) -> None:
    kernel = await sit_down(start, channel, kind)
    for what, cell in USED.items():
        await kernel.fails(cell)
        # It would return nothing yet.
        assert (await kernel.remedy(OP)).text is None, what
        assert "Error" in await kernel.last_error()
        await kernel.run("del mine")
        await kernel.remedy(OP)
        assert await kernel.live() == 0, what


@GENERATIONS
async def test_the_debuggers_frames_let_go(start: Any, channel: KernelChannel, kind: str) -> None:
    kernel = await sit_down(start, channel, kind)
    await kernel.fails(f"{FAILS}f()")
    # It asks for a command, which this client has no way to give; that is another error, and it
    # keeps the frames of the first.
    message = kernel.notebook.client.execute("%debug", allow_stdin=False)
    await kernel.notebook.reply(message)
    await kernel.notebook.idle()
    assert await kernel.live() == 124
    await kernel.remedy(OP)
    assert await kernel.live() == 0


@GENERATIONS
async def test_a_generator_that_waits_is_not_ended(
    start: Any, channel: KernelChannel, kind: str
) -> None:
    kernel = await sit_down(start, channel, kind)
    await kernel.run(
        "def batches():\n"
        "    array = take(100)\n"
        "    try: 1 / 0\n"
        "    except ZeroDivisionError as e: error = e\n"
        "    yield error\n"
        "    yield array.nbytes\n"
        "def other():\n"
        "    array = take(20)\n"
        "    raise next(generator)\n"
        "generator = batches()"
    )
    await kernel.fails("other()")
    done = await kernel.remedy(OP)
    assert done.text == "Left as it is, for it is still in use: batches."
    assert await kernel.live() == 100
    assert await kernel.evaluate("next(generator)") == 100 * MIB


@GENERATIONS
async def test_a_thread_that_runs_goes_on(start: Any, channel: KernelChannel, kind: str) -> None:
    kernel = await sit_down(start, channel, kind)
    await kernel.run(
        "import queue\n"
        "errors, stop, sizes = queue.Queue(), threading.Event(), []\n"
        "def worker():\n"
        "    array = take(100)\n"
        "    try: 1 / 0\n"
        "    except ZeroDivisionError as e: errors.put(e)\n"
        "    stop.wait()\n"
        "    sizes.append(array.nbytes)\n"
        "thread = threading.Thread(target=worker); thread.start()\n"
        "def other():\n"
        "    array = take(20)\n"
        "    raise errors.get()"
    )
    await kernel.fails("other()")
    done = await kernel.remedy(OP)
    assert done.text == "Left as it is, for it is still in use: worker."
    assert await kernel.live() == 100
    await kernel.run("stop.set(); thread.join()")
    assert await kernel.evaluate("sizes") == [100 * MIB]


@GENERATIONS
async def test_an_error_that_the_user_keeps_stays_whole(
    start: Any, channel: KernelChannel, kind: str
) -> None:
    kernel = await sit_down(start, channel, kind)
    for keeps in ("err = e", "errs = [e]", "where = sys.exc_info()"):
        name = keeps.split()[0]
        await kernel.fails(f"{FAILS}try: f()\nexcept ValueError as e:\n    {keeps}\n    raise")
        done = await kernel.remedy(OP)
        assert done.text is not None and f"The last error is also in {name}," in done.text
        assert (done.dropped, await kernel.live()) == (0, 124)

        await kernel.fails("1 / 0")
        assert (await kernel.remedy(OP)).text is None
        assert await kernel.live() == 124
        await kernel.run(f"del {name}, f")
        await kernel.run("gc.collect()")
        assert await kernel.live() == 0


@GENERATIONS
async def test_what_locals_gave_the_user_stays(
    start: Any, channel: KernelChannel, kind: str
) -> None:
    kernel = await sit_down(start, channel, kind)
    await kernel.run(
        "def f():\n"
        "    global seen\n"
        "    array = take(100)\n"
        "    seen = locals()\n"
        "    raise ValueError('boom')"
    )
    await kernel.fails("f()")
    await kernel.remedy(OP)
    assert await kernel.evaluate("list(seen)") == ["array"]
    assert await kernel.live() == 100
    await kernel.run("del seen")
    await kernel.remedy(OP)
    assert await kernel.live() == 0


@GENERATIONS
async def test_what_locals_gave_the_function_itself_goes(
    start: Any, channel: KernelChannel, kind: str
) -> None:
    kernel = await sit_down(start, channel, kind)
    await kernel.run("def f():\n    array = take(100)\n    seen = locals()\n    1 / 0")
    await kernel.fails("f()")
    done = await kernel.remedy(OP)
    assert (done.text, await kernel.live()) == (None, 0)


@GENERATIONS
async def test_objects_that_resist_do_no_harm(
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
        "class Bad(Exception, metaclass=Meta):\n"
        "    __eq__ = __hash__ = __len__ = __bool__ = __iter__ = __repr__ = __str__ = no\n"
        "    def __getattribute__(self, name): no()\n"
        "def f():\n"
        "    array, bad = take(100), Bad()\n"
        "    raise ValueError(bad)\n"
        "kept = Bad()"
    )
    await kernel.fails("f()")
    await kernel.run("called.clear()")
    assert (await kernel.remedy(OP)).ok
    assert await kernel.live() == 0
    assert await kernel.evaluate("called") == []


@GENERATIONS
async def test_nothing_appears_under_a_cell(start: Any, channel: KernelChannel, kind: str) -> None:
    kernel = await sit_down(start, channel, kind)
    await kernel.run(
        "class Loud:\n"
        "    def __init__(self): self.array = take(100)\n"
        "    def __del__(self):\n"
        "        print('going')\n"
        "        raise ValueError('in __del__')\n"
        "def f():\n"
        "    loud = Loud()\n"
        "    raise KeyError('boom')"
    )
    await kernel.shown("f()")
    done = await kernel.remedy(OP)
    assert (done.ok, done.dropped, await kernel.live()) == (True, 1, 0)
    assert await kernel.below() == []
    assert await kernel.evaluate("type(sys.last_value).__name__") == "KeyError"


@pytest.mark.parametrize("kind", ["now"])
async def test_without_an_error_there_is_nothing_to_do(
    start: Any, channel: KernelChannel, kind: str
) -> None:
    kernel = await sit_down(start, channel, kind)
    await kernel.run("x = take(100)")
    done = await kernel.remedy(OP)
    assert (done.ok, done.dropped, done.text, await kernel.live()) == (True, 0, None, 100)
