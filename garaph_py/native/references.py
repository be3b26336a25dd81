"""What a function's machine code depends on: the objects its body names, found without importing Numba.

Numba freezes globals and closure variables when it compiles, so they belong in the key under which compiled code is
kept: a constant edited in the user's module must never meet yesterday's code.
"""

from __future__ import annotations

import hashlib
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np


def code_objects(code: types.CodeType) -> Iterator[types.CodeType]:
    """`code` and every code object nested in it (comprehensions, inner functions)."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from code_objects(constant)


def global_references(function: types.FunctionType) -> dict[str, Any]:
    """Globals that `function` names, by name."""
    names = {name for code in code_objects(function.__code__) for name in code.co_names}
    return {name: function.__globals__[name] for name in sorted(names) if name in function.__globals__}


def closure_references(function: types.FunctionType) -> dict[str, Any]:
    """Closure variables of `function`, by name."""
    cells = function.__closure__ or ()
    return dict(zip(function.__code__.co_freevars, (cell.cell_contents for cell in cells), strict=True))


def rebuild(
    function: types.FunctionType, replace: Callable[[Any], Any], more_globals: dict[str, Any] | None = None
) -> types.FunctionType:
    """A copy of `function` that refers to ``replace(x)`` wherever the original refers to a global or closure x."""
    names = function.__globals__ | (more_globals or {})
    names |= {name: replace(value) for name, value in global_references(function).items()}
    cells = tuple(types.CellType(replace(value)) for value in closure_references(function).values())
    copy = types.FunctionType(function.__code__, names, function.__name__, function.__defaults__, cells or None)
    copy.__module__, copy.__qualname__ = function.__module__, function.__qualname__
    return copy


def fingerprint(*objects: Any) -> str:
    """A hash of `objects` and, for functions, of their bytecode and of everything that bytecode refers to."""
    digest = hashlib.blake2b(digest_size=16)
    seen: dict[int, int] = {}

    def add(*parts: object) -> None:
        for part in parts:
            data = part if isinstance(part, bytes) else str(part).encode()
            digest.update(b"%d:" % len(data) + data)

    def visit(value: Any) -> None:
        function = getattr(value, "py_func", value)  # a Numba dispatcher stands for its Python function
        if isinstance(function, types.FunctionType):
            if id(function) in seen:
                add("seen", seen[id(function)])
                return
            seen[id(function)] = len(seen)
            add("function", function.__name__)
            visit_code(function.__code__)
            visit(function.__defaults__)
            attributes = {name for code in code_objects(function.__code__) for name in code.co_names}
            for name, target in (global_references(function) | closure_references(function)).items():
                add(name)
                if isinstance(target, types.ModuleType):
                    visit_module(target, attributes)
                else:
                    visit(target)
        elif isinstance(value, types.CodeType):
            visit_code(value)
        elif isinstance(value, types.ModuleType):
            add("module", value.__name__)
        elif isinstance(value, type):
            add("class", value.__module__, value.__qualname__, getattr(value, "_fields", ()))
        elif isinstance(value, np.ndarray):
            add("array", value.dtype, value.shape, value.tobytes())
        elif isinstance(value, (tuple, list, frozenset)):
            add(type(value).__name__, len(value))
            for item in sorted(value, key=repr) if isinstance(value, frozenset) else value:
                visit(item)
        elif isinstance(value, dict):
            add("dict", len(value))
            for key, item in value.items():
                visit(key)
                visit(item)
        else:
            add(type(value).__name__, repr(value))

    def visit_code(code: types.CodeType) -> None:
        add("code", code.co_code, code.co_names, code.co_varnames, code.co_argcount, code.co_exceptiontable)
        for constant in code.co_consts:
            visit(constant)

    def visit_module(module: types.ModuleType, attributes: set[str]) -> None:
        add("module", module.__name__)
        if module.__name__.split(".")[0] in ("numpy", "math", "cmath", "operator", "builtins"):
            return  # known by their versions, which the cache key holds
        for name in sorted(attributes):
            if hasattr(module, name):
                add(name)
                visit(getattr(module, name))

    for item in objects:
        visit(item)
    return digest.hexdigest()
