"""What ``garaph run`` was asked to do, as data in its checkpoints, so that ``garaph resume`` can ask for it again.

A request never decides what code runs: a program that is given as a file is recorded by its path and a hash of its
content, and the user names it again to resume.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import typer

from ..errors import ParameterError
from ..system.urls import absolute

Value = str | int | float | bool | list[str]

NOT_RECORDED = ("program", "graph", "checkpoint", "resume", "cluster")
"""Parameters of ``garaph run`` that are not among a request's options; it has the first two by themselves. A run may
resume on another cluster or on none, so the user names that again."""
OUTPUTS = ("output", "trace", "report")
"""Options of ``garaph run`` that name a file to write."""


@dataclass(frozen=True)
class Request:
    """One ``garaph run``.

    Attributes
    ----------
    program : str
        The name of a program of the library, or ``/path/file.py:ClassName``.
    digest : str or None
        The SHA-256 of that file; None for a program of the library.
    graph : str
        The path of the graph.
    options : mapping of str to str, int, float, bool or list of str
        The options that were given on the command line, by the names of `run.run`'s parameters.

    All paths are absolute.
    """

    program: str
    digest: str | None
    graph: str
    options: Mapping[str, Value]

    @classmethod
    def of(cls, context: typer.Context) -> Request:
        """The request of a ``garaph run`` that is being carried out."""
        given = context.params
        options = {
            name: plain(value)
            for name, value in given.items()
            if name not in NOT_RECORDED and is_given(context, name) and value is not None
        }
        program, digest = identify(given["program"])
        return cls(program, digest, absolute(given["graph"]), options)

    @classmethod
    def parse(cls, record: Mapping[str, Any], known: Mapping[str, Any]) -> Request:
        """The request that a checkpoint has recorded; `known` are the options of ``garaph run``, click's, by name.

        Raises
        ------
        ValueError
            If a field is absent, unknown or not of its type, or if an option is unknown.
        """
        if set(record) != set(cls.__annotations__):
            raise ValueError("its fields")
        read = cls(**record)
        if not (is_text(read.program) and is_text(read.graph) and isinstance(read.options, dict)):
            raise ValueError("its program, graph or options")
        if not (is_text(read.digest) if ":" in read.program else read.digest is None):
            raise ValueError("the hash of its program")
        for name, value in read.options.items():
            if name in NOT_RECORDED or name not in known or not suits(value, known[name]):
                raise ValueError(f"its option {name!r}")
        return read

    def record(self) -> dict[str, Any]:
        """The request as an object of JSON."""
        return asdict(self)

    def arguments(self, known: Mapping[str, Any]) -> Iterator[str]:
        """The arguments of ``garaph run`` for this request's options; `known` as in `parse`."""
        for name, value in self.options.items():
            option = known[name]
            if isinstance(value, bool):
                yield from (option.opts if value else option.secondary_opts)[:1]
                continue
            for item in value if isinstance(value, list) else [value]:
                yield f"{option.opts[0]}={item}"

    def outputs(self) -> dict[str, Path]:
        """The files that the run writes, by the name of the option."""
        return {name: Path(str(self.options[name])) for name in OUTPUTS if name in self.options}

    def check_program(self, confirmed: str | None) -> None:
        """Check that the user has named the program, if it is in a file, and that it is the file of that time.

        Raises
        ------
        ParameterError
            If not, or if the user has named another program.
        """
        again = f"--program {self.program}"
        if confirmed is None and self.digest is not None:
            raise ParameterError(
                f"its run is of {self.program}, which is code in a file; to run that code, add {again}"
            )
        if confirmed is not None and identify(confirmed) != (self.program, self.digest):
            changed = identify(confirmed)[0] == self.program
            raise ParameterError(
                f"--program {confirmed}: the file has changed since the run began; put it back as it was, or start the "
                "run again with garaph run ... --resume, which compares the program's functions"
                if changed
                else f"--program {confirmed}: its run is of {self.program}; write {again}, or leave it out"
            )


def is_text(value: object) -> bool:
    """Whether a value of JSON is text that can be an argument."""
    return isinstance(value, str) and "\0" not in value


def suits(value: object, option: Any) -> bool:
    """Whether a value of JSON is of the kind that an option takes; the command checks it further."""
    if option.is_flag:
        return isinstance(value, bool)
    if option.multiple:
        return isinstance(value, list) and all(map(is_text, value))
    return is_text(value) or (isinstance(value, (int, float)) and not isinstance(value, bool))


def plain(value: Any) -> Value:
    """An option's value as JSON has it; paths are made absolute."""
    return absolute(value) if isinstance(value, Path) else value


def is_given(context: typer.Context, name: str) -> bool:
    """Whether a parameter was given on the command line."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def identify(program: str) -> tuple[str, str | None]:
    """A program's name, and the SHA-256 of its file, None if it is of the library."""
    if ":" not in program:
        return program, None
    file, name = program.rsplit(":", 1)
    try:
        with open(file, "rb") as opened:
            return f"{os.path.abspath(file)}:{name}", hashlib.file_digest(opened, "sha256").hexdigest()
    except (OSError, ValueError) as error:  # ValueError: a name with a null byte
        raise ParameterError(f"{file}: {getattr(error, 'strerror', None) or error}; write file.py:ClassName") from None
