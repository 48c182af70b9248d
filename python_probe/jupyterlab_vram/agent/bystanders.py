"""Who else may run in the kernel while no request does. Runs in the user's kernel.

Data that is parked mustn't be touched. Requests go through the gate; this finds what needs none:
threads, timers, tasks and callbacks of the event loop. IPython's, ipykernel's and the debugger's
own are known, and allowed.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
import types
from functools import partial
from pathlib import Path
from typing import Any

OWN = {"ipykernel", "IPython", "tornado", "zmq", "asyncio", "jupyter_client", "comm"}
"""Packages of the kernel itself. What they call for others is looked at on its own."""
DEBUGGER = {"debugpy", "pydevd", "_pydevd_bundle", "_pydev_bundle"}
HARMLESS = {"tqdm", "torch._inductor.compile_worker.subproc_pool", "vllm"}
"""Others' threads that see no data: they redraw progress bars, or read from compilers' and from
engines' processes."""
_REQUESTS = {"do_execute", "do_complete", "do_inspect", "do_apply", "do_clear", "process_request"}
_SHOWN = 3
_TIMERS = [
    getattr(signal, name)
    for name in ("ITIMER_REAL", "ITIMER_VIRTUAL", "ITIMER_PROF")
    if hasattr(signal, name)
]
_STEPS = ("TaskStepMethWrapper", "TaskWakeupMethWrapper")
_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType)

# The interpreter's own: to ask an object, or a class with a metaclass, may run the user's code.
_type: Any = type
_partial: Any = partial
_class_name = _type.__dict__["__name__"].__get__
_FUNC, _ARGS = _partial.func.__get__, _partial.args.__get__


def others(kernel: Any) -> list[str]:
    """A sentence for each kind of the user's code that may run at any moment; [] if none may."""
    sentences = [
        _sentence("thread", "threads", _threads(kernel), "end"),
        _sentence("asynchronous task", "asynchronous tasks", _tasks(kernel), "cancel"),
        _sentence("timer or callback", "timers or callbacks", _callbacks(kernel), "cancel"),
    ]
    if any(signal.getitimer(timer)[0] for timer in _TIMERS):
        sentences.append("A signal timer is set, whose code could use the data at any moment.")
    if kernel.eventloop is not None:
        sentences.append(
            "A window system's event loop runs in the kernel (%gui or an interactive plot), whose "
            "code could use the data at any moment."
        )
    return [sentence for sentence in sentences if sentence]


def _sentence(one: str, many: str, names: list[str], remedy: str) -> str:
    if not names:
        return ""
    shown = ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")
    if len(names) == 1:
        what, them = f"One {one} of the notebook's is", "it"
    else:
        what, them = f"{len(names)} {many} of the notebook's are", "them"
    return (
        f"{what} alive and could use the data at any moment ({shown}). To park, {remedy} {them} "
        "first."
    )


# --- threads ------------------------------------------------------------------------------------


def _threads(kernel: Any) -> list[str]:
    frames = sys._current_frames()
    found = []
    known = set()
    # The list itself: a debugger replaces enumerate() by one that leaves some out.
    for thread in list(threading._active.values()):  # type: ignore[attr-defined]
        known.add(thread.ident)
        frame = frames.get(thread.ident or 0)
        if not _allowed(thread, frame):
            found.append(_short(thread.name))
        elif thread is kernel.control_thread and _serves(frame):
            found.append("the control channel's, which runs code now")
    found += [f"number {ident}" for ident in frames if ident not in known]
    # This frame is one of them: that ring would keep what the survey saw until a collection.
    del frames, frame
    return found + _busy_subshells(kernel)


def _allowed(thread: threading.Thread, frame: Any) -> bool:
    if thread in (threading.main_thread(), threading.current_thread()):
        return True
    kind = type(thread)
    if kind.__module__ == "threading" and kind.__name__ == "_DummyThread":
        # Made by native code. Autograd's wait for a backward pass, which only a request starts.
        return _native_name(thread).startswith("pt_autograd")
    if frame is not None and _is_idle_worker(frame):
        return True
    module = kind.__module__ if kind is not threading.Thread else _module(thread._target)  # type: ignore[attr-defined]
    return module in HARMLESS or module.partition(".")[0] in OWN | DEBUGGER | HARMLESS


def _native_name(thread: threading.Thread) -> str:
    try:
        return Path(f"/proc/self/task/{thread.native_id}/comm").read_text()
    except OSError:
        return ""


def _is_idle_worker(frame: Any) -> bool:
    """Whether it waits for work, which only running code can give to it."""
    module = frame.f_globals.get("__name__")
    return bool(frame.f_code.co_name == "_worker" and module == "concurrent.futures.thread")


def _serves(frame: Any) -> bool:
    """Whether the thread is in the middle of a request that runs code."""
    while frame is not None:
        if frame.f_code.co_name in _REQUESTS:
            return str(frame.f_globals.get("__name__")).startswith("ipykernel.")
        frame = frame.f_back
    return False


def _busy_subshells(kernel: Any) -> list[str]:
    if not getattr(kernel, "_supports_kernel_subshells", False):  # ipykernel 6 has none
        return []
    manager = kernel.shell_channel_thread.manager
    # Each holds its lock as long as it is in a request.
    return [
        "a subshell's, which runs code now"
        for subshell in manager.list_subshell()
        if manager.get_subshell_asyncio_lock(subshell).locked()
    ]


# --- the event loop -------------------------------------------------------------------------------


def _tasks(kernel: Any) -> list[str]:
    found = []
    for task in asyncio.all_tasks(kernel.io_loop.asyncio_loop):
        coroutine = task.get_coro()
        if type(coroutine) is types.CoroutineType:
            if not _in_package(coroutine.cr_code.co_filename):
                found.append(_short(coroutine.__qualname__))
        else:
            found.append("a generator")
    return sorted(found)


def _in_package(file: str) -> bool:
    kernel = sys.modules["ipykernel"].__file__
    return kernel is not None and Path(kernel).parent in Path(file).parents


def _callbacks(kernel: Any) -> list[str]:
    loop = kernel.io_loop.asyncio_loop
    waiting = getattr(loop, "_scheduled", None)
    if waiting is None:
        return [f"unknown ones of {type(loop).__name__}"]
    found = []
    for handle in (*waiting, *loop._ready):
        if not handle.cancelled():
            found.append(_foreign(handle._callback))
            found += [_foreign(argument, False) for argument in handle._args or ()]
    found += [_foreign(callback) for _, callback in list(kernel.io_loop.handlers.values())]
    return [name for name in found if name] + _connections(loop)


def _connections(loop: Any) -> list[str]:
    """What is called when something arrives, but for tornado's and asyncio's own wake-up call."""
    selector = getattr(loop, "_selector", None)  # Windows' default loop has none
    found = []
    for key in list(selector.get_map().values()) if selector is not None else []:
        for called in (handle._callback for handle in key.data if handle is not None):
            if _name(called) != "_read_from_self" and not _module(called).startswith("tornado."):
                found.append("a connection")
    return found


def _foreign(called: Any, runs: bool = True) -> str:
    """The name of code that isn't the kernel's own; "" if it is.

    Args:
        runs: False for an argument, which only a function or method says to be code.
    """
    kind = type(called)
    if issubclass(kind, partial):
        function, arguments = _FUNC(called), _ARGS(called)
        names = [_foreign(function), *(_foreign(argument, False) for argument in arguments)]
        return next(filter(None, names), "")
    if kind is types.MethodType:
        periodic = sys.modules["tornado.ioloop"].PeriodicCallback
        if issubclass(type(called.__self__), periodic):
            return _foreign(called.__self__.callback)
    if not _is_function(kind):
        # A task's next step has its code among the tasks.
        return "" if not runs or _class_name(kind) in _STEPS else _name(called)
    module = _module(called)
    if module.partition(".")[0] in OWN or module == "_asyncio" or _is_task_step(called):
        return ""
    return _name(called)


def _is_function(kind: type) -> bool:
    return any(kind is own for own in (*_FUNCTIONS, types.MethodType))


def _is_task_step(called: Any) -> bool:
    if type(called) is not types.BuiltinFunctionType:
        return False
    module = _type.__dict__["__module__"].__get__(type(called.__self__))
    return module in ("_asyncio", "asyncio.tasks", "asyncio.futures")


def _name(called: Any) -> str:
    if type(called) is types.MethodType:
        called = called.__func__
    if any(type(called) is kind for kind in _FUNCTIONS):
        return _short(called.__name__)
    return _short(_class_name(type(called)))


def _module(called: Any) -> str:
    """Where a function or method is from; "" for anything else, which may be of any class."""
    if type(called) is types.MethodType:
        called = called.__func__
    if any(type(called) is kind for kind in _FUNCTIONS):
        return str(called.__module__)
    return ""


def _short(name: Any) -> str:
    return str(name)[:60] if type(name) is str else "without a name"
