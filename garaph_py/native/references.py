"""What a function's machine code depends on: the objects its body names, found without importing Numba.

Numba freezes globals and closure variables when it compiles, so they belong in the key under which compiled code is
kept: a constant edited in the user's module must never meet yesterday's code.
"""

from __future__ import annotations

import enum
import hashlib
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

KNOWN = ("numpy", "math", "cmath", "operator", "builtins")
"""Modules whose contents follow from their versions, which the cache key holds."""


def plain(value: Any) -> types.FunctionType | None:
    """`value` as a plain Python function: a Numba dispatcher stands for the one it was made from."""
    function = value if isinstance(value, types.FunctionType) else getattr(value, "py_func", None)
    return function if isinstance(function, types.FunctionType) else None


def is_known(module: types.ModuleType) -> bool:
    return module.__name__.split(".")[0] in KNOWN


def code_objects(code: types.CodeType) -> Iterator[types.CodeType]:
    """`code` and every code object nested in it (comprehensions, inner functions)."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from code_objects(constant)


def names_in(function: types.FunctionType) -> list[str]:
    """Names of globals and attributes in the body of `function`."""
    return sorted({name for code in code_objects(function.__code__) for name in code.co_names})


def global_references(function: types.FunctionType) -> dict[str, Any]:
    """Globals that `function` names, by name."""
    return {name: function.__globals__[name] for name in names_in(function) if name in function.__globals__}


def closure_references(function: types.FunctionType) -> dict[str, Any]:
    """Closure variables of `function`, by name."""
    cells = function.__closure__ or ()
    return dict(zip(function.__code__.co_freevars, (cell.cell_contents for cell in cells), strict=True))


def rebuild(
    function: types.FunctionType,
    finish: Callable[[types.FunctionType], Any] = lambda copy: copy,
    more_globals: Mapping[str, Any] | None = None,
    memo: dict[Any, Any] | None = None,
) -> Any:
    """A copy of `function` that refers to copies of the functions it names, in its module or as ``module.name``.

    Parameters
    ----------
    finish : callable
        Makes of each copy what stands for it.
    more_globals : dict, optional
        Further global names, where a function's module does not have them.
    memo : dict, optional
        What stands for functions known before; each copied function is added.
    """
    memo = {} if memo is None else memo
    if function in memo:
        return memo[function]
    names = {**(more_globals or {}), **function.__globals__}
    cells = tuple(types.CellType() for _ in function.__code__.co_freevars)
    copy = types.FunctionType(function.__code__, names, function.__name__, function.__defaults__, cells)
    copy.__kwdefaults__, copy.__module__, copy.__qualname__ = (
        function.__kwdefaults__, function.__module__, function.__qualname__,
    )  # fmt: skip
    memo[function] = finish(copy)  # before its references are followed: they may lead back here
    modules: dict[str, types.ModuleType] = {}

    def stand_in(value: Any) -> Any:
        if isinstance(value, types.ModuleType):
            return value if is_known(value) else part_of(value)
        inner = plain(value)
        return value if inner is None else rebuild(inner, finish, more_globals, memo)

    def part_of(module: types.ModuleType) -> types.ModuleType:
        if module.__name__ not in modules:
            modules[module.__name__] = part = types.ModuleType(module.__name__)
            for name in names_in(function):
                if name in vars(module):
                    setattr(part, name, stand_in(vars(module)[name]))
        return modules[module.__name__]

    names.update({name: stand_in(value) for name, value in global_references(function).items()})
    for cell, value in zip(cells, closure_references(function).values(), strict=True):
        cell.cell_contents = stand_in(value)
    return memo[function]


def fingerprint(*objects: Any) -> str:
    """A hash of `objects` and, for functions, of their bytecode and of everything that bytecode refers to.

    It is the same in every process: no addresses, no set order.
    """
    digest = hashlib.blake2b(digest_size=16)
    seen: dict[int, int] = {}

    def add(*parts: object) -> None:
        for part in parts:
            data = part if isinstance(part, bytes) else str(part).encode()
            digest.update(b"%d:" % len(data) + data)

    def visit(value: Any) -> None:
        function = plain(value)
        if function is not None:
            visit_function(function)
        elif isinstance(value, types.CodeType):
            visit_code(value)
        elif isinstance(value, types.ModuleType):
            add("module", value.__name__)
        elif isinstance(value, type):
            add("class", value.__module__, value.__qualname__, getattr(value, "_fields", ()))
            if issubclass(value, enum.Enum):
                visit({name: member.value for name, member in value.__members__.items()})
        elif isinstance(value, np.ndarray):
            add("array", value.dtype, value.shape, value.strides, value.tobytes())
        elif isinstance(value, (tuple, list)):
            add("sequence", len(value))
            visit(type(value))  # the fields of a named tuple
            for item in value:
                visit(item)
        elif isinstance(value, (set, frozenset)):
            add(type(value).__name__, *sorted(fingerprint(item) for item in value))
        elif isinstance(value, dict):
            add("dict", len(value))
            for key, item in value.items():
                visit(key)
                visit(item)
        else:
            says = repr(value)
            add(type(value).__qualname__, "" if says == object.__repr__(value) else says)

    def visit_function(function: types.FunctionType) -> None:
        if id(function) in seen:
            add("seen", seen[id(function)])
            return
        seen[id(function)] = len(seen)
        add("function", function.__name__)
        visit_code(function.__code__)
        visit(function.__defaults__)
        visit(function.__kwdefaults__)
        attributes = names_in(function)
        for name, target in (global_references(function) | closure_references(function)).items():
            add(name)
            if isinstance(target, types.ModuleType):
                visit_module(target, attributes, set())
            else:
                visit(target)

    def visit_code(code: types.CodeType) -> None:
        add("code", code.co_code, code.co_names, code.co_varnames, code.co_argcount, code.co_kwonlyargcount)
        add(code.co_flags, code.co_exceptiontable)
        for constant in code.co_consts:
            visit(constant)

    def visit_module(module: types.ModuleType, attributes: list[str], on_the_way: set[str]) -> None:
        add("module", module.__name__)
        if is_known(module) or module.__name__ in on_the_way:
            return
        for name in attributes:
            if name in vars(module):
                add(name)
                target = vars(module)[name]
                if isinstance(target, types.ModuleType):
                    visit_module(target, attributes, on_the_way | {module.__name__})
                else:
                    visit(target)

    for item in objects:
        visit(item)
    return digest.hexdigest()
