"""A stand-in for ``vllm.entrypoints.llm``: the engine is a child process, as in the real one."""

import multiprocessing
import threading
import weakref
from multiprocessing import connection
from types import SimpleNamespace

from ..engine_core import run_engine_core


class LLM:
    def __init__(self, model, *, enable_sleep_mode=False):
        spawn = multiprocessing.get_context("spawn")
        self._pipe, theirs = spawn.Pipe()
        self._process = spawn.Process(target=run_engine_core, args=(theirs,), name="EngineCore")
        self._process.start()
        theirs.close()
        assert self._pipe.recv() == "ready"
        self.llm_engine = SimpleNamespace(
            model_config=SimpleNamespace(enable_sleep_mode=enable_sleep_mode)
        )
        weakref.finalize(self, _shutdown, self._process)
        threading.Thread(
            target=_monitor, args=(self._process,), name="MPClientEngineMonitor", daemon=True
        ).start()

    def _ask(self, order):
        self._pipe.send(order)
        return self._pipe.recv()

    def sleep(self, level=1, mode="abort"):
        assert level == 1, level
        if not self.llm_engine.model_config.enable_sleep_mode:
            raise ValueError("Sleep mode is not enabled in the model config")
        self._ask("sleep")

    def wake_up(self, tags=None):
        return self._ask("wake_up") > 0


def _monitor(process):
    connection.wait([process.sentinel])


def _shutdown(process):
    process.terminate()
    process.join()
