"""Notebooks in a real IPython, each in a process of its own, and the agent among them.

Run by any Python with IPython: ``notebook_child.py AGENT``, where AGENT is the agent's folder. A
line of JSON on stdin is one notebook: ``{"cells": [code], "ops": [[op, request]]}``. Its line on
stdout: ``{"answers": [what each op answered], "live": [bytes in use before the first op and after
each], "errors": [cells that failed, by number]}``. No ipykernel: the agent's functions are called
as its handlers call them. Two more ops are the tests' own: ``evaluate`` an expression in the
notebook, and ``set`` a constant of one of the agent's files.
"""

import json
import os
import sys
import types
from pathlib import Path

from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

folder = Path(sys.argv[1])
PRELOADED = os.environ.get("PRELOAD", "")
if PRELOADED:
    __import__(PRELOADED)  # Once, as the children inherit it; it doesn't use the GPU yet.

FRAMEWORKS = [("torch_gpu", "torch"), ("simulated_gpu", "jupyterlab_vram.simulated")]


def main() -> None:
    for line in sys.stdin:
        read, write = os.pipe()
        if os.fork() == 0:
            os.close(read)
            # What the notebook prints is nobody's.
            with open(write, "w") as answer, open(os.devnull, "w") as sys.stdout:
                json.dump(notebook(**json.loads(line)), answer)
                answer.flush()
                os._exit(0)
        os.close(write)
        with open(read) as answer:
            print(answer.read(), flush=True)
        os.wait()


def notebook(cells, ops):  # type: ignore[no-untyped-def]
    config = Config()
    config.HistoryManager.enabled = False
    shell = InteractiveShell.instance(config=config)
    bootstrap = {"__name__": "bootstrap"}
    exec(compile((folder / "bootstrap.py").read_text(), "bootstrap", "exec"), bootstrap)
    modules = bootstrap["Modules"]({file.stem: file.read_text() for file in folder.glob("*.py")})
    kernel = types.SimpleNamespace(shell=shell)
    agent = modules["handlers"].Agent(kernel, modules, FRAMEWORKS, "version", "reply")

    errors = []
    for number, cell in enumerate(cells, 1):
        done = shell.run_cell(cell, store_history=True)
        if not done.success:
            errors.append([number, str(done.error_in_exec or done.error_before_exec)])
        del done
    live = [in_use(agent)]
    answers = []
    for op, request in ops:
        if op == "evaluate":
            answers.append(json.loads(json.dumps(eval(request["code"], shell.user_ns))))
        elif op == "set":
            setattr(agent.module(request["file"]), request["name"], request["value"])
            answers.append(None)
        else:
            answers.append(agent._run(op, request))
        live.append(in_use(agent))
    return {"answers": answers, "live": live, "errors": errors}


def in_use(agent):  # type: ignore[no-untyped-def]
    frameworks = agent.measure()[0].values()
    return sum(device["live"] for framework in frameworks for device in framework["devices"])


main()
