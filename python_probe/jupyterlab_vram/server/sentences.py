"""What a client reads where a request was refused or failed."""

from __future__ import annotations

from typing import Any

from tornado.web import HTTPError, RequestHandler

from .. import wire

SENTENCES = {
    403: "You are not signed in to this server, or you lack the right to do this.",
    405: "This address doesn't take that kind of request.",
}


class Sentences(RequestHandler):
    """Makes every error of a handler a ``wire.ErrorBody``; stands first among its bases."""

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        error = kwargs.get("exc_info", (None, None))[1]
        message = None
        if isinstance(error, HTTPError) and error.log_message:
            # tornado doubles each % in a message without arguments
            message = error.log_message % error.args
        if message is None:
            message = SENTENCES.get(
                status_code,
                "The server part of jupyterlab-vram failed; the server's log says where.",
            )
        self.set_header("Content-Type", "application/json")
        self.set_header("Cache-Control", "no-store")
        self.finish(wire.encode(wire.ErrorBody(message=message)))
