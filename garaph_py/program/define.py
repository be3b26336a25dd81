"""Makes Python functions from text: those through which kernels call a program's functions."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np

from .dtypes import record_class, scalars

DType = np.dtype[Any]


def define(source: str, **names: Any) -> Any:
    """The function that the text `source` defines, with `names` as its globals."""
    namespace: dict[str, Any] = dict(names)
    exec(compile(source, f"<garaph_py.program.define: {source.split('(')[0]}>", "exec"), namespace)
    return next(value for key, value in namespace.items() if key not in names and isinstance(value, types.FunctionType))


def convert(body: str, dtype: DType, parts: list[str] | None = None, **names: Any) -> Any:
    """The function `body` with a return statement that converts its result to a number or named tuple of `dtype`.

    Its result is the local variable ``r``, or the expressions `parts`, one for each field.
    """
    casts = {f"cast{k}": item.type for k, item in enumerate(scalars(dtype))}
    if not dtype.names:
        return define(f"{body}\n    return cast0({parts[0] if parts else 'r'})", **names, **casts)
    fields = ", ".join(f"cast{k}({parts[k] if parts else f'r[{k}]'})" for k in range(len(casts)))
    return define(f"{body}\n    return Record({fields})", **names, **casts, Record=record_class(dtype.names))


def fieldwise(name: str, dtype: DType, operations: list[Callable[..., Any]]) -> Any:
    """A function ``name(a, b)`` that combines two values of type `dtype`, each field with its own operation."""
    named = {f"operation{k}": operation for k, operation in enumerate(operations)}
    sides = [(f"a[{k}]", f"b[{k}]") if dtype.names else ("a", "b") for k in range(len(operations))]
    parts = [f"operation{k}({left}, {right})" for k, (left, right) in enumerate(sides)]
    return convert(f"def {name}(a, b):", dtype, parts, **named)
