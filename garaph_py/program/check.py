"""Checks the types of a program's functions with Numba, and words its findings for the program's author.

Messages name the function, the line and what is allowed. A program that has passed is remembered in the cache on disk,
and is not checked again.
"""

from __future__ import annotations

import linecache
import re
import types
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from .. import events
from ..errors import ParameterError, ProgramError, did_you_mean
from ..native import cache as stored
from ..native.compiling import compiling, lock
from ..native.references import fingerprint
from .bind import BoundProgram
from .body import ALLOWED, Place
from .dtypes import record_class, scalars
from .fields import PerVertex, hints, untyped
from .inference import Inference
from .real import with_real
from .signatures import MISSPELT

DType = np.dtype[Any]

_passed: set[str] = set()
"""Keys of the programs that have passed, as far as this process knows."""


@cache
def rules() -> list[bytes]:
    """The text of the checks, which is part of the key on disk."""
    return [Path(__file__).with_name(name).read_bytes() for name in ("check.py", "inference.py")]


def check_types(bound: BoundProgram, listener: events.Listener = events.ignore) -> None:
    """Check the types of all functions of `bound`, and of its sum, unless they have passed before.

    If they have not, `listener` is told, because Numba takes a second or more to check them.

    Raises
    ------
    ProgramError
        If a function does not compile, returns the wrong type, or computes in float64 in a float32 program.
    """
    bound = bound.columns[0] if bound.columns else bound
    if bound.key in _passed:
        return
    key = fingerprint(stored.environment(), rules(), bound.key)
    if stored.load(key) is None:
        check_all(bound, listener)
        stored.store(key, b"")
    _passed.add(bound.key)


def check_all(bound: BoundProgram, listener: events.Listener) -> None:
    """Check the types of all functions of `bound`, and of its sum."""
    with lock, compiling("checking the program's types", 1, listener):
        given = argument_types(bound)
        for name, function in bound.functions.items():
            asked = ("self", *bound.arguments[name]) if name in bound.arguments else ("left", "right")
            place = Place(f"{bound.name}.{name}", function)
            check_function(bound, place, {item: given[item] for item in asked}, expected(bound, name))


def expected(bound: BoundProgram, name: str) -> DType | None:
    """The dtype that the function `name` must return; None for a truth value."""
    return {
        "init": bound.value,
        "gather": bound.accumulator,
        "gather_out": bound.accumulator,
        "sum": bound.accumulator,
        "apply": bound.value,
        "prepare": bound.value,
        "aggregate": bound.total,
        "priority": bound.value,
        "delta": bound.accumulator,
        "result": bound.reports,
    }.get(name)


def argument_types(bound: BoundProgram) -> dict[str, Any]:
    """The Numba types of all arguments that functions can ask for, by name."""
    import numba

    def of(dtype: DType) -> Any:
        if not dtype.names:
            return numba.from_dtype(dtype)
        return numba.types.NamedTuple(
            [numba.from_dtype(dtype[name]) for name in dtype.names], record_class(dtype.names)
        )

    integer = numba.types.int64
    count = of(bound.real) if bound.real is not None else integer
    value, accumulator = of(bound.value), of(bound.accumulator)
    found = {
        "self": of(bound.parameters.dtype), "id": integer, "src_id": integer, "parent": integer,
        "n": count, "in_degree": count,
        "out_degree": count, "edge": count, "src": value, "dst": value, "old": value, "new": value, "value": value,
        "acc": accumulator, "left": accumulator, "right": accumulator, "active": numba.types.boolean,
    }  # fmt: skip
    if bound.total is not None:
        found["total"] = of(bound.total)
    if bound.accumulator_out is not None:
        found["acc_out"] = of(bound.accumulator_out)
    return found | dict.fromkeys(bound.vertex_fields, count)


def check_function(bound: BoundProgram, place: Place, arguments: dict[str, Any], returns: DType | None) -> None:
    """Check one function: it compiles for `arguments` (Numba types by name) and returns `returns`."""
    from ..native.compiler import jit, obstacle, optimized, own_settings

    compiled: dict[types.FunctionType, Any] = {}
    dispatcher = jit(with_real(place.function, bound.real), compiled)
    try:
        with own_settings(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            dispatcher.compile(tuple(arguments.values()))
    except ParameterError:
        raise
    except Exception as error:  # Numba raises many kinds of errors
        line, problem = explain(bound, error, arguments)
        raise ProgramError(f"{place.line(line)} cannot be compiled: {problem}; {ALLOWED}") from None
    for helper, made in compiled.items():
        for overload in getattr(made, "overloads", {}).values():
            inside = place if made is dispatcher else place.helper(helper)
            check_arithmetic(inside, Inference(overload.type_annotation), bound.real)
    outcome = dispatcher.overloads[tuple(arguments.values())]
    for line, found in Inference(outcome.type_annotation).returns():
        reason = mismatch(found, returns)
        if reason:
            raise ProgramError(f"{place.line(line)} {reason}")
    reason = obstacle(optimized(outcome))
    if reason:
        raise ProgramError(f"{place.line()} {reason}; {ALLOWED}, none of which does that")


def check_arithmetic(place: Place, inference: Inference, real: DType | None) -> None:
    """Raise `ProgramError` for powers that may fail, and for float64 arithmetic in a float32 program."""
    line = inference.power_line()
    if line is not None:
        raise ProgramError(
            f"{place.line(line)} raises a float to an integer power that may be negative, which fails for 0"
            f"{quoted(place, line)}; write x ** float(i), or 1 / x ** i"
        )
    line = inference.float64_line() if real == np.float32 else None
    if line is not None:
        raise ProgramError(
            f"{place.line(line)} computes in float64, but the program is float32{quoted(place, line)}; write float(1), "
            "float(0.85) for constants and float(i) for integers (float is the program's float type here)"
        )


def quoted(place: Place, line: int) -> str:
    """The text of `line` for a message; empty if the source is not available."""
    text = linecache.getline(place.function.__code__.co_filename, line).strip()
    return f": {text!r}" if text else ""


def explain(bound: BoundProgram, error: Exception, arguments: dict[str, Any]) -> tuple[int | None, str]:
    """The line and the cause that Numba's `error` states, in the words of vertex programs."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    lines = re.findall(r"line (\d+)", text)
    line = getattr(getattr(error, "loc", None), "line", None) or (int(lines[-1]) if lines else None)
    if attribute := re.search(r"Unknown attribute '(\w+)' of type (.+)", text):
        is_self = attribute[2] == str(arguments.get("self"))
        return line, missing_parameter(bound, attribute[1]) if is_self else f"{attribute[2]} has no {attribute[1]!r}"
    if unknown := re.search(r"Untyped global name '(\w+)'.*<class '(.+)'>", text):
        return line, f"{unknown[1]} is a {unknown[2]}, which compiled code cannot use"
    if call := re.search(r">>> (.+)", text):
        return line, re.sub(r"Literal\[\w+\]\((.*?)\)", r"\1", f"{call[1]} is not possible")
    useful = [item for item in map(str.strip, text.splitlines()) if item and not item.startswith("Failed in")]
    return line, useful[0][:300] if useful else type(error).__name__


def missing_parameter(bound: BoundProgram, name: str) -> str:
    """Why ``self.name`` cannot be used."""
    names = bound.parameters.dtype.names or ()
    near = did_you_mean(f"self.{name}", [f"self.{known}" for known in names], f"it has {', '.join(names)}", MISSPELT)
    had = f"self has no numeric parameter {name!r}; {near}"
    value = getattr(bound.program, name, None)
    if hints(type(bound.program)).get(name) == PerVertex:
        return f"{name} has a number for each vertex; ask for it as an argument, not as self.{name}"
    if callable(value):
        return f"self.{name} is a method; call a function of the module instead"
    if value is None:
        return had
    if advice := untyped(type(bound.program), name):
        return advice
    vertex = f"; for a vertex, write {name}: gp.VertexId" if isinstance(value, str) else ""
    return f"{had} ({name} is {value!r}, a {type(value).__name__}){vertex}"


def mismatch(found: Any, wanted: DType | None) -> str | None:
    """Why what a function returns does not fit; None if it fits.

    Parameters
    ----------
    found : Numba type, list of Numba types, or `float`
        What the function returns. A list stands for a tuple, `float` for a constant, which has no precision of its own.
    wanted : dtype or None
        What it must return; None for a truth value.
    """
    from numba import types as nb

    if isinstance(found, (nb.NoneType, nb.Optional)):
        return "returns nothing on some path; return a value on every path"
    if isinstance(found, nb.BaseTuple):
        found = list(found)
    if wanted is None:
        if found is float or isinstance(found, (nb.Boolean, nb.Integer, nb.Float)):
            return None
        return f"returns {spell(found)}; allowed is a truth value"
    names = wanted.names or ("",)
    parts = found if isinstance(found, list) else [found]
    if isinstance(found, list) != bool(wanted.names) or len(parts) != len(names):
        allowed = f"a tuple ({', '.join(names)})" if wanted.names else f"{wanted}"
        return f"returns {spell(found)}; allowed is {allowed}"
    for name, part, dtype in zip(names, parts, scalars(wanted), strict=True):
        if not fits(part, dtype):
            return f"returns {spell(part)}{f' for {name}' * bool(name)}; allowed is {dtype}{hint(part, dtype)}"
    return None


def spell(found: Any) -> str:
    """The type `found`, as in `mismatch`, for a message."""
    if isinstance(found, list):
        return f"a tuple of {len(found)} ({', '.join(map(spell, found))})"
    return "a float" if found is float else re.sub(r"Literal\[(\w+)\]\(.*\)", r"\1", str(found))


def fits(found: Any, wanted: DType) -> bool:
    """Whether a number of type `found`, as in `mismatch`, may be returned as the scalar `wanted`."""
    from numba import types as nb

    if isinstance(found, (nb.Integer, nb.Boolean)):
        return True
    if found is float:
        return wanted.kind == "f"
    return isinstance(found, nb.Float) and wanted.kind == "f" and found.bitwidth <= wanted.itemsize * 8


def hint(found: Any, wanted: DType) -> str:
    """Advice for a number of type `found` where `wanted` is needed, for a message."""
    if wanted.kind in "iu" and "float" in str(found):
        return " (a division, or int64 mixed with uint64, makes float64; use // or int(...))"
    return " (float(x) converts to the program's float type)" if wanted.kind == "f" else ""
