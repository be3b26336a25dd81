"""Checks a function's bytecode for what cannot be compiled, and names the line.

Numba would refuse the same functions, but with messages that do not help the author of a vertex program.
"""

from __future__ import annotations

import builtins
import dis
import types
from collections.abc import Collection, Iterator
from typing import Any

from ..errors import ProgramError
from ..native.references import closure_references, code_objects, is_known, plain

ALLOWED = (
    "allowed are arithmetic, comparisons, if, for and while over numbers, tuples, functions of math and numpy on "
    "numbers, other such functions, and numeric parameters of self"
)
BUILTINS = (
    "abs", "bool", "divmod", "enumerate", "float", "int", "len", "max", "min", "pow", "range", "round", "zip",
)  # fmt: skip
"""Python's built-in functions that compiled functions may call."""
FORBIDDEN = {
    "RAISE_VARARGS": "raise or assert", "BUILD_MAP": "a dict", "BUILD_CONST_KEY_MAP": "a dict", "BUILD_SET": "a set",
    "BUILD_LIST": "a list", "LIST_APPEND": "a list", "YIELD_VALUE": "yield", "RETURN_GENERATOR": "yield or await",
    "GET_AWAITABLE": "await", "IMPORT_NAME": "an import", "LOAD_BUILD_CLASS": "a class",
    "MAKE_FUNCTION": "a function or comprehension", "BUILD_STRING": "a string", "FORMAT_VALUE": "a string",
    "FORMAT_SIMPLE": "a string", "FORMAT_WITH_SPEC": "a string", "PUSH_EXC_INFO": "try", "BEFORE_WITH": "with",
    "STORE_GLOBAL": "assignment to a global", "DELETE_GLOBAL": "del", "STORE_DEREF": "assignment to an outer variable",
    "STORE_ATTR": "assignment to an attribute", "DELETE_ATTR": "del", "STORE_SUBSCR": "assignment to an element",
    "DELETE_SUBSCR": "del", "BUILD_SLICE": "a slice", "BINARY_SLICE": "a slice", "STORE_SLICE": "a slice",
}  # fmt: skip
"""Bytecode instructions that cannot be compiled, and what they do, for messages."""
CONSTANTS = {
    str: "a string (a vertex is a parameter, as in `source: gp.VertexId`)", bytes: "a string", frozenset: "a set",
    complex: "a complex number",
}  # fmt: skip
"""Types of constants that cannot be compiled, and what they are, for messages."""
LOADS = ("LOAD_CONST", "RETURN_CONST")
"""The instructions that use a constant."""
NAMES = ("LOAD_GLOBAL", "LOAD_NAME")
"""The instructions that use a global or a built-in function."""
SILENT = ("RESUME", "NOP", "CACHE", "EXTENDED_ARG")
"""The instructions that compute nothing."""
LOADS_ARGUMENT = ("LOAD_FAST", "LOAD_FAST_BORROW")
"""The instructions that use an argument; the second is Python's since 3.14."""
IMPORTS = {
    name: f"write {statement} at the top of the file"
    for name, statement in {"math": "import math", "np": "import numpy as np", "numpy": "import numpy"}.items()
}
"""Advice for names of modules that a program may use and that its file does not import."""
FOR_DEBUGGING = ("print", "breakpoint")
"""Built-in functions that programs may call in runs without the compiler."""


class Place:
    """A function of a program, or a helper that such a function calls, with the name that messages give it.

    Parameters
    ----------
    name : str
        ``Program.function``, or ``Program.function -> helper``.
    function : function
    parameters : collection of str
        The names that it can read from ``self``.
    """

    def __init__(self, name: str, function: types.FunctionType, parameters: Collection[str] = ()) -> None:
        self.name, self.function, self.parameters = name, function, parameters

    def line(self, number: int | None = None) -> str:
        """``Program.function (file, line)``."""
        code = self.function.__code__
        return f"{self.name} ({code.co_filename}, line {number or code.co_firstlineno})"

    def helper(self, function: types.FunctionType) -> Place:
        """A `function` that this one calls."""
        return Place(f"{self.name.partition(' -> ')[0]} -> {function.__name__}", function)


def check_body(place: Place, callers: tuple[types.FunctionType, ...] = ()) -> None:
    """Check the function `place`, and the functions that it calls, for what cannot be compiled.

    Parameters
    ----------
    place : Place
    callers : tuple of function
        The functions whose calls lead here.

    Raises
    ------
    ProgramError
        If there is something. The message names the line.
    """
    callers = (*callers, place.function)
    body = list(instructions(place.function))
    for line, item in body:
        if item.opname in NAMES and item.argval in FOR_DEBUGGING and item.argval not in place.function.__globals__:
            raise ProgramError(
                f"{place.line(line)} uses {item.argval}, which cannot be compiled; to print, run with debug=True "
                "(--debug)"
            )
    statements = [(line, FORBIDDEN.get(item.opname)) for line, item in body]
    constants = [(line, CONSTANTS.get(type(item.argval))) for line, item in body if item.opname in LOADS]
    for line, problem in statements + constants:
        if problem:
            raise ProgramError(f"{place.line(line)} contains {problem}; {ALLOWED}")
    for line, name, value in named_objects(place):
        inner = plain(value)
        if inner in callers:
            raise ProgramError(f"{place.line(line)} calls {name}, which leads back here; use a loop, not recursion")
        if inner is not None:
            check_body(place.helper(inner), callers)


def instructions(function: types.FunctionType) -> Iterator[tuple[int | None, dis.Instruction]]:
    """The bytecode of `function` and of functions defined in it: each instruction with its line."""
    for code in code_objects(function.__code__):
        line = None
        for instruction in dis.get_instructions(code):
            line = (instruction.positions and instruction.positions.lineno) or line
            yield line, instruction


def named_objects(place: Place) -> Iterator[tuple[int | None, str, Any]]:
    """Each instruction's line, with the name and the value of the object that it loads.

    The object may be a global, a closure variable or an attribute of a module; other instructions give None.
    """
    cells = closure_references(place.function)
    value: Any = None
    path = ""
    for line, instruction in instructions(place.function):
        name = instruction.argval
        if instruction.opname in ("LOAD_ATTR", "LOAD_METHOD") and isinstance(value, types.ModuleType):
            path = f"{path}.{name}"
            if not hasattr(value, name):
                raise ProgramError(f"{place.line(line)} uses {path}, which does not exist; {ALLOWED}")
            value = None if is_known(value) else getattr(value, name)
        elif instruction.opname in NAMES:
            path, value = name, global_named(place, name, line)
        elif instruction.opname == "LOAD_DEREF" and name in cells:
            path, value = name, cells[name]
        else:
            value = None
        yield line, path, value


def global_named(place: Place, name: str, line: int | None) -> Any:
    """The global or allowed built-in function `name`, which `line` uses."""
    if name in place.function.__globals__:
        return place.function.__globals__[name]
    if name not in vars(builtins):
        advice = f"did you mean self.{name}?" if name in place.parameters else IMPORTS.get(name, ALLOWED)
        raise ProgramError(f"{place.line(line)} uses {name!r}, which is not defined; {advice}")
    if name not in BUILTINS:
        raise ProgramError(f"{place.line(line)} uses {name}; {ALLOWED}; of Python's own {', '.join(BUILTINS)}")
    return getattr(builtins, name)


def returns_argument(function: types.FunctionType, name: str) -> bool:
    """Whether the function does nothing but return its argument `name`."""
    steps = [step for step in dis.get_instructions(function) if step.opname not in SILENT]
    if len(steps) != 2:
        return False
    load, end = steps
    return load.opname in LOADS_ARGUMENT and load.argval == name and end.opname == "RETURN_VALUE"
