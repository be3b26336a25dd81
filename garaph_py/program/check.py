"""What Numba thinks of a program's functions, said in the program's terms: function, line, what is allowed.

Runs only when something has to be compiled; a program found on disk has passed before.
"""

from __future__ import annotations

import linecache
import re
from typing import Any

import numpy as np

from ..errors import ProgramError
from .bind import BoundProgram, record_class, scalars
from .real import with_real
from .signatures import ALLOWED, where

DType = np.dtype[Any]


def check_types(bound: BoundProgram) -> None:
    """Type every function of `bound` and its sum.

    Raises
    ------
    ProgramError
        If one does not compile, returns the wrong type, or computes in float64 where the program is float32.
    """
    kind = type(bound.program)
    given = argument_types(bound)
    for name, asked in bound.arguments.items():
        function = getattr(kind, name)
        check_function(bound, function, [given["self"], *(given[a] for a in asked)], expected(bound, name))
    monoid = bound.program.sum
    if not monoid.name:
        check_function(bound, monoid.function, [given["acc"], given["acc"]], bound.accumulator)


def expected(bound: BoundProgram, name: str) -> DType | None:
    """The dtype `name` returns; None for a truth value."""
    return {
        "init": bound.value,
        "gather": bound.accumulator,
        "apply": bound.value,
        "prepare": bound.value,
        "aggregate": bound.total,
        "result": bound.reports,
    }.get(name)


def argument_types(bound: BoundProgram) -> dict[str, Any]:
    """The Numba type of everything a function can ask for."""
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
    types = {
        "self": of(bound.parameters.dtype), "id": integer, "src_id": integer, "n": count, "in_degree": count,
        "out_degree": count, "edge": count, "src": value, "dst": value, "old": value, "new": value, "value": value,
        "acc": accumulator, "active": numba.types.boolean,
    }  # fmt: skip
    if bound.total is not None:
        types["total"] = of(bound.total)
    return types | dict.fromkeys(bound.vertex_fields, count)


def check_function(bound: BoundProgram, function: Any, arguments: list[Any], returns: DType | None) -> None:
    import warnings

    from numba.core.errors import NumbaError

    from ..native.compiler import jit

    kind = type(bound.program)
    compiled = jit(with_real(function, bound.real))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compiled.compile(tuple(arguments))
    except NumbaError as error:
        line, problem = explain(str(error))
        raise ProgramError(f"{where(kind, function, line)} cannot be compiled: {problem}; {ALLOWED}") from None
    outcome = compiled.overloads[tuple(arguments)]
    if bound.real == np.float32:
        refuse_float64(kind, function, outcome)
    problem = mismatch(outcome.signature.return_type, returns)
    if problem:
        raise ProgramError(f"{where(kind, function)} {problem}")


def explain(message: str) -> tuple[int | None, str]:
    """Line and cause out of Numba's report."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", message)
    lines = re.findall(r"line (\d+)", text)
    attribute = re.search(r"Unknown attribute '(\w+)' of type (\w+)\(?([^)]*)", text)
    if attribute:
        return int(lines[-1]) if lines else None, f"there is no {attribute[1]!r} here"
    useful = [
        line.strip() for line in text.splitlines()
        if line.strip() and not re.match(r"(Failed in|During:|File |- |\^|Enable|There are|<source|>>>|$)", line.strip())
    ]  # fmt: skip
    return int(lines[-1]) if lines else None, " ".join(useful[:3])[:300]


def refuse_float64(kind: Any, function: Any, outcome: Any) -> None:
    """In a float32 program nothing but constants may be float64: on a GPU it costs a factor of 32 to 64."""
    from numba import types
    from numba.core import ir

    wide = (types.float64, types.complex64, types.complex128)
    annotation = outcome.type_annotation
    for block in annotation.blocks.values():
        for statement in block.body:
            if not isinstance(statement, ir.Assign) or isinstance(statement.value, (ir.Const, ir.Arg)):
                continue
            if annotation.typemap.get(statement.target.name) in wide and not is_constant(annotation, statement.value):
                line = statement.loc.line
                text = linecache.getline(function.__code__.co_filename, line).strip()
                raise ProgramError(
                    f"{where(kind, function, line)} computes in float64, but the program is float32: {text!r}; write "
                    "float(1) for a constant 1 (float means the program's float type here), or make it a parameter"
                )


def is_constant(annotation: Any, value: Any) -> bool:
    """Whether `value` is a copy of a constant, which the compiler folds into the conversion that follows."""
    from numba.core import ir

    if not isinstance(value, ir.Var):
        return isinstance(value, (ir.Global, ir.FreeVar))
    assigned = [
        statement.value
        for block in annotation.blocks.values()
        for statement in block.body
        if isinstance(statement, ir.Assign) and statement.target.name == value.name
    ]
    return bool(assigned) and all(isinstance(item, (ir.Const, ir.Global, ir.FreeVar)) for item in assigned)


def mismatch(found: Any, wanted: DType | None) -> str | None:
    """Why a function that returns the Numba type `found` cannot stand for one that returns `wanted`."""
    from numba import types

    if isinstance(found, (types.NoneType, types.Optional)):
        return "returns nothing on some path; return a value on every path"
    if wanted is None:
        if isinstance(found, (types.Boolean, types.Integer, types.Float)):
            return None
        return f"returns {found}; allowed is a truth value"
    if not wanted.names:
        return None if fits(found, wanted) else f"returns {found}; allowed is {wanted}{hint(found, wanted)}"
    parts = list(found) if isinstance(found, types.BaseTuple) else None
    if parts is None or len(parts) != len(wanted.names):
        return f"returns {found}; allowed is a tuple ({', '.join(wanted.names)})"
    for name, part, dtype in zip(wanted.names, parts, scalars(wanted), strict=True):
        if not fits(part, dtype):
            return f"returns {part} for field {name!r}; allowed is {dtype}{hint(part, dtype)}"
    return None


def fits(found: Any, wanted: DType) -> bool:
    from numba import types

    if isinstance(found, (types.Integer, types.Boolean)):
        return True
    return isinstance(found, types.Float) and wanted.kind == "f" and found.bitwidth <= wanted.itemsize * 8


def hint(found: Any, wanted: DType) -> str:
    if wanted.kind in "iu" and str(found).startswith("float"):
        return " (a division, or int64 mixed with uint64, makes float64; use // or int(...))"
    return " (float(x) converts to the program's float type)" if wanted.kind == "f" else ""
