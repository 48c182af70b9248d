"""The REST routes: thin, each asks the rights it needs and answers in the wire's words.

Every refusal is a ``wire.ErrorBody``. ``openapi.yaml`` beside this file describes all routes.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any, TypeVar

import msgspec
from jupyter_core.utils import ensure_async
from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import APIHandler
from tornado.web import HTTPError, authenticated

from .. import wire
from ..kernels import errors
from .config import Refused
from .sentences import Sentences
from .service import Service
from .stream import StreamHandler

MOST_BODY = 1 << 18
"""Bytes. The largest request, twenty remedies with a few hundred names, is far below."""

ENDS_PROCESSES: frozenset[wire.RemedyId] = frozenset(
    {"end-children", "interrupt", "restart", "shutdown"}
)
"""Remedies that need what the server's own routes for kernels need: write. The others run code in
the kernel, which is execute."""

STATUS: dict[type[Exception], HTTPStatus] = {
    errors.KernelGone: HTTPStatus.NOT_FOUND,
    errors.KernelBusy: HTTPStatus.CONFLICT,
    errors.NoAnswer: HTTPStatus.CONFLICT,
    errors.RunInProgress: HTTPStatus.CONFLICT,
    errors.NothingToStop: HTTPStatus.NOT_FOUND,
    errors.LastStep: HTTPStatus.CONFLICT,
    errors.NotAllowed: HTTPStatus.FORBIDDEN,
    errors.NotOffered: HTTPStatus.BAD_REQUEST,
    errors.NotYours: HTTPStatus.FORBIDDEN,
    Refused: HTTPStatus.FORBIDDEN,
}

Request = TypeVar("Request")


@contextmanager
def refusals() -> Iterator[None]:
    """Turn what the kernels side refuses into an answer with its sentence."""
    try:
        yield
    except tuple(STATUS) as error:
        status = next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)
        raise HTTPError(status, str(error)) from error


class VramHandler(Sentences, APIHandler):
    auth_resource = "kernels"

    def initialize(self, service: Service) -> None:
        self.service = service

    def set_default_headers(self) -> None:
        super().set_default_headers()
        self.set_header("Cache-Control", "no-store")

    async def may(self, action: str) -> bool:
        """Whether this user has the right to read, write or execute kernels."""
        return bool(
            await ensure_async(
                self.authorizer.is_authorized(self, self.current_user, action, self.auth_resource)
            )
        )

    def body(self, kind: type[Request]) -> Request:
        """The request's body, checked."""
        if len(self.request.body) > MOST_BODY:
            raise HTTPError(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                f"The request is larger than {MOST_BODY >> 10} KiB; nothing was done.",
            )
        try:
            return msgspec.json.decode(self.request.body, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise HTTPError(
                HTTPStatus.BAD_REQUEST, f"The request can't be understood: {error}."
            ) from error

    def number(self, name: str) -> float | None:
        """A query argument that is a finite number, None where it is absent."""
        text = self.get_query_argument(name, None)
        if text is None:
            return None
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise HTTPError(HTTPStatus.BAD_REQUEST, f"“{name}” must be a number.")
        return value

    def answer(self, message: Any) -> None:
        self.finish(wire.encode(message))


class SnapshotHandler(VramHandler):
    """``GET snapshot``: also the polling fallback of a browser that gets no WebSocket."""

    _track_activity = False

    @authenticated
    @authorized
    async def get(self) -> None:
        interval = self.service.config.current.interval
        sample = await self.service.sampler.read(max_age=interval / 2)
        self.finish(sample.body)


class HistoryHandler(VramHandler):
    """``GET history?gpu&kernel&from&step&span``."""

    _track_activity = False

    @authenticated
    @authorized
    async def get(self) -> None:
        history = self.service.history
        gpu = self.get_query_argument("gpu", None)
        kernel = self.get_query_argument("kernel", None)
        span = self.number("span")
        step = self.number("step")
        start = self.number("from")
        for name, value in (("span", span), ("step", step)):
            if value is not None and value <= 0:
                raise HTTPError(HTTPStatus.BAD_REQUEST, f"“{name}” must be above 0 seconds.")
        if gpu is not None and not history.knows_gpu(gpu):
            raise HTTPError(HTTPStatus.NOT_FOUND, "Nothing is recorded of a GPU with this id.")
        if (
            kernel is not None
            and kernel not in self.kernel_manager
            and not history.knows_kernel(kernel)
        ):
            raise HTTPError(HTTPStatus.NOT_FOUND, "Nothing is recorded of a kernel with this id.")
        self.answer(
            history.get(
                time.time(),
                span=600.0 if span is None else span,
                start=start,
                step=step,
                gpu=gpu,
                kernel=kernel,
            )
        )


class PlanHandler(VramHandler):
    """``GET kernels/{id}/plan``: changes nothing that a person made."""

    @authenticated
    @authorized
    async def get(self, kernel_id: str) -> None:
        # Looking into a kernel runs our code in it, which reading alone doesn't allow.
        look_inside = await self.may("execute")
        with refusals():
            self.answer(await self.service.remedies.plan(kernel_id, look_inside=look_inside))


class RemediesHandler(VramHandler):
    """``POST kernels/{id}/remedies`` runs, ``DELETE`` stops what runs or waits.

    The door needs read, each remedy what it does; stopping needs what the run did.
    """

    @authenticated
    @authorized(action="read")  # type: ignore[untyped-decorator]  # its type is for the bare form
    async def post(self, kernel_id: str) -> None:
        request = self.body(wire.RunRequest)
        await self.check_rights(step.id for step in request.remedies)
        with refusals():
            self.answer(
                await self.service.remedies.run(kernel_id, request, self.service.hub.report)
            )

    @authenticated
    @authorized(action="read")  # type: ignore[untyped-decorator]
    async def delete(self, kernel_id: str) -> None:
        with refusals():
            await self.check_rights(self.service.remedies.under_way(kernel_id))
            self.answer(self.service.remedies.stop(kernel_id))

    async def check_rights(self, remedies: Iterable[wire.RemedyId]) -> None:
        """Refuse the whole request if this user lacks the right to one of them."""
        needed = {"write" if remedy in ENDS_PROCESSES else "execute" for remedy in remedies}
        for action in sorted(needed):
            if not await self.may(action):
                raise HTTPError(
                    HTTPStatus.FORBIDDEN,
                    f"You lack the right to {action} kernels on this server, "
                    "so that nothing was done.",
                )


class ConfigHandler(VramHandler):
    """``GET config``, ``PUT config``."""

    @authenticated
    @authorized
    async def get(self) -> None:
        self.answer(self.service.config.current)

    @authenticated
    @authorized
    async def put(self) -> None:
        wanted = self.body(wire.Config)
        with refusals():
            self.answer(await self.service.configure(wanted))


class EndHandler(VramHandler):
    """``POST holders/end``."""

    @authenticated
    @authorized
    async def post(self) -> None:
        request = self.body(wire.EndRequest)
        with refusals():
            self.answer(await self.service.end(request.pid, request.started_at))


ROOT = "/jupyterlab-vram"


def handlers(service: Service) -> list[tuple[str, type[Any], dict[str, Any]]]:
    """All routes, relative to the server's base URL."""
    here = {"service": service}
    return [
        (rf"{ROOT}/snapshot", SnapshotHandler, here),
        (rf"{ROOT}/history", HistoryHandler, here),
        (rf"{ROOT}/kernels/([^/]+)/plan", PlanHandler, here),
        (rf"{ROOT}/kernels/([^/]+)/remedies", RemediesHandler, here),
        (rf"{ROOT}/config", ConfigHandler, here),
        (rf"{ROOT}/holders/end", EndHandler, here),
        (rf"{ROOT}/stream", StreamHandler, {"hub": service.hub}),
    ]
