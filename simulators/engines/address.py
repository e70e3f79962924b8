"""The URL of a model server, read strictly: a mistake in it is found before anything is asked."""

from __future__ import annotations

import re
from urllib.parse import SplitResult, urlsplit

_NOT_IN_A_HOST = re.compile(r"[^\w.:%-]")


def read_address(url: str) -> SplitResult:
    """Split the base URL of a server.

    Args:
        url: Such as "http://localhost:8000/v1".

    Returns:
        Its parts.

    Raises:
        ValueError: It is not one that a server can be asked at, or it holds a secret, which is not shown.

    Example:
        >>> read_address("http://localhost:8000/v1").port
        8000
    """
    try:
        address = urlsplit(url)
    except ValueError as error:
        raise ValueError(
            f"The URL cannot be read ({error}): write one such as http://localhost:8000/v1."
        ) from None
    if "@" in address.netloc or address.query or address.fragment:
        raise ValueError(
            f"The URL of {address.hostname} has a password or a query, which logs would show: leave it out, "
            "and put a key into OPENAI_API_KEY."
        )
    if address.scheme not in ("http", "https") or not address.hostname or url.split() != [url]:
        raise ValueError(
            f"An engine needs a model and a URL such as http://localhost:8000/v1; the URL is {url!r}."
        )
    if not _is_port(address):
        raise ValueError(
            f"The port of {url!r} should be a number from 1 to 65535, as in http://localhost:8000/v1."
        )
    if not _is_host(address.hostname):
        raise ValueError(
            f"The host of {url!r} should be a name or an address, as in http://localhost:8000/v1."
        )
    return address


def _is_port(address: SplitResult) -> bool:
    try:
        return address.port != 0
    except ValueError:
        return False


def _is_host(name: str) -> bool:
    try:
        name.encode("idna")  # no part of it is empty or too long
    except UnicodeError:
        return False
    return not _NOT_IN_A_HOST.search(name)
