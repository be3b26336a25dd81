"""Which functions a vertex program may define, what each may ask for, and which names its parameters may have."""

from __future__ import annotations

import dataclasses
import inspect
import types

from ..errors import ProgramError, did_you_mean
from ..native.references import plain
from .body import Place, check_body
from .monoids import Monoid, add
from .vertex_program import VertexProgram

VERTEX = ("id", "n", "in_degree", "out_degree")
"""The arguments that describe a vertex."""
ARGUMENTS: dict[str, tuple[str, ...]] = {
    "init": VERTEX,
    "gather": ("src", "edge", "dst", "src_id"),
    "apply": ("old", "acc", "total", *VERTEX),
    "activate": ("new", "old"),
    "frontier": ("value", *VERTEX),
    "prepare": ("value", "active", *VERTEX),
    "aggregate": ("new", "old", *VERTEX),
    "done": ("acc", "old"),
    "priority": ("value",),
    "delta": ("new", "old", "edge", "src_id"),
    "result": ("value", *VERTEX, "parent"),
}
"""The arguments that each function may ask for, by the function's name; see `VertexProgram` for what they are."""
GATHER_OUT = "gather_out"
"""The function that gathers over out-edges, in a program that gathers over in-edges too. It may ask for what `gather`
may, and returns something from which `apply` gets `ACC_OUT`. No kernel knows of it (`program.directions`)."""
ACC_OUT = "acc_out"
"""The argument of `apply` that is the sum of what `GATHER_OUT` returns."""
ONE_WAY = ("done", "delta", "priority", "prepare", "monotone", "by_levels")
"""What a program with `GATHER_OUT` cannot have: it is about pushes, or pulls that end early, in one direction."""
CONVERGED = ("total", "n")
"""The arguments of `converged`, which gets both in this order."""
REQUIRED = ("init", "gather")
"""The functions that every program must define."""
TAKES_VERTEX_DATA = ("init", "apply", "frontier", "prepare", "aggregate", "result")
"""The functions that may also ask for `PerVertex` parameters."""
RESERVED = (
    *ARGUMENTS, "value", "accumulator", "sum", "gathers", "total", "reports", "identity", "converged", "for_graph",
    "check_graph", "verify", "monotone", "by_levels", "unreached", GATHER_OUT, "sum_out", "accumulator_out",
)  # fmt: skip
"""Names with a meaning of their own, which parameters cannot have."""
METHODS = (
    *ARGUMENTS, GATHER_OUT, "value", "accumulator", "accumulator_out", "converged", "for_graph", "check_graph",
    "verify",
)  # fmt: skip
"""Those of them that may be functions."""
MISSPELT = 0.8
"""How similar (`difflib`'s ratio, from 0 to 1) an attribute's name must be to one of `RESERVED` to be taken for a
misspelt one: ``summ`` and ``sum`` have 0.86, ``limit`` and ``init`` only 0.67."""


def offered(name: str) -> tuple[str, ...]:
    """The arguments of the wrapper of the function `name`, in order.

    ``data`` is the structure of the vertex's `PerVertex` parameters.
    """
    return ("self", *ARGUMENTS[name], *(("data",) if name in TAKES_VERTEX_DATA else ()))


def function_of(kind: type[VertexProgram], name: str) -> types.FunctionType | None:
    """The function `name` that the program defines, or None."""
    value = inspect.getattr_static(kind, name, None)
    if value is None:
        return None
    if isinstance(value, staticmethod) or not isinstance(value, types.FunctionType):
        raise ProgramError(f"{kind.__name__}.{name} must be a plain method, not {type(value).__name__}")
    return value


def check_functions(
    kind: type[VertexProgram], vertex_fields: tuple[str, ...], compiled: bool = True
) -> dict[str, tuple[str, ...]]:
    """Check the functions of a program; return the arguments that each one asks for, by its name.

    What cannot be compiled is allowed unless they are to be `compiled`.

    Raises
    ------
    ProgramError
        If a function is missing, asks for an argument that it cannot have, or contains what cannot be compiled.
    """
    check_names(kind, vertex_fields)
    check_attributes(kind)
    check_sum(kind, compiled)
    found: dict[str, tuple[str, ...]] = {}
    parameters = {field.name for field in dataclasses.fields(kind)} - {*vertex_fields}  # type: ignore[arg-type]
    for name, offered in ARGUMENTS.items():
        function = function_of(kind, name)
        if function is None or (name == "delta" and is_outdated(kind)):
            if name in REQUIRED:
                raise ProgramError(f"{kind.__name__} has no {name}(self, ...); every vertex program needs one")
            continue
        place = Place(f"{kind.__name__}.{name}", function, parameters)
        more = (ACC_OUT,) if name == "apply" and function_of(kind, GATHER_OUT) is not None else ()
        found[name] = check_signature(place, offered + more + (vertex_fields if name in TAKES_VERTEX_DATA else ()))
        if compiled:
            check_body(place)
    check_out(kind, found, compiled)
    check_hidden(kind, found)
    check_delta(kind, found)
    if "total" in found.get("apply", ()) and "aggregate" not in found:
        raise ProgramError(f"{kind.__name__}.apply asks for total, but there is no aggregate(self, ...) to make it")
    if kind.reports is not None and "result" not in found:
        raise ProgramError(f"{kind.__name__}.reports is set, but there is no result(self, ...) to make it")
    check_converged(kind, "aggregate" in found)
    return found


def check_out(kind: type[VertexProgram], found: dict[str, tuple[str, ...]], compiled: bool) -> None:
    """Check `gather_out` and what belongs to it, and add what it asks for to `found`.

    Raises
    ------
    ProgramError
    """
    function = function_of(kind, GATHER_OUT)
    if function is None:
        for name in [name for name in ("sum_out", "accumulator_out") if getattr(kind, name) is not None]:
            raise ProgramError(f"{kind.__name__}.{name} is set, but there is no gather_out(self, ...) to sum over")
        return
    place = Place(f"{kind.__name__}.{GATHER_OUT}", function)
    if kind.gathers != "in":
        raise ProgramError(
            f"{place.line()} gathers over out-edges, and gather over in-edges; leave gathers = {kind.gathers!r} out"
        )
    for name in [name for name in ONE_WAY if name in found or getattr(kind, name, False) is True]:
        raise ProgramError(f"{place.line()}: a program over both directions pulls all edges; leave {name} out")
    if ACC_OUT not in found.get("apply", ()):
        raise ProgramError(f"{place.line()} is never used: apply(self, ...) has to ask for acc_out, the sum over them")
    if kind.sum_out is not None:
        check_sum(kind, compiled, "sum_out")
    found[GATHER_OUT] = check_signature(place, ARGUMENTS["gather"])
    if compiled:
        check_body(place)


def check_attributes(kind: type[VertexProgram]) -> None:
    """Refuse a method that nothing would call, and an attribute whose name is almost one with a meaning.

    If such a name is misspelt, the default would silently take its place.
    """
    annotated = kind.__dataclass_fields__  # type: ignore[attr-defined]  # fields and class variables
    for base in kind.__mro__[: kind.__mro__.index(VertexProgram)]:
        for name, value in vars(base).items():
            if name in RESERVED or name in annotated or name.startswith("_"):
                continue
            own = f"if it is your own, call it _{name}"
            if isinstance(value, types.FunctionType):
                advice = did_you_mean(name, METHODS, own)
                raise ProgramError(f"{kind.__name__}.{name} is not a function of a vertex program; {advice}")
            if advice := did_you_mean(name, RESERVED, "", MISSPELT):
                raise ProgramError(f"{kind.__name__}.{name} is not an attribute of a vertex program; {advice} {own}")


def check_converged(kind: type[VertexProgram], has_total: bool) -> None:
    """Raise `ProgramError` if `converged` would not be called, or not with what it takes."""
    function = function_of(kind, "converged")
    if function is None or function is VertexProgram.converged:
        return
    place = Place(f"{kind.__name__}.converged", function)
    if not has_total:
        raise ProgramError(f"{place.line()} is never called: there is no aggregate(self, ...) to make its total")
    if check_signature(place, CONVERGED) != CONVERGED:
        raise ProgramError(f"{place.line()} must be converged(self, {', '.join(CONVERGED)})")


def is_outdated(kind: type[VertexProgram]) -> bool:
    """Whether the program inherits `delta`, but not the `gather` that it belongs to: a subclass has another one."""
    defines_gather, defines_delta = ([name in vars(base) for base in kind.__mro__] for name in ("gather", "delta"))
    return defines_gather.index(True) < defines_delta.index(True)


def check_delta(kind: type[VertexProgram], asked: dict[str, tuple[str, ...]]) -> None:
    """Raise `ProgramError` if `delta` cannot be the difference of what `gather` returns for two values of a source."""
    if "delta" not in asked:
        return
    place = Place(f"{kind.__name__}.delta", kind.delta)  # type: ignore[attr-defined]
    if kind.sum is not add:
        raise ProgramError(f"{place.line()} adds to sums of contributions, so sum must be gp.add")
    if "dst" in asked["gather"]:
        raise ProgramError(f"{place.line()} cannot know dst, which gather asks for; leave out one of them")
    for name in [name for name in ("edge", "src_id") if name in asked["delta"] and name not in asked["gather"]]:
        raise ProgramError(
            f"{place.line()} asks for {name}, but gather does not, so no difference of its results depends on it"
        )


def check_sum(kind: type[VertexProgram], compiled: bool, name: str = "sum") -> None:
    """Raise `ProgramError` unless the program's `sum` (or `sum_out`) is a monoid, whose function can be compiled if it
    is to be."""
    monoid = getattr(kind, name, None)
    if not isinstance(monoid, Monoid):
        what = f"has no {name}" if monoid is None else f"has {name} = {getattr(monoid, '__name__', repr(monoid))}"
        if isinstance(monoid, types.BuiltinFunctionType):
            what += ", a function of Python"
        raise ProgramError(f"{kind.__name__} {what}; write {name} = gp.add (or gp.min, gp.max, ..., or a gp.Monoid)")
    if not monoid.is_named:
        function = function_of_sum(kind, monoid)
        place = Place(f"{kind.__name__}.{name}", function)
        if function.__code__.co_argcount != 2 or function.__code__.co_kwonlyargcount:
            raise ProgramError(f"{place.line()} takes {function.__code__.co_argcount} arguments; allowed are two")
        if compiled:
            check_body(place)


def function_of_sum(kind: type[VertexProgram], monoid: Monoid) -> types.FunctionType:
    """The plain Python function of the program's own `sum`."""
    function = plain(monoid.function)
    if function is None:
        raise ProgramError(
            f"{kind.__name__}.sum has the function {monoid.function!r}; allowed is one written with def or lambda"
        )
    return function


def own_sum(kind: type[VertexProgram], monoid: Monoid) -> dict[str, types.FunctionType]:
    """The function of an author's own `monoid` as the function ``"sum"``; nothing for an operation that has a name."""
    return {} if monoid.is_named else {"sum": function_of_sum(kind, monoid)}


def check_names(kind: type[VertexProgram], vertex_fields: tuple[str, ...]) -> None:
    """Raise `ProgramError` if a parameter has a name with a meaning of its own."""
    arguments = {name for offered in ARGUMENTS.values() for name in offered} | {ACC_OUT}
    for field in dataclasses.fields(kind):  # type: ignore[arg-type]
        if field.name in RESERVED or field.name.startswith("_"):
            raise ProgramError(
                f"{kind.__name__} has a parameter called {field.name!r}; choose another name without a leading "
                f"underscore than {', '.join(RESERVED)}, or drop the annotation if it is no parameter"
            )
        if field.name in vertex_fields and field.name in arguments:
            raise ProgramError(f"{kind.__name__}: a PerVertex parameter cannot be called {field.name!r}; rename it")


def check_hidden(kind: type[VertexProgram], asked: dict[str, tuple[str, ...]]) -> None:
    """Refuse a parameter with the name of an argument that a function asks for: the function would not get it."""
    own = {field.name for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    for name, arguments in asked.items():
        for hidden in own.intersection(arguments, (*ARGUMENTS.get(name, ARGUMENTS["gather"]), ACC_OUT)):
            raise ProgramError(
                f"{kind.__name__}.{name} asks for {hidden!r}, and gets that of the graph or the run, not the parameter "
                f"{hidden!r}; rename the parameter"
            )


def check_signature(place: Place, allowed: tuple[str, ...]) -> tuple[str, ...]:
    """The arguments that the function asks for; raise `ProgramError` if one is not `allowed`."""
    parameters = list(inspect.signature(place.function, follow_wrapped=False).parameters.values())
    if not parameters or parameters[0].name != "self":
        raise ProgramError(f"{place.line()}: the first argument must be self")
    for parameter in parameters[1:]:
        if parameter.kind is not inspect.Parameter.POSITIONAL_OR_KEYWORD or parameter.default is not parameter.empty:
            raise ProgramError(f"{place.line()}: {parameter} must be a plain argument without a default")
        if parameter.name not in allowed:
            raise ProgramError(f"{place.line()} asks for {parameter.name!r}; allowed are {', '.join(allowed)}")
    return tuple(parameter.name for parameter in parameters[1:])
