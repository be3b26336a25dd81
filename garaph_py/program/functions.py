"""Wraps a bound program's functions in fixed signatures, against which all kernels are written.

A wrapper takes every argument that may be asked for, passes on those that the program's function asks for by name, and
converts what it returns. A function that the program does not define becomes a default that the compiler removes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .bind import BoundProgram
from .body import returns_argument
from .carry import IDENTITY, parent_in, value_in, with_parent
from .check import check_types
from .column_functions import column_functions
from .define import convert, define, fieldwise
from .dtypes import record_class, scalars
from .narrow import TOO_LARGE, TOO_SMALL, stored, widened
from .part import functions_on_part
from .real import with_real
from .signatures import offered

DType = np.dtype[Any]

VALUES = ("src", "dst", "old", "new", "value", "acc")
"""The arguments that are values or accumulators."""


@dataclass(frozen=True)
class Functions:
    """A bound program's functions with fixed signatures: plain Python functions of numbers and named tuples.

    The first eleven take the arguments that `offered` lists, and return a number or a named tuple of the type that the
    program states. The others are:

    ========================= ===============================================================
    ``sum(a, b)``             the sum of two accumulators
    ``identity(self)``        the identity of `sum`
    ``add_total(a, b)``       the sum of two of `aggregate`'s partial sums
    ``no_total()``            the partial sum of no vertices
    ``count(x)``              the number of vertices, or a degree, as the program sees it
    ``edge(x)``               a stored edge value as the program sees it
    ``is_lost(value)``        whether a value stands for a number that does not fit (`narrow`)
    ``of_source(value)``      what `send` computes from the value of a source alone
    ``send(self, source, edge, src_id)`` what a source contributes to the target of an edge
    ========================= ===============================================================

    `of_source` and `send` are `gather` in two parts, for kernels that visit the out-edges of a vertex; None if nothing
    can be computed beforehand.
    """

    init: Any
    gather: Any
    apply: Any
    activate: Any
    frontier: Any
    prepare: Any
    aggregate: Any
    done: Any
    priority: Any
    delta: Any
    result: Any
    sum: Any
    identity: Any
    add_total: Any
    no_total: Any
    count: Any
    edge: Any
    is_lost: Any
    of_source: Any
    send: Any


def functions(bound: BoundProgram) -> Functions:
    """The functions of `bound`, checked and wrapped.

    Raises
    ------
    ProgramError
        If a function cannot be compiled, or returns another type than the program states.
    """
    if bound.columns:
        made: Functions = column_functions(bound, functions(bound.columns[0]), partial_dtype(bound.total))
        return made
    if bound.original is not None:
        return (carrying_functions if bound.carries else narrowed_functions)(bound, functions(bound.original))
    check_types(bound)
    own = bound.functions
    partial = partial_dtype(bound.total)

    add = sum_function(bound)

    def call(name: str, returns: DType | None = None, default: str | None = None) -> Any:
        head = f"def {name}({', '.join(offered(name))}):"
        if name not in bound.arguments:
            return define(f"{head} return {default}", sum=add)
        asked = ", ".join(["self", *(f"data.{a}" if a in bound.vertex_fields else a for a in bound.arguments[name])])
        function = with_real(own[name], bound.real)
        if returns is None:
            return define(f"{head} return True if function({asked}) else False", function=function)
        return convert(f"{head}\n    r = function({asked})", returns, function=function)

    names = bound.accumulator.names
    made = Functions(
        init=call("init", bound.value),
        gather=call("gather", bound.accumulator),
        apply=call("apply", bound.value, default="sum(old, acc)"),
        activate=call("activate", default=differs(bound.value)),
        frontier=call("frontier", default="True"),
        prepare=call("prepare", bound.value, default="value"),
        aggregate=call("aggregate", partial, default="0"),
        done=call("done", default="False"),
        priority=call("priority", bound.value, default="value"),
        delta=call("delta", bound.accumulator, default="0"),
        result=call("result", bound.reports, default="value"),
        sum=add,
        identity=define(
            f"def identity(self): return Record({', '.join(f'self.identity_{name}' for name in names)})",
            Record=record_class(names),
        )
        if names
        else define("def identity(self): return self.identity"),
        add_total=fieldwise("add_total", partial, [define("def plus(a, b): return a + b")] * len(scalars(partial))),
        no_total=convert("def no_total():", partial, parts=["0"] * len(scalars(partial))),
        count=define("def count(x): return cast(x)", cast=bound.number.type),
        edge=edge_function(bound),
        is_lost=define("def is_lost(value): return False"),
        of_source=None,
        send=None,
    )  # fmt: skip
    if bound.place is not None:
        made = functions_on_part(bound, made)
    return made


def narrowed_functions(bound: BoundProgram, wide: Functions) -> Functions:
    """The functions of `bound`, which stores in 32 bits what the functions `wide` see as 64."""
    names, lost = {"widened": widened, "stored": stored}, f"value == {TOO_SMALL} or value == {TOO_LARGE}"
    kept = f"src if src == {TOO_SMALL} or src == {TOO_LARGE} else stored({{}})"
    made = {name: through(wide, name, "widened({})", "stored({})", names) for name in ("init", "priority")}
    if "priority" in bound.arguments and returns_argument(bound.functions["priority"], "value"):
        made["priority"] = define(f"def priority({', '.join(offered('priority'))}): return value")
    made["gather"] = through(wide, "gather", "widened({})", kept, names)
    return replace(
        wide,
        **made,
        **relaxing(bound),
        **{name: through(wide, name, "widened({})", "{}", names) for name in ("frontier", "done", "result")},
        identity=define("def identity(self): return stored(self.identity)", stored=stored),
        is_lost=define(f"def is_lost(value): return {lost}"),
        of_source=define(f"def of_source(value): return value, widened(value), {lost}", widened=widened),
        send=define(
            "def send(self, source, edge, src_id):\n"
            "    value, wide, is_lost = source\n"
            "    return value if is_lost else stored(gather(self, wide, edge, wide, src_id))",
            gather=wide.gather, stored=stored,
        ),
    )  # fmt: skip


def carrying_functions(bound: BoundProgram, plain: Functions) -> Functions:
    """The functions of `bound`, whose values carry parents, of which the functions `plain` know nothing."""
    names = {"value_in": value_in, "parent_in": parent_in, "with_parent": with_parent}
    return replace(
        plain,
        **relaxing(bound),
        **{name: through(plain, name, "value_in({})", "{}", names) for name in ("frontier", "done")},
        init=through(plain, "init", "{}", "with_parent({}, -1)", names),
        gather=through(plain, "gather", "value_in({})", "with_parent({}, src_id)", names),
        result=through(plain, "result", "value_in({})", "{}", names | {"parent": "parent_in(value)"}),
        identity=define(f"def identity(self): return {IDENTITY}"),
    )


def through(functions: Functions, name: str, given: str, made: str, names: dict[str, Any]) -> Any:
    """One of `functions` between conversions.

    Parameters
    ----------
    given : str
        What the function gets for an argument that is a value; ``{}`` stands for the argument.
    made : str
        What becomes of its result.
    names : dict
        What the conversions call; an entry that is text is what the function gets for the argument of that name.
    """
    texts = {key: text for key, text in names.items() if isinstance(text, str)}
    passed = [texts.get(item) or (given.format(item) if item in VALUES else item) for item in offered(name)]
    body = made.format(f"function({', '.join(passed)})")
    called = {key: item for key, item in names.items() if key not in texts}
    return define(f"def {name}({', '.join(offered(name))}): return {body}", function=getattr(functions, name), **called)


def relaxing(bound: BoundProgram) -> dict[str, Any]:
    """The functions of a relaxation that depend on its sum alone, for values as they are stored."""
    add = sum_function(bound)
    return {
        "sum": add,
        "apply": define(f"def apply({', '.join(offered('apply'))}): return sum(old, acc)", sum=add),
        "activate": define("def activate(self, new, old): return new != old"),
    }


def partial_dtype(total: DType | None) -> DType:
    """The type of partial sums of `aggregate`: 64-bit numbers, whatever the program's float type is."""
    wide = {"f": np.float64, "i": np.int64, "u": np.int64}
    if total is None:
        return np.dtype(np.int64)
    if not total.names:
        return np.dtype(wide[total.kind])
    return np.dtype([(name, wide[total[name].kind]) for name in total.names])


def differs(dtype: DType) -> str:
    """The expression that compares ``new`` and ``old``, two values of type `dtype`."""
    return " or ".join(f"new.{name} != old.{name}" for name in dtype.names) if dtype.names else "new != old"


def sum_function(bound: BoundProgram) -> Any:
    """The function ``sum(a, b)`` of two accumulators."""
    monoid = bound.program.sum
    if monoid.is_named:
        return fieldwise("sum", bound.accumulator, [monoid.function] * len(scalars(bound.accumulator)))
    function = with_real(bound.functions["sum"], bound.real)
    return convert("def sum(a, b):\n    r = function(a, b)", bound.accumulator, function=function)


def edge_function(bound: BoundProgram) -> Any:
    """The function ``edge(x)``: a stored edge value in the program's number type, or 1 if the graph has none."""
    number = bound.number.type
    if bound.edge is None:
        return define("def edge(x): return number(1)", number=number)
    if not bound.reads_edge_values:
        return define("def edge(x): return 0")
    return define("def edge(x): return number(x)", number=number)
