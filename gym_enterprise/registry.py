"""Domains by name: registered once, loaded at first use, shared from then on."""

from __future__ import annotations

import importlib
import inspect
import threading
import traceback
from collections.abc import Callable
from typing import Any

from gym_enterprise.domain import Domain
from gym_enterprise.errors import GymEnterpriseError, UnknownDomain, UsageError
from kb import DocumentError

_ENTRY_POINTS = {
    "banking": "gym_enterprise.domains.banking:make_domain",
    "tau3_banking": "gym_enterprise.domains.tau3_banking:make_domain",
}
_loaded: dict[tuple[str, str, Any], Domain] = {}
_lock = threading.RLock()


def register_domain(name: str, entry_point: str) -> None:
    """Make a domain loadable by name, in this process and in its workers.

    Args:
        name: The name for `load_domain`.
        entry_point: `"module:function"`; the function returns a `Domain` of that name.

    Raises:
        UsageError: The entry point has another form, or the name is taken by another one.
    """
    module, colon, function = entry_point.partition(":")
    if not (module and colon and function):
        raise UsageError(f'the entry point {entry_point!r} should be "module:function"')
    if _ENTRY_POINTS.setdefault(name, entry_point) != entry_point:
        raise UsageError(f"the domain name {name!r} is taken by {_ENTRY_POINTS[name]!r}: choose another")


def registered_domains() -> tuple[str, ...]:
    """Return the names that `load_domain` takes."""
    return tuple(_ENTRY_POINTS)


def load_domain(name: str, **arguments: Any) -> Domain:
    """Load a domain once and share it.

    Args:
        name: A registered name, or an entry point "module:function".
        arguments: For the domain's own function, such as `data_dir=`.

    Returns:
        The domain; the same object for the same name and arguments.

    Raises:
        UnknownDomain: No domain of that name is registered, or its entry point does not exist.
        UsageError: The domain's function does not take these arguments.

    Example:
        >>> load_domain("banking").tasks["train"]["..."]  # doctest: +SKIP
    """
    with _lock:
        module, _, function = _entry_point(name).partition(":")
        make = _imported(name, module, function)
        bound = _bound(name, make, arguments)
        # A function whose domain depends on more than its arguments says so by `cache_key(**arguments)`.
        depends = getattr(make, "cache_key", lambda **_: None)(**arguments)
        key = (name, repr(sorted(bound.items())), depends)
        if key not in _loaded:
            domain = make(**arguments)
            if not isinstance(domain, Domain):
                raise UsageError(f"the entry point of {name!r} should return a Domain, got {domain!r:.80}")
            if domain.name != name and ":" not in name:
                raise UsageError(f"the entry point of {name!r} returned the domain {domain.name!r}")
            domain.rebuild = (_reload, (name, arguments, _entry_point(name)))
            _loaded[key] = domain
        return _loaded[key]


def _imported(name: str, module: str, function: str) -> Callable[..., Domain]:
    try:
        holder = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise _unimportable(name, module, error) from error  # a module that the domain itself needs
        raise UnknownDomain(
            f"domain {name!r}: there is no module {module!r}; check the entry point"
        ) from error
    except Exception as error:
        raise _unimportable(name, module, error) from error
    if not hasattr(holder, function):
        raise UnknownDomain(f"domain {name!r}: module {module!r} has no {function!r}; check the entry point")
    return getattr(holder, function)  # type: ignore[no-any-return]


def _unimportable(name: str, module: str, error: Exception) -> Exception:
    """Return what to raise: a fault of this library's kinds as it is, any other with its line."""
    if isinstance(error, GymEnterpriseError | DocumentError):
        return error
    if isinstance(error, SyntaxError):
        where = f"{error.filename}, line {error.lineno}"
    else:
        frames = [one for one in traceback.extract_tb(error.__traceback__) if "importlib" not in one.filename]
        where = f"{frames[-1].filename}, line {frames[-1].lineno}"
    told = error.msg if isinstance(error, SyntaxError) else error
    return UsageError(
        f"domain {name!r}: module {module!r} cannot be imported: {type(error).__name__}: {told} ({where}); "
        "mend that line"
    )


def _bound(name: str, make: Callable[..., Domain], arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments with the defaults of those that are not given."""
    signature = inspect.signature(make)
    try:
        bound = signature.bind(**arguments)
    except TypeError as error:
        known = ", ".join(signature.parameters) or "no arguments"
        raise UsageError(f"domain {name!r}: {error}; it takes {known}") from None
    bound.apply_defaults()
    return bound.arguments


def _entry_point(name: str) -> str:
    if name in _ENTRY_POINTS:
        return _ENTRY_POINTS[name]
    if ":" in name:
        return name
    raise UnknownDomain(
        f"there is no domain {name!r}; domains: {', '.join(_ENTRY_POINTS)}; your own: register_domain(), or "
        '"module:function"'
    )


def _reload(name: str, arguments: dict[str, Any], entry_point: str) -> Domain:
    if name != entry_point:
        register_domain(name, entry_point)
    return load_domain(name, **arguments)
