"""Reads from the types that Numba inferred where a function computes in float64, and what it returns."""

from __future__ import annotations

import math
import operator
import types
from collections import Counter
from typing import Any

import numpy as np

COMPARISONS = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)
POWERS = (operator.pow, operator.ipow, pow, math.pow)


class Inference:
    """The inferred types of one compiled function.

    Parameters
    ----------
    annotation : numba.core.typed_passes.type_annotations.TypeAnnotation
    """

    def __init__(self, annotation: Any) -> None:
        from numba.core import ir
        from numba.core import types as nb

        self.ir, self.nb = ir, nb
        self.typemap, self.calltypes = annotation.typemap, annotation.calltypes
        self.statements = [statement for block in annotation.blocks.values() for statement in block.body]
        self.assignments = [statement for statement in self.statements if isinstance(statement, ir.Assign)]
        self.constants = self._constants()

    def _constants(self) -> dict[str, Any]:
        """The values of the variables that are compile-time constants, by name."""
        times = Counter(assignment.target.name for assignment in self.assignments)
        found: dict[str, Any] = {}
        for assignment in self.assignments:
            name, value = assignment.target.name, assignment.value
            if times[name] > 1:
                continue
            if isinstance(value, (self.ir.Const, self.ir.Global, self.ir.FreeVar)):
                found[name] = value.value
            elif isinstance(value, self.ir.Var) and value.name in found:
                found[name] = found[value.name]
            elif isinstance(value, self.ir.Expr) and value.op == "getattr":
                owner = found.get(value.value.name)
                if isinstance(owner, types.ModuleType) and hasattr(owner, value.attr):
                    found[name] = getattr(owner, value.attr)
        return found

    def float64_line(self) -> int | None:
        """The first line that computes in float64; None if none does.

        A float64 constant does not count where it is only converted or returned, where it is compared and float32
        holds it exactly, or where several paths meet in one variable: there the compiler folds it to float32.
        """
        lines = [item.loc.line for item in self.assignments if self._computes(item.target.name, item.value)]
        return min(lines, default=None)

    def _computes(self, target: str, value: Any) -> bool:
        if target in self.constants or not isinstance(value, (self.ir.Var, self.ir.Expr)):
            return False
        operands = variables(value)
        wide = self._is_wide(target)
        if is_copy(value):
            return wide and not all(self._is_wide(name) or self._is_float32(name, exactly=False) for name in operands)
        if value.op == "build_tuple" or isinstance(self._callee(value), type):
            return wide
        signature = self.calltypes.get(value)
        wide = wide or any(map(self._is_wide, operands))
        wide = wide or (signature is not None and any(map(self._is_float64, signature.args)))
        if value.op == "binop" and value.fn in COMPARISONS:
            return wide and not all(self._is_float32(name, exactly=True) for name in operands)
        return wide

    def _callee(self, value: Any) -> Any:
        if value.op == "call":
            return self.constants.get(value.func.name)
        return value.fn if value.op in ("binop", "inplace_binop") else None

    def _is_float64(self, kind: Any) -> bool:
        return kind in (self.nb.float64, self.nb.complex64, self.nb.complex128)

    def _is_wide(self, name: str) -> bool:
        return self._is_float64(self.typemap.get(name))

    def _is_float32(self, name: str, *, exactly: bool) -> bool:
        """Whether a variable is a float32, or a constant that can be one, with `exactly` without rounding."""
        constant = self.constants.get(name)
        if isinstance(constant, (int, float)):
            return not exactly or constant != constant or float(np.float32(constant)) == constant
        return bool(self.typemap[name] == self.nb.float32)

    def power_line(self) -> int | None:
        """The first line that raises a float to an integer power that may be negative; None if none does.

        Numba's code for such a power raises an error if the float is 0.
        """
        lines = []
        for item in self.assignments:
            signature = self.calltypes.get(item.value) if isinstance(item.value, self.ir.Expr) else None
            if signature is None or self._callee(item.value) not in POWERS:
                continue
            exponent = self.constants.get(variables(item.value)[-1])
            if (
                isinstance(signature.args[0], self.nb.Float)
                and isinstance(signature.args[1], self.nb.Integer)
                and not (isinstance(exponent, int) and exponent >= 0)
            ):
                lines.append(item.loc.line)
        return min(lines, default=None)

    def returns(self) -> list[tuple[int, Any]]:
        """The line and the type of what each path returns: a Numba type, `float` for a constant, a list for a tuple.

        Numba's own return type is the union of all paths: float64 if one returns an integer and another a float32.
        It therefore does not tell what each path returns.
        """
        return [
            (statement.loc.line, kind)
            for statement in self.statements
            if isinstance(statement, self.ir.Return)
            for kind in self._kinds(statement.value.name, frozenset())
        ]

    def _kinds(self, name: str, seen: frozenset[str]) -> list[Any]:
        """The types of all values that may have been copied into the variable `name`, except through `seen`."""
        found: list[Any] = []
        for value in (item.value for item in self.assignments if item.target.name == name and name not in seen):
            if isinstance(value, self.ir.Var) or (isinstance(value, self.ir.Expr) and is_copy(value)):
                found += [kind for source in variables(value) for kind in self._kinds(source, seen | {name})]
            elif isinstance(value, self.ir.Expr) and value.op == "build_tuple":
                found.append([self._kind(item) for item in variables(value)])
            else:
                found.append(self._kind(name))
        return found

    def _kind(self, name: str) -> Any:
        return float if isinstance(self.constants.get(name), float) else self.typemap[name]


def variables(value: Any) -> list[str]:
    """The names of the variables in an expression, in order."""
    return [item.name for item in value.list_vars()] if hasattr(value, "op") else [value.name]


def is_copy(value: Any) -> bool:
    """Whether an expression only copies or converts a variable."""
    return not hasattr(value, "op") or value.op in ("cast", "phi")
