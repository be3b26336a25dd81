"""What is known about a program's class, kept until the class changes, or anything that its functions refer to."""

from __future__ import annotations

import types
from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property
from operator import is_
from typing import Any

from ..native.references import References, fingerprint
from .body import returns_argument
from .monoids import Monoid
from .signatures import check_functions, own_sum
from .vertex_program import VertexProgram

Members = tuple[list[str], list[Any]]
"""The names of a class's attributes, and the attributes, in the class's order."""
KEPT = "_garaph_known"
"""The attribute of a class that keeps its `Known`. It is freed with the class, which an entry in a dictionary of all
classes would not be, because it refers to the class."""


@dataclass(frozen=True)
class Known:
    """A class whose functions have been checked.

    Attributes
    ----------
    vertex_fields : tuple of str
        The names of its `PerVertex` parameters.
    sum : Monoid
        The operation that the program sums with.
    arguments : dict of str to tuple of str
        The functions that it defines, and the names of the arguments each asks for.
    functions : dict of str to function
        These functions, with that of `sum` if it is the author's own.
    members : list of Members
        The attributes of the class and of each class that it inherits from.
    keys : dict
        What `key` has returned.
    fitting : set
        Types of values and sums with which a program of the class has been bound.
    """

    vertex_fields: tuple[str, ...]
    sum: Monoid
    arguments: dict[str, tuple[str, ...]]
    functions: dict[str, types.FunctionType]
    members: list[Members]
    keys: dict[Hashable, str] = field(default_factory=dict)
    fitting: set[Hashable] = field(default_factory=set)

    @cached_property
    def asked_for(self) -> frozenset[str]:
        """The names of all arguments that its functions ask for."""
        return frozenset(name for asked in self.arguments.values() for name in asked)

    @cached_property
    def references(self) -> References:
        """What the functions refer to."""
        return References(self.functions)

    @cached_property
    def gathers_src(self) -> bool:
        """Whether `gather` returns its source's value as it is."""
        return returns_argument(self.functions["gather"], "src")

    def holds(self, program: VertexProgram, vertex_fields: tuple[str, ...]) -> bool:
        """Whether all of it is true of the class of `program` now."""
        return (
            self.vertex_fields == vertex_fields
            and self.sum is program.sum
            and has_members(type(program), self.members)
            and self.references.unchanged()
        )

    def key(self, *more: Hashable) -> str:
        """A hash of the functions and all that they refer to, of what each asks for, and of `more`."""
        if more not in self.keys:
            self.keys[more] = fingerprint(self.references.fingerprint, self.sum.name, self.arguments, more)
        return self.keys[more]

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy it as None: another process that gets the class has to check it again."""
        return types.NoneType, ()


def known(program: VertexProgram, vertex_fields: tuple[str, ...], compiled: bool) -> Known:
    """What is known about the class of `program`: kept from an earlier call, or found out now.

    What has been found out about functions that are not to be `compiled` is not kept.

    Raises
    ------
    ProgramError
        See `check_functions`.
    """
    kind = type(program)
    kept: Known | None = vars(kind).get(KEPT)
    if compiled and kept is not None and kept.holds(program, vertex_fields):
        return kept
    before = members(kind)
    arguments = check_functions(kind, vertex_fields, compiled)
    functions = {name: getattr(kind, name) for name in arguments} | own_sum(kind, program.sum)
    found = Known(vertex_fields, program.sum, arguments, functions, before)
    if compiled:
        _ = found.references
        setattr(kind, KEPT, found)
    return found


def members(kind: type) -> list[Members]:
    """The attributes of `kind` and of each class that it inherits from, but for those of `object`."""
    found = []
    for base in kind.__mro__[:-1]:
        space = vars(base)
        names, values = [*space], [*space.values()]
        if KEPT in space:
            at = names.index(KEPT)
            del names[at], values[at]
        found.append((names, values))
    return found


def has_members(kind: type, before: list[Members]) -> bool:
    """Whether `members` of `kind` are the same objects, under the same names and in the same order, as `before`."""
    now = members(kind)
    return len(now) == len(before) and all(
        names == one and all(map(is_, values, others))
        for (names, values), (one, others) in zip(now, before, strict=True)
    )
