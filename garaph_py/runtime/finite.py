"""`FiniteCheck`: ends a run whose numbers have become NaN, or infinite where none was infinite before."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import NumberError, printable
from ..executor.partials import is_finite
from ..executor.state import State
from ..graph import VertexIds
from ..native.threads import ThreadPool, split
from ..program import BoundProgram
from ..program.columns import column_names
from .options import FINITE, OFF

Array = npt.NDArray[Any]
Test = Callable[[Any], Any]

TESTS: dict[str, Test] = {"nan": np.isnan, "inf": np.isinf}
"""What numbers are wrong, unless a program means them."""
DEBUG = "on a small graph, debug=True (--debug) finds the operation"
"""Advice for messages."""
SHOWN = 120
"""The most characters of a program in a message: those of a line."""
PIECE = 1 << 16
"""Values that are looked at together: at most 512 KiB, which stay in a core's second-level cache."""
SHARE = 1 << 20
"""Values for which another thread is worth waking: one thread takes 0.2 ms for them."""


class FiniteCheck:
    """The check of one run.

    A program may mean a NaN or an infinity. So a field of the values, or of the total, may have NaN if it has some at
    the start; and it may be infinite if it is so somewhere at the start, or if the identity of `sum` is infinite.

    Parameters
    ----------
    bound : BoundProgram
    ids : VertexIds
        The user's ids, for messages.
    when : {"auto", "finite", "off"}
        See `Options.check`.
    pool : ThreadPool
        It may be replaced by another one.
    out : BoundProgram, optional
        What the program is over out-edges, if it gathers over both directions apart.
    """

    _always: frozenset[str] = frozenset()

    def __init__(
        self, bound: BoundProgram, ids: VertexIds, when: str, pool: ThreadPool, out: BoundProgram | None = None
    ) -> None:
        self._bound, self._ids, self.pool, self._out = bound, ids, pool, out
        self._when = when if bound.real is not None or bound.total is not None else OFF  # integers are finite
        self._meant: dict[str, set[str]] = {}

    def begin(self, state: State) -> None:
        """Note which numbers of the initial `state` are not finite."""
        if self._when == OFF:
            return
        self._always = meant_everywhere(self._bound)
        if self._out is not None:
            self._always |= meant_everywhere(self._out)
        parts = list(columns("total", state.total))
        if state.scan is None or state.is_on_host("values"):
            parts += self._suspects("value", state.values)
        else:
            for field, kind in state.scan():
                self._meant.setdefault(named("value", field), set()).add(kind)
        for name, column in parts:
            if self._first(column, TESTS) is not None:
                self._meant[name] = {kind for kind in TESTS if self._first(column, [kind]) is not None}

    def after(self, state: State, iterations: int) -> None:
        """Check what is to be checked when so many `iterations` are done.

        Raises
        ------
        NumberError
            If a number is wrong. The message names the vertex and the iteration.
        """
        if self._when == OFF or (self._when != FINITE and is_finite(state.total)):
            return
        total = self._problem("total", state.total)
        if total or self._when == FINITE:
            problem = self._problem_of_values(state) or total
            if problem:
                raise NumberError(
                    f"{self._bound.name}: {problem} after iteration {iterations - 1}, but not at the start; {DEBUG}"
                )

    def end(self, state: State, iterations: int) -> None:
        """Check the values, which will be saved or reported, when so many `iterations` are done.

        Raises
        ------
        NumberError
            If a number is wrong. The message names the vertex.
        """
        if self._when != OFF and (problem := self._problem_of_values(state)):
            raise NumberError(
                f"{self._bound.name}: {problem} after {iterations} iterations, but not at the start; "
                "if it grows without end, the parameters are wrong; otherwise "
                f"gp.Options(check='finite') (--check finite) finds the iteration; {DEBUG}"
            )

    def allows(self, values: Array) -> bool:
        """Whether all numbers in the values of some vertices are finite, or meant. Any thread may call this."""
        parts = columns("value", values) if self._when != OFF else ()
        return all(first(column, [TESTS[kind] for kind in TESTS.keys() - self._meant_in(name)]) is None
                   for name, column in parts)  # fmt: skip

    def _problem_of_values(self, state: State) -> str | None:
        """Like `_problem`, of the values. If only a device has them, it looks, and the host only if it finds one."""
        if state.scan is None or state.is_on_host("values"):
            return self._problem("value", state.values)
        is_meant = all(kind in self._meant_in(named("value", field)) for field, kind in state.scan())
        return None if is_meant else self._problem("value", state.values)

    def _meant_in(self, name: str) -> frozenset[str]:
        """What kinds of numbers the column `name` may have."""
        return self._always | self._meant.get(name, set())

    def _problem(self, what: str, array: Array | None) -> str | None:
        """Which number of the values or of the total is wrong, for a message; None if all are right."""
        for name, column in self._suspects(what, array):
            at = self._first(column, TESTS.keys() - self._meant_in(name))
            if at is not None:
                of = "" if what == "total" else f" of vertex {self._ids.take(np.array([at]))[0]}"
                own, run = self._own(what, name)
                return f"the {own}{of}{run} is {column[at]}"
        return None

    def _suspects(self, what: str, array: Array | None) -> Iterator[tuple[str, Array]]:
        """`columns`, or none of them if one pass over the array finds all numbers finite."""
        flat = None if array is None else flattened(array)
        if flat is None or self._first(flat, TESTS) is not None:
            yield from columns(what, array)

    def _own(self, what: str, name: str) -> tuple[str, str]:
        """What the column `name` is called in its own program, and which one that is, if several run as one."""
        for c, program in enumerate(self._bound.columns):
            dtype = program.value if what == "value" else program.total
            if dtype is None:
                continue
            for own, joined in zip(dtype.names or ("",), column_names(dtype, c), strict=True):
                if name == named(what, joined):
                    return named(what, own), f" in the run of {shortened(program)}"
        return name, ""

    def _first(self, column: Array, kinds: Iterable[str]) -> int | None:
        """Like `first`, for the tests of these `kinds`, in parallel if there are many values."""
        tests = [TESTS[kind] for kind in kinds]
        bounds = split(len(column), min(self.pool.size, 1 + len(column) // SHARE))
        found = self.pool.run(first, [(column[begin:end], tests) for begin, end in pairwise(bounds)])
        return next((begin + at for begin, at in zip(bounds, found, strict=False) if at is not None), None)


def meant_everywhere(bound: BoundProgram) -> frozenset[str]:
    """What kinds of numbers every column may have: infinities, if the identity of `sum` is infinite."""
    identity = bound.identity()
    may_be_infinite = any(map(math.isinf, identity if isinstance(identity, tuple) else (identity,)))
    return frozenset(["inf"] if may_be_infinite else [])


def shortened(bound: BoundProgram) -> str:
    """The program and its parameters, as far as a message has room for them."""
    text = printable(repr(bound.program))
    return text if len(text) <= SHOWN else text[: SHOWN - 4] + " ..."


def columns(name: str, array: Array | None) -> Iterator[tuple[str, Array]]:
    """The floats in an array of numbers or structures, by name: ``name``, or ``name.field`` for each field."""
    if array is not None:
        fields = array.dtype.names
        parts = {named(name, field): array[field] for field in fields} if fields else {name: array}
        yield from ((key, column) for key, column in parts.items() if column.dtype.kind == "f")


def flattened(array: Array) -> Array | None:
    """The numbers of an array of structures as one column, if all are floats of one type, without gaps."""
    names = array.dtype.names or ()
    kinds = {array.dtype[name] for name in names}
    kind = kinds.pop() if len(kinds) == 1 else None
    if kind is None or kind.kind != "f" or len(names) * kind.itemsize != array.itemsize:
        return None
    return array.view(kind) if array.flags.c_contiguous else None


def named(name: str, field: str) -> str:
    """The name of a field's column; `field` is ``""`` if the array has no fields."""
    return f"{name}.{field}" if field else name


def first(column: Array, tests: list[Test]) -> int | None:
    """The index of the first number that passes one of `tests`; None if there is none."""
    for begin in range(0, len(column) if tests else 0, PIECE):
        piece = column[begin : begin + PIECE]
        if not np.isfinite(piece).all():
            passes = np.logical_or.reduce([test(piece) for test in tests])
            if passes.any():
                return begin + int(passes.argmax())
    return None
