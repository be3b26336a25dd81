"""`Spec`: the description of an experiment in a TOML file, checked as far as possible before anything runs."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..apps import registry
from ..dispatch.engines import engine_of
from ..errors import GaraphError, ParameterError
from ..program import VertexProgram
from . import sources, toml
from .figure import Figure, figure
from .graphs import named
from .interval import LEAST
from .kinds import KINDS, Combination, Kind, Parameter, Row, column_type

KEYS = ("kind", "repeats", "warmups", "fresh", "seed", "sweep", "runs", "plots")
RESULTS = "results"
"""The table with a row for each measurement; a second one has the parts of each, such as its iterations."""
REQUIRED = ("program", "graph")
COUNTED = ("measurement", "combination", "repeat")
"""The first columns of the results."""
MACHINE = "machine"
"""The next one: processor and GPU of the machine that measured."""
NAMES = {bool: "true or false", int: "a whole number", float: "a number", str: "a string", dict: "a table"}


@dataclass(frozen=True)
class Spec:
    """What to measure, and what to draw.

    Attributes
    ----------
    text : bytes
        The file's content.
    kind : Kind
    combinations : tuple of Combination
    repeats, warmups : int
        Number of measurements of each combination, and of unmeasured runs before the first measurement.
    fresh : bool
        Whether every measurement gives up first what earlier ones have kept of the graph, in memory and on the GPU.
    seed : int
        The seed of the random order of measurements.
    plots : tuple of Figure
    """

    text: bytes
    kind: Kind
    combinations: tuple[Combination, ...]
    repeats: int
    warmups: int
    fresh: bool
    seed: int
    plots: tuple[Figure, ...]

    @property
    def settings(self) -> list[str]:
        """The names of the settings."""
        return list(self.combinations[0].settings)

    @property
    def columns(self) -> dict[str, dict[str, type]]:
        """The types of the columns of each table, by name."""
        types = {name: column_type(parameter.types) for name, parameter in self.kind.parameters.items()}
        first = dict.fromkeys(COUNTED, int) | {MACHINE: str}
        settings = first | {name: types.get(name, str) for name in self.settings}
        return {RESULTS: settings | self.kind.columns, self.kind.parts: settings | self.kind.part_columns}


def read(path: str | os.PathLike[str]) -> Spec:
    """Read the spec in the file `path`.

    Raises
    ------
    FormatError
        If the file is missing or is not TOML.
    ParameterError
        If a key or a value is invalid, or a program or a graph does not exist; the message names the key.
    """
    return toml.read(path, checked, 'name a spec, see "Experiments" in the documentation')


def checked(document: Row, text: bytes, folder: Path) -> Spec:
    """The spec in a parsed TOML document; its paths are relative to `folder`."""
    toml.known(document, KEYS, "")
    name = document.get("kind", "run")
    kind = KINDS[toml.chosen("kind", name, tuple(KINDS))]
    sweep, blocks = of(dict, "table", document, "sweep"), of(list, "list of tables", document, "runs") or [{}]
    if not sweep and not any(blocks):
        raise ParameterError("nothing to run; write a [sweep] table, or [[runs]]")
    for block in blocks:
        if not isinstance(block, dict):
            raise ParameterError(f"runs={block!r}: write [[runs]] and below it what is set")
    tables = {"sweep": sweep} | {f"runs {number}": block for number, block in enumerate(blocks, 1)}
    values = {where: values_of(kind, table, where) for where, table in tables.items()}
    programs, seed = programs_of(values.values(), folder), count(document, "seed", 1, 0)
    for where, table in values.items():  # after the programs' files have run, which may register engines
        check_choices(kind, table, where, folder)
    found: list[Combination] = []
    instances: dict[str, VertexProgram] = {}
    for where, block in itertools.islice(tables.items(), 1, None):
        of_block = values["sweep"] | values[where]
        for required in REQUIRED:
            if required in kind.parameters and required not in of_block:
                raise ParameterError(f"{where if block else 'sweep'}: {required} is missing; add it")
        made = combinations(kind, of_block, folder, programs, instances, seed)
        found += [replace(one, number=number) for number, one in enumerate(made, len(found))]
    spec = Spec(
        text, kind, tuple(found), count(document, "repeats", LEAST, 1), count(document, "warmups", 1, 0),
        toml.flag(document, "fresh", False), seed, (),
    )  # fmt: skip
    plots = of(list, "list of tables", document, "plots")
    drawn = tuple(figure(entry, f"plots {number}", number, spec.columns) for number, entry in enumerate(plots, 1))
    if len({one.name for one in drawn}) < len(drawn):
        raise ParameterError("plots: two have the same name; give them different ones")
    return replace(spec, plots=drawn)


def of(kind: type, what: str, document: Row, key: str) -> Any:
    """The value of a key, which must be of type `kind`; by default an empty one."""
    value = document.get(key, kind())
    if type(value) is not kind:
        raise ParameterError(f"{key}={value!r}: give a {what}")
    return value


def count(document: Row, key: str, otherwise: int, least: int) -> int:
    """The value of a key, which must be a whole number, `least` or more; `otherwise` is the default."""
    value = document.get(key, otherwise)
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ParameterError(f"{key}={value!r}: give a whole number, {least} or more")
    return value


def values_of(kind: Kind, table: Row, where: str) -> dict[str, list[Any]]:
    """The list of values of each setting in a table of the spec."""
    for key in table:
        if key in kind.refused:
            raise ParameterError(f"{where}: {key}: {kind.refused[key]}")
    toml.known(table, tuple(kind.parameters), f"{where}: ")
    values = {}
    for key, given in table.items():
        values[key] = toml.listed(given)
        if not values[key]:
            raise ParameterError(f"{where}: {key} is an empty list; give at least one value, or leave it out")
        for value in values[key]:
            check_value(key, value, kind.parameters[key], where)
    return values


def check_value(key: str, value: Any, parameter: Parameter, where: str) -> None:
    """Refuse a value whose type a setting cannot have."""
    fits = type(value) in parameter.types or (type(value) is int and float in parameter.types)
    if not fits:
        allowed = " or ".join(NAMES[kind] for kind in parameter.types)
        raise ParameterError(f"{where}: {key}={value!r}: give {allowed}")


def check_choices(kind: Kind, values: dict[str, list[Any]], where: str, folder: Path) -> None:
    """Refuse a value that is not among the allowed ones of a setting that takes one of a few.

    Runs the files of policies, whose paths are relative to `folder`.
    """
    for key, given in values.items():
        for value in given if key == "engine" else ():
            try:
                engine_of(value, folder)
            except ParameterError as error:
                raise ParameterError(f"{where}: {error}") from None
        if allowed := kind.parameters[key].choices:
            for value in given:
                toml.chosen(f"{where}: {key}", value, allowed)


def programs_of(tables: Iterable[dict[str, list[Any]]], folder: Path) -> dict[str, type[VertexProgram]]:
    """The classes of all programs that the tables of a spec name, by name. Runs the files that hold them."""
    names = {program_of(given)[0]: None for table in tables for given in table.get("program", [])}
    return {name: find(name, folder) for name in names}


def combinations(
    kind: Kind, values: dict[str, list[Any]], folder: Path, programs: dict[str, type[VertexProgram]],
    instances: dict[str, VertexProgram], seed: int,
) -> Iterator[Combination]:  # fmt: skip
    """All combinations of `values`, all of number 0, and one for each source of those that a program describes.

    Those with the same program and parameters share one instance of the program.
    """
    defaults = {name: parameter.default for name, parameter in kind.parameters.items() if name not in REQUIRED}
    for chosen in itertools.product(*values.values()):
        given = dict(zip(values, chosen, strict=True))
        graph, shown, program = named(given.pop("graph"), folder), {}, None
        described: Iterable[tuple[sources.Pick, ...]] = [()]
        if "program" in given:
            name, parameters = program_of(given.pop("program"))
            key = json.dumps([name, parameters], sort_keys=True, default=str)
            program = instances[key] = instances.get(key) or build(name, programs[name], parameters)
            shown = {"program": name, "parameters": ", ".join(f"{one}={value}" for one, value in parameters.items())}
            with naming(name):
                described = list(sources.picks(programs[name], parameters, seed))
        elif kind is KINDS["import"] and graph.path is not None and graph.path.is_dir():
            raise ParameterError(f"graph={graph.text!r}: a graph directory is imported already; name a file")
        if graph.memory is not None and "program" not in shown:
            raise ParameterError(f"graph={graph.text!r}: only runs have their memory bounded; leave :memory out")
        for picks in described:
            yield Combination(0, shown | {"graph": graph.text} | defaults | given, given, graph, program, picks)


def program_of(given: Any) -> tuple[str, Row]:
    """The name and the parameters of a program."""
    table = {"name": given} if isinstance(given, str) else dict(given) if isinstance(given, dict) else {}
    if not isinstance(name := table.pop("name", None), str):
        raise ParameterError(f'program={given!r}: write its name, or {{ name = "PageRank", damping = 0.9 }}')
    return name, table


def find(name: str, folder: Path) -> type[VertexProgram]:
    """The program class called `name`, which may be in a file whose path is relative to `folder`. Runs that file."""
    file, colon, kind = name.rpartition(":")
    with naming(name):
        return registry.find(f"{folder / file}:{kind}" if colon else name)


def build(name: str, kind: type[VertexProgram], parameters: Row) -> VertexProgram:
    """An instance of the program `kind`, which the spec calls `name`."""
    with naming(name):
        return registry.build(
            kind,
            {key: text_of(value) for key, value in parameters.items()},
            lambda missing: f'write program = {{ name = "{name}", {missing} = ... }}',
        )


@contextlib.contextmanager
def naming(program: str) -> Iterator[None]:
    """Begin the message of an error of the ``with`` block with the program's name."""
    try:
        yield
    except GaraphError as error:
        raise ParameterError(f"program={program!r}: {error}") from error


def text_of(value: Any) -> str:
    """A parameter as text, in the form that the command line accepts."""
    return value if isinstance(value, str) else json.dumps(value, default=str)
