"""Arrange the simulated driver from a shell or from another language's tests.

The ledger is the one that VRAM_SIMULATED_LEDGER names. Values are JSON where they can be, text
otherwise: ``temperature=91 fan=null name="A card"``.

  control create SCENARIO            a name (default, lab, mig, …) or a JSON file
  control device INDEX COLUMN=VALUE…   columns of layout.Device
  control driver COLUMN=VALUE…         columns of layout.Driver
  control process PID INDEX SIZE [name=… no_size=true hidden=true …]
  control remove [PID]               that process's entries, or all
  control inject FUNCTION [code=GPU_IS_LOST] [device=0] [slow_ms=1500] [count=3]
  control clear                      forget what was injected
  control calls [reset]              how often each driver function was called
  control show                       everything, as JSON
  control environment [preload]      the variables that make a program see the driver, as JSON
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from jupyterlab_vram.simulated.ledger import Ledger

from fake_driver.build import build


def value(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def pairs(words: list[str]) -> dict[str, Any]:
    return {name: value(text) for name, _, text in (word.partition("=") for word in words)}


def main(arguments: list[str]) -> None:
    match arguments:
        case ["create", name]:
            file = Path(name)
            Ledger.create(scenario=json.loads(file.read_text()) if file.suffix else name).close()
            return
        case [_, *_]:
            ledger = Ledger.open()
        case _:
            sys.exit(__doc__)
    match arguments:
        case ["device", index, *words]:
            ledger.set_device(int(index), **pairs(words))
        case ["driver", *words]:
            ledger.set_driver(**pairs(words))
        case ["process", pid, index, size, *words]:
            ledger.add_process(int(pid), int(index), value(size), **pairs(words))
        case ["remove"]:
            ledger.remove_processes()
        case ["remove", pid]:
            ledger.remove_processes(int(pid))
        case ["inject", function, *words]:
            ledger.inject(function, **pairs(words))
        case ["clear"]:
            ledger.clear_injected()
        case ["calls"]:
            print(json.dumps(ledger.calls(), indent=2))
        case ["calls", "reset"]:
            ledger.reset_calls()
        case ["show"]:
            print(json.dumps(asdict(ledger.state()), indent=2))
        case ["environment", *words]:
            preload = words == ["preload"]
            print(json.dumps(build().environment(ledger.path, preload=preload), indent=2))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
