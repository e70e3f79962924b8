"""A vLLM server on the CPU for the length of a test module."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

_PATIENCE_S = 600


@contextmanager
def serving(model: Path, log: Path, arguments: tuple[str, ...], settings: Mapping[str, str]) -> Iterator[str]:
    """Start a server, and stop it in the end.

    Prompts are read whole: in pieces, a request with a seed of its own brings vLLM 0.32 down on the CPU ("CPU
    Generator does not use offset").

    Args:
        model: The model's folder.
        log: File for what the server prints.
        arguments: Further arguments of the server.
        settings: Further environment variables.

    Yields:
        The address of its OpenAI-compatible interface.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        *(sys.executable, "-m", "vllm.entrypoints.openai.api_server"),
        *("--model", str(model), "--host", "127.0.0.1", "--port", str(port), "--enforce-eager"),
        *("--logprobs-mode", "processed_logprobs", "--no-enable-chunked-prefill", *arguments),
    ]
    with log.open("wb") as out:
        server = subprocess.Popen(
            command,
            env={**os.environ, "HF_HUB_OFFLINE": "1", **settings},
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        _wait(server, f"http://127.0.0.1:{port}/health", log)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.terminate()
        server.wait(60)


def _wait(server: subprocess.Popen[bytes], health: str, log: Path) -> None:
    end = time.monotonic() + _PATIENCE_S
    while time.monotonic() < end and server.poll() is None:
        try:
            urlopen(health, timeout=5).close()
            return
        except (URLError, TimeoutError, ConnectionError):
            time.sleep(1)
    pytest.fail(f"the server did not start:\n{log.read_text(errors='replace')[-2000:]}")
