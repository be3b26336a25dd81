"""Checks of the arguments of public functions: their names, and those that several take, a path and a listener."""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ParamSpec, TypeGuard, TypeVar

import numpy as np

from ..errors import ParameterError, did_you_mean

P = ParamSpec("P")
R = TypeVar("R")
NONE: Mapping[str, str] = MappingProxyType({})


def explained(
    function: Callable[P, R], elsewhere: Mapping[str, str] = NONE, options: Sequence[str] = ()
) -> Callable[P, R]:
    """`function`, with a `ParameterError` for every call that does not suit its signature; a decorator.

    An argument that is given by name and annotated as ``bool`` must be one, or 0, 1 or None: ``weight="no"`` would
    count as True.

    `elsewhere` has advice for arguments of another function, which a caller may give to this one. `options` are the
    names of the arguments that `function` takes as ``**options`` and passes on.
    """
    own = inspect.signature(function)
    named_ones = [one for one in own.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
    passed_on = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in options]
    signature = own.replace(parameters=[*named_ones, *passed_on]) if options else own
    flags = frozenset(one.name for one in named_ones if one.annotation in (bool, "bool"))

    def check(values: tuple[Any, ...], named: Mapping[str, Any]) -> None:
        try:
            signature.bind(*values, **named)
        except TypeError as error:
            name = function.__qualname__.removesuffix(".__init__")
            package, _, module = function.__module__.partition(".")
            in_library = module.startswith("algorithms.") and not hasattr(sys.modules[package], name)  # `check` is not
            home = "gp.algorithms" if in_library else "gp"
            advice = f"see help({home}.{name})"
            problem = misfit(name, signature.parameters, values, named, elsewhere, advice)
            raise ParameterError(problem or f"{name}: {error}; {advice}") from None

    @functools.wraps(function)
    def called(*values: P.args, **named: P.kwargs) -> R:
        if options:
            check(values, named)
        for name in flags.intersection(named):
            if not is_flag(named[name]):
                raise ParameterError(f"{name}={named[name]!r:.40}: give True or False")
        try:
            return function(*values, **named)
        except TypeError:
            check(values, named)  # only now, because binding takes 20 microseconds
            raise

    return called


def is_flag(value: object) -> bool:
    """Whether a value is True or False, or stands for one: 0, 1 or None."""
    return value is None or (isinstance(value, (int, np.integer, np.bool_)) and value in (0, 1))


def is_count(value: object) -> TypeGuard[int]:
    """Whether `value` is a whole number, 0 or more."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and bool(value >= 0)


def misfit(
    function: str,
    parameters: Mapping[str, inspect.Parameter],
    values: tuple[Any, ...],
    named: Mapping[str, Any],
    elsewhere: Mapping[str, str],
    advice: str,
) -> str | None:
    """The error for a call of `function` with an argument that it does not have, or too many without a name.

    `advice` says where to read about the arguments.
    """
    takes_any_name = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
    parameters = {name: each for name, each in parameters.items() if each.kind is not each.VAR_KEYWORD}
    known = [name for name in parameters if name != "self"]
    for name in named:
        if name not in known and not takes_any_name:
            near = did_you_mean(name, [*known, *elsewhere], advice)
            return f"{function} has no argument {name}; {elsewhere.get(name, near)}"
    in_order = [name for name in parameters if parameters[name].kind is not inspect.Parameter.KEYWORD_ONLY]
    if len(values) <= len(in_order):
        return None
    by_name = [name for name in known if name not in in_order and name not in named]
    more = [f"{name}={value!r:.40}" for name, value in zip(by_name, values[len(in_order) :], strict=False)]
    taken = " and ".join(name for name in in_order if name in known)
    order = f"takes {taken} in order, and all else by name" if taken else "takes all arguments by name"
    return f"{function} {order}; " + (f"write {', '.join(more)}" if taken and more else advice)


def check_path(path: Any, function: str) -> None:
    """Refuse what is no path, in a call of `function`."""
    if not isinstance(path, (str, os.PathLike)):
        raise ParameterError(f"{function} takes a path, a string or a pathlib.Path, not {type(path).__name__}")


def check_listener(on_event: Any) -> None:
    """Refuse an `on_event` that cannot be called."""
    if not callable(on_event):
        raise ParameterError(f"on_event={on_event!r:.40}: give a function of one argument, an event")
