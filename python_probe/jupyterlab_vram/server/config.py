"""Settings that act on the server: one set, kept in Jupyter's data folder."""

from __future__ import annotations

import asyncio
import logging
import os
import tempfile
from pathlib import Path

import msgspec

from .. import __version__, wire
from ..probe import ProbeName


class Refused(Exception):
    """A change that the operator of this server does not allow; the text says which and why."""


class ConfigStore:
    """The settings in force, and their file.

    Parameters
    ----------
    path
        The JSON file. It may be absent; a broken one is logged once and left until the next change.
    source
        What the operator wants to be read when the server starts. ``auto`` leaves it to the file.
    min_interval
        Seconds; no shorter interval is accepted.
    allow_simulation
        Whether a client may turn the simulated GPU on.
    """

    def __init__(
        self,
        path: Path,
        *,
        source: str = "auto",
        min_interval: float = 0.25,
        allow_simulation: bool = True,
        log: logging.Logger | None = None,
    ) -> None:
        self._path = path
        self._min_interval = min_interval
        self._allow_simulation = allow_simulation
        self._log = log or logging.getLogger(__name__)
        self._writing = asyncio.Lock()
        stored = self._load()
        # The simulated GPU is asked for anew each time: it is never kept.
        self._kept_source: ProbeName = "auto" if stored.source == "simulated" else stored.source
        self.current = msgspec.convert(
            {
                **msgspec.to_builtins(stored),
                "version": __version__,
                "schema": wire.SCHEMA,
                "interval": max(stored.interval, min_interval),
                "source": self._kept_source if source == "auto" else source,
            },
            wire.Config,
        )

    def check(self, wanted: wire.Config) -> None:
        """Raise Refused where the operator does not allow ``wanted``."""
        if wanted.interval < self._min_interval:
            raise Refused(
                f"The operator of this server allows no interval below {self._min_interval:g} s."
            )
        if wanted.source == "simulated" != self.current.source and not self._allow_simulation:
            raise Refused(
                "The operator of this server does not allow the simulated GPU "
                "(allow_simulation is off)."
            )

    async def change(self, wanted: wire.Config) -> wire.Config:
        """Put ``wanted`` in force and keep it; the last one to call wins.

        Raises
        ------
        Refused
            The operator does not allow it; nothing has changed.
        """
        async with self._writing:
            self.check(wanted)
            if wanted.source not in (self.current.source, "simulated"):
                self._kept_source = wanted.source
            new = msgspec.structs.replace(wanted, version=__version__, schema=wire.SCHEMA)
            kept = msgspec.structs.replace(new, source=self._kept_source)
            try:
                await asyncio.to_thread(self._save, kept)
            except OSError as error:
                # A home folder may be read-only; the settings are wanted nevertheless.
                self._log.warning(
                    "GPU memory settings can't be kept in %s (%s); they act until the server "
                    "stops.",
                    self._path,
                    error,
                )
            self.current = new
        return new

    def _load(self) -> wire.Config:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=wire.Config)
        except FileNotFoundError:
            return wire.Config()
        except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
            self._log.warning(
                "The GPU memory settings in %s can't be read (%s); defaults are used "
                "until somebody changes a setting.",
                self._path,
                error,
            )
            return wire.Config()

    def _save(self, config: wire.Config) -> None:
        """Replace the file in one step, so that a crash leaves the old or the new one."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=self._path.parent, prefix=".config-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(msgspec.json.format(wire.encode(config), indent=2))
            Path(name).replace(self._path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
