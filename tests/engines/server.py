"""A model server on this machine that answers as it is told, and can fail in every way that servers do."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Reply:
    """One answer."""

    body: Any = None
    """JSON value; or bytes, which are sent as they are."""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    drop: bool = False
    """Whether the connection is closed instead."""
    stall: bool = False
    """Whether there is no answer as long as the server lives."""
    short: int = 0
    """How many bytes of the body are missing when the connection closes."""


@dataclass
class Asked:
    """One request as it came."""

    path: str
    body: dict[str, Any]
    headers: dict[str, str]
    port: int = 0
    """The other end of its connection."""


class Served:
    """What a test sees of the server."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.asked: list[Asked] = []


@contextmanager
def serving(reply: Callable[[int, Asked], Reply] | Sequence[Reply]) -> Iterator[Served]:
    """Serve on 127.0.0.1.

    Args:
        reply: What to answer to request number n (from 0); or the answers in order, the last of which stays.
    """
    lock, ended = threading.Lock(), threading.Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.do_POST()

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or "{}")
            headers = {name.lower(): value for name, value in self.headers.items()}
            asked = Asked(self.path, body, headers, self.client_address[1])
            with lock:
                number = len(served.asked)
                served.asked.append(asked)
            one = reply(number, asked) if callable(reply) else reply[min(number, len(reply) - 1)]
            if one.stall:
                ended.wait(timeout=30)
            if one.stall or one.drop:
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            self.answer(one)

        def answer(self, one: Reply) -> None:
            content = one.body if isinstance(one.body, bytes) else json.dumps(one.body).encode()
            self.send_response_only(one.status)
            for name, value in {"Content-Length": str(len(content)), **one.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content[: len(content) - one.short])
            self.close_connection = self.close_connection or one.short > 0

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    served = Served(f"http://127.0.0.1:{server.server_port}/v1")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield served
    finally:
        ended.set()
        server.shutdown()
        server.server_close()
        thread.join()


def choice(text: str | None = "Hello.", index: int = 0, **more: Any) -> dict[str, Any]:
    """Return one choice of a chat completion; `tool_calls` goes into its message."""
    message = {"role": "assistant", "content": text}
    if "tool_calls" in more:
        message["tool_calls"] = more.pop("tool_calls")
    return {"index": index, "message": message, "finish_reason": "stop", **more}


def chat(*choices: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a chat completion; 10 tokens in, 3 out."""
    usage = {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13}
    return {"object": "chat.completion", "choices": list(choices or [choice()]), "usage": usage, **more}


def called(name: str, arguments: Any, call_id: str = "c1") -> dict[str, Any]:
    """Return one structured call; arguments that are no text are written as JSON."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": text}}
