"""nvidia-smi as a probe."""

from __future__ import annotations

import time

from ... import wire
from .. import problems
from ..backoff import Backoff
from ..processes import views
from ..reading import Reading, Trouble
from .failures import failure
from .parse import ParseError, parse
from .program import Program, TimeLimit, find


class NvidiaSmiProbe:
    """A `Probe` that runs ``nvidia-smi -q -x`` for each reading."""

    source: wire.Source = "nvidia-smi"

    def __init__(self, limit: float = 10.0, retry: float = 2.0) -> None:
        """``limit``: seconds that one run may take. ``retry``: seconds before the first new attempt
        after a failure; later ones wait longer, 60 s at most."""
        self._program = Program(limit)
        self._limit = limit
        self._backoff = Backoff(retry, 60.0)
        self._worked = False
        self._trouble = problems.starting()

    def read(self) -> Reading:
        if self._backoff.due:
            result = self._read()
            if isinstance(result, Reading):
                self._worked = True
                self._backoff.worked()
                return result
            self._trouble = result
            self._backoff.failed()
        return Reading.without(self.source, self._trouble)

    def close(self) -> None:
        """Nothing is kept open between readings."""

    def _read(self) -> Reading | Trouble:
        taken_at = time.time()
        path = find()
        if path is None:
            return problems.no_program()
        try:
            output = self._program.run(path, "-q", "-x")
        except TimeLimit:
            return problems.timeout(self._limit)
        except OSError as error:
            return problems.driver_error(f"{path} can't be run ({error.strerror})")
        try:
            answer = parse(output.text)
        except ParseError as error:
            # An exit code alone is no failure: some warnings come with one.
            words = f"{output.text}\n{output.errors}"
            broken = "<nvidia_smi_log>" in output.text
            return (
                problems.driver_error(str(error))
                if broken
                else failure(words, output.code, self._worked)
            )
        if not answer.gpus:
            return problems.lost_access("no GPU") if self._worked else problems.no_devices()
        return Reading(
            taken_at=taken_at,
            source=self.source,
            state="ok",
            views=views(answer.gpus, answer.processes, answer.doubt),
            driver=answer.driver,
            gpus=tuple(answer.gpus),
            processes=tuple(answer.processes),
            doubt=answer.doubt,
        )
