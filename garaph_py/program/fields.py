"""The parameters of a vertex program: what their annotations say, and which calls of its constructor are refused."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any

import numpy as np

from ..errors import ParameterError, did_you_mean

VertexId = Annotated[Any, "vertex id"]
"""Annotation of a parameter that is one of the user's vertex ids. In `VertexProgram.reports` it is the type of a
reported vertex."""

PerVertex = Annotated[Any, "per vertex"]
"""Annotation of a parameter that has a number for each vertex. The user gives a mapping from vertex ids to numbers
(vertices that it leaves out get the parameter's default), an array of shape (n,) in the order of ``graph.ids``, the
result of an earlier run, or one number for all vertices. Functions ask for the vertex's number by the parameter's
name."""

NUMBERS = (int, float, np.bool_, np.integer, np.floating)
"""The Python and NumPy types that count as a number."""
TRUTHS = (bool, np.bool_)
"""The Python and NumPy types of truth values."""


def hints(kind: type) -> dict[str, Any]:
    """The annotations of the program's parameters, by name.

    An annotation that is a string is evaluated in its class's module. If that fails, as for a class defined inside a
    function, the last part of its name decides whether it is a `VertexId`, a `PerVertex` or anything else.
    """
    owners = [(base, own) for base in kind.__mro__ if (own := vars(base).get("__annotations__"))]
    return {
        item.name: next(evaluated(own[item.name], base) for base, own in owners if item.name in own)
        for item in dataclasses.fields(kind)
    }


def means(hint: Any, mark: Any) -> bool:
    """Whether the annotation `hint` is `mark`, which is `VertexId` or `PerVertex`.

    A type never is, and is not compared with `mark`, because that takes Python a microsecond.
    """
    return hint is mark or (not isinstance(hint, type) and hint == mark)


def evaluated(hint: Any, owner: type) -> Any:
    """The annotation `hint` of a parameter of the class `owner`, with a string evaluated."""
    if not isinstance(hint, str):
        return hint
    scope = vars(sys.modules[owner.__module__]) if owner.__module__ in sys.modules else {}
    try:  # `eval` would add the built-in names to a namespace that has none
        return eval(compiled(hint.lstrip()), scope if "__builtins__" in scope else dict(scope))
    except Exception:
        return {"VertexId": VertexId, "PerVertex": PerVertex}.get(hint.rpartition(".")[2], Any)


@functools.lru_cache(1024)
def compiled(hint: str) -> types.CodeType:
    """The bytecode of an annotation."""
    return compile(hint, "<annotation>", "eval")


def checked(make: Callable[..., None]) -> Callable[..., None]:
    """The constructor `make`, an ``__init__``, with a `ParameterError` for each call that it would not understand."""

    signature = functools.cache(functools.partial(inspect.signature, make))  # which takes longer than all the rest

    @functools.wraps(make)
    def __init__(self: Any, *values: Any, **named: Any) -> None:
        kind = type(self)
        allowed = hints(kind)
        for name, value in arguments(kind, signature(), values, named):
            check_value(kind, name, allowed.get(name), value)
        make(self, *values, **named)

    return __init__


def arguments(
    kind: type, signature: inspect.Signature, values: tuple[Any, ...], named: Mapping[str, Any]
) -> Iterator[tuple[str, Any]]:
    """The parameters that a call of a constructor with this `signature` gives, each with its name.

    Raises
    ------
    ParameterError
        If a parameter is unknown, missing or given twice, or there are too many.
    """
    allowed = list(signature.parameters.values())[1:]
    if any(item.kind in (item.VAR_POSITIONAL, item.VAR_KEYWORD) for item in allowed):
        return  # the author's own constructor, which says itself what it takes
    known = [item.name for item in allowed]
    in_order = [item.name for item in allowed if item.kind is not item.KEYWORD_ONLY]
    has = f"it has {', '.join(known) or 'none'}"
    if len(values) > len(in_order):
        raise ParameterError(
            f"{kind.__name__} gets {len(values)} parameters without a name, but takes at most {len(in_order)}; {has}"
        )
    for name in named:
        if name not in known:
            advice = untyped(kind, name) or did_you_mean(name, known, has)
            raise ParameterError(f"{kind.__name__} has no parameter {name!r}; {advice}")
        if name in in_order[: len(values)]:
            raise ParameterError(f"{kind.__name__} gets its parameter {name!r} twice; give it once")
    given = {**dict(zip(in_order, values, strict=False)), **named}
    for item in allowed:
        if item.default is item.empty and item.name not in given:
            raise ParameterError(
                f"{kind.__name__} needs its parameter {item.name!r}; write {kind.__name__}({item.name}=...)"
            )
    yield from given.items()


def untyped(kind: type, name: str) -> str | None:
    """What to write for an attribute that is a number and would be a parameter if it had an annotation, else None."""
    value = inspect.getattr_static(kind, name, None)
    if not isinstance(value, NUMBERS) or name in hints(kind):
        return None
    named = "bool" if isinstance(value, TRUTHS) else "int" if isinstance(value, (int, np.integer)) else "float"
    return f"{name} has no type, so it is no parameter; write `{name}: {named} = {value}`"


def check_value(kind: type, name: str, hint: Any, value: Any) -> None:
    """Raise `ParameterError` unless `value` is of the type that the parameter's annotation `hint` names.

    An int may stand for a float, a whole float for an int, and 0 and 1 for truth values. Other annotations than these
    types and str allow everything.
    """
    if hint is bool:
        fits, wanted = isinstance(value, TRUTHS) or (isinstance(value, NUMBERS) and value in (0, 1)), "True or False"
    elif hint in (int, float):
        fits = isinstance(value, NUMBERS) and not isinstance(value, TRUTHS)
        wanted = "a number" if hint is float else "a whole number"
    else:
        fits, wanted = hint is not str or isinstance(value, str), "a string"
    if fits:
        return
    advice = ""
    if isinstance(value, str) and hint in (int, float) and not kind.__module__.startswith(__package__.split(".")[0]):
        advice = f"; if it is a vertex, annotate it so: {name}: garaph_py.VertexId"
    raise ParameterError(f"{kind.__name__}({name}={value!r}): give {wanted}{advice}")
