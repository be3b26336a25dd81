"""Where commands may write their files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import ParameterError
from ..system.files import check_distinct, check_place, is_same_file


def check_outputs(outputs: Mapping[str, Path | None], program: str, graph: Path) -> None:
    """Refuse outputs that cannot be written, or that would replace the program, the graph or each other.

    Parameters
    ----------
    outputs : mapping of str to path or None
        The files to write, by the option that names each, such as ``--output``; None for those that are not wanted.
    program : str
        A program of the library, or ``file.py:ClassName``.
    graph : path
        A graph directory, or a file of edges.

    Raises
    ------
    ParameterError
    """
    wanted = {option: path for option, path in outputs.items() if path is not None}
    for option, path in wanted.items():
        check_place(path, option)
        if ":" in program and is_same_file(path, program.rpartition(":")[0]):
            raise ParameterError(f"{option} {path}: is the program's file; name another file")
        check_apart(path, graph, f"{option} {path}")
    check_distinct(wanted)


def writer(output: Path | None, raw_names: bool, many: bool) -> Any:
    """The function that writes to `output`, by its suffix: a `Result`, or a `ResultTable` of `many` sources.

    Refuses an unknown suffix, before the run.
    """
    from ..output.files import WRITERS
    from ..output.many import ResultTable
    from ..output.result import Result

    if raw_names and (output is None or output.suffix != ".csv"):
        raise ParameterError("--raw-names is only for --output FILE.csv")
    if output is None:
        return None
    kind = ResultTable if many else Result
    methods = {suffix: getattr(kind, name) for suffix, name in WRITERS.items() if hasattr(kind, name)}
    if output.suffix not in methods:
        needs = "with --sources the name" if many else "the name"
        raise ParameterError(f"--output {output}: {needs} must end in {', '.join(methods)}")
    return partial(methods[output.suffix], raw=True) if raw_names else methods[output.suffix]


def check_apart(path: Path, graph: Path, name: str) -> None:
    """Refuse an output that would replace the graph that a command reads, or that is in that graph's directory.

    Raises
    ------
    ParameterError
        The message begins with `name`, as the user named the output.
    """
    if is_same_file(path, graph):
        raise ParameterError(f"{name}: is the graph; choose another name")
    if Path(os.path.realpath(graph)) in Path(os.path.realpath(path)).parents:
        raise ParameterError(f"{name}: is in the graph's directory; choose another place")
