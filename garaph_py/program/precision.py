"""No float64 in a float32 program: on a GPU it costs a factor of 32 to 64, and it creeps in through a bare 0.85.

Judged on the types that Numba inferred. A float64 constant may be converted, returned, or compared where float32 holds
it exactly, and values of several paths may meet: the compiler folds that. Everything else in float64 is computing.
"""

from __future__ import annotations

import operator
import types
from collections import Counter
from typing import Any

import numpy as np

COMPARISONS = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)


def float64_line(annotation: Any) -> int | None:
    """The first line of a compiled function, given by its Numba type annotation, that computes in float64."""
    from numba.core import ir

    statements = [statement for block in annotation.blocks.values() for statement in block.body]
    assignments = [statement for statement in statements if isinstance(statement, ir.Assign)]
    judge = _Judge(annotation.typemap, annotation.calltypes, constants(assignments))
    return min((item.loc.line for item in assignments if judge.computes(item.target.name, item.value)), default=None)


def constants(assignments: list[Any]) -> dict[str, Any]:
    """The variables that are constants known to the compiler, and what they are."""
    from numba.core import ir

    times = Counter(assignment.target.name for assignment in assignments)
    found: dict[str, Any] = {}
    for assignment in assignments:
        name, value = assignment.target.name, assignment.value
        if times[name] > 1:
            continue
        if isinstance(value, (ir.Const, ir.Global, ir.FreeVar)):
            found[name] = value.value
        elif isinstance(value, ir.Var) and value.name in found:
            found[name] = found[value.name]
        elif isinstance(value, ir.Expr) and value.op == "getattr":
            owner = found.get(value.value.name)
            if isinstance(owner, types.ModuleType) and hasattr(owner, value.attr):
                found[name] = getattr(owner, value.attr)
    return found


class _Judge:
    def __init__(self, typemap: Any, calltypes: Any, constants: dict[str, Any]) -> None:
        self.typemap, self.calltypes, self.constants = typemap, calltypes, constants

    def computes(self, target: str, value: Any) -> bool:
        """Whether ``target = value`` does."""
        from numba.core import ir

        if target in self.constants or not isinstance(value, (ir.Var, ir.Expr)):
            return False
        operands = [item.name for item in ([value] if isinstance(value, ir.Var) else value.list_vars())]
        wide = self.is_wide(target)
        if isinstance(value, ir.Var) or value.op in ("cast", "phi"):
            return wide and not all(self.is_wide(name) or self.is_float32(name, exactly=False) for name in operands)
        if value.op == "build_tuple" or (value.op == "call" and isinstance(self.constants.get(value.func.name), type)):
            return wide
        signature = self.calltypes.get(value)
        wide = wide or any(map(self.is_wide, operands)) or any(map(is_float64, signature.args if signature else ()))
        if value.op == "binop" and value.fn in COMPARISONS:
            return wide and not all(self.is_float32(name, exactly=True) for name in operands)
        return wide

    def is_wide(self, name: str) -> bool:
        return name in self.typemap and is_float64(self.typemap[name])

    def is_float32(self, name: str, *, exactly: bool) -> bool:
        """Whether a variable is a float32, or a constant that can be one."""
        from numba.core import types as numba_types

        constant = self.constants.get(name)
        if isinstance(constant, (int, float)):
            return not exactly or constant != constant or float(np.float32(constant)) == constant
        return bool(self.typemap[name] == numba_types.float32)


def is_float64(kind: Any) -> bool:
    from numba.core import types as numba_types

    return kind in (numba_types.float64, numba_types.complex64, numba_types.complex128)
