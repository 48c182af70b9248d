"""``python -m bench NAME FILE``: measure one thing and write its rows to FILE as JSON."""

from __future__ import annotations

import importlib
import json
import sys
from dataclasses import asdict
from pathlib import Path

from fake_driver.build import NoCompiler
from frameworks.environment import Unavailable

name, file = sys.argv[1:]
try:
    rows = importlib.import_module(f"bench.{name}").measure()
except (NoCompiler, Unavailable) as error:
    sys.exit(str(error))
Path(file).write_text(json.dumps([asdict(row) for row in rows]))
