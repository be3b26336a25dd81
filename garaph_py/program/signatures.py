"""Which functions a vertex program has and what each may ask for; what no compiled function may contain."""

from __future__ import annotations

import dis
import inspect
import types
from typing import Any

from ..errors import ProgramError
from ..native.references import code_objects
from .vertex_program import VertexProgram

VERTEX = ("id", "n", "in_degree", "out_degree")
ARGUMENTS: dict[str, tuple[str, ...]] = {
    "init": VERTEX,
    "gather": ("src", "edge", "dst", "src_id"),
    "apply": ("old", "acc", "total", *VERTEX),
    "activate": ("new", "old"),
    "frontier": ("value", *VERTEX),
    "prepare": ("value", "active", *VERTEX),
    "aggregate": ("new", "old", *VERTEX),
    "done": ("acc", "old"),
    "result": ("value", *VERTEX),
}
REQUIRED = ("init", "gather", "apply")
TAKES_VERTEX_DATA = ("init", "apply", "frontier", "prepare", "aggregate", "result")

ALLOWED = (
    "allowed are arithmetic, comparisons, if, for and while over numbers, tuples, functions of math and numpy on "
    "numbers, other such functions, and numeric parameters of self"
)
FORBIDDEN = {
    "RAISE_VARARGS": "raise or assert", "BUILD_MAP": "a dict", "BUILD_CONST_KEY_MAP": "a dict", "BUILD_SET": "a set",
    "BUILD_LIST": "a list", "LIST_APPEND": "a list", "YIELD_VALUE": "yield", "GET_AWAITABLE": "await",
    "IMPORT_NAME": "an import", "MAKE_FUNCTION": "a function defined inside", "LOAD_BUILD_CLASS": "a class",
    "BUILD_STRING": "a string", "FORMAT_VALUE": "a string", "FORMAT_SIMPLE": "a string", "PUSH_EXC_INFO": "try",
    "SETUP_FINALLY": "try", "BEFORE_WITH": "with", "STORE_GLOBAL": "assignment to a global",
    "STORE_ATTR": "assignment to an attribute", "DELETE_ATTR": "del", "BUILD_SLICE": "a slice",
}  # fmt: skip


def where(kind: type[VertexProgram], function: types.FunctionType, line: int | None = None) -> str:
    """``Class.function (file, line)`` for messages."""
    code = function.__code__
    return f"{kind.__name__}.{function.__name__} ({code.co_filename}, line {line or code.co_firstlineno})"


def function_of(kind: type[VertexProgram], name: str) -> types.FunctionType | None:
    """The program's own function `name`, or None."""
    value = inspect.getattr_static(kind, name, None)
    if value is None:
        return None
    if isinstance(value, staticmethod) or not isinstance(value, types.FunctionType):
        raise ProgramError(f"{kind.__name__}.{name} must be a plain method, not {type(value).__name__}")
    return value


def check_functions(kind: type[VertexProgram], vertex_fields: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """The arguments of every function the program defines, by function.

    Raises
    ------
    ProgramError
        If one is missing, asks for something it cannot have, or contains what cannot be compiled.
    """
    found: dict[str, tuple[str, ...]] = {}
    for name, offered in ARGUMENTS.items():
        function = function_of(kind, name)
        if function is None:
            if name in REQUIRED:
                raise ProgramError(f"{kind.__name__} has no {name}(self, ...); every vertex program needs one")
            continue
        allowed = offered + (vertex_fields if name in TAKES_VERTEX_DATA else ())
        found[name] = check_signature(kind, function, allowed)
        check_body(kind, function)
    if "total" in found["apply"] and "aggregate" not in found:
        raise ProgramError(f"{kind.__name__}.apply asks for total, but there is no aggregate(self, ...) to make it")
    return found


def check_signature(
    kind: type[VertexProgram], function: types.FunctionType, allowed: tuple[str, ...]
) -> tuple[str, ...]:
    parameters = list(inspect.signature(function).parameters.values())
    if not parameters or parameters[0].name != "self":
        raise ProgramError(f"{where(kind, function)}: the first argument must be self")
    for parameter in parameters[1:]:
        if parameter.kind is not inspect.Parameter.POSITIONAL_OR_KEYWORD or parameter.default is not parameter.empty:
            raise ProgramError(f"{where(kind, function)}: {parameter} must be a plain argument without a default")
        if parameter.name not in allowed:
            raise ProgramError(f"{where(kind, function)} asks for {parameter.name!r}; allowed are {', '.join(allowed)}")
    return tuple(parameter.name for parameter in parameters[1:])


def check_body(kind: type[VertexProgram], function: types.FunctionType) -> None:
    """Refuse, by line, what the compiler would refuse with a riddle."""
    for code in code_objects(function.__code__):
        for instruction in dis.get_instructions(code):
            name: Any = FORBIDDEN.get(instruction.opname)
            if name:
                line = instruction.positions.lineno if instruction.positions else None
                raise ProgramError(f"{where(kind, function, line)} contains {name}; {ALLOWED}")
