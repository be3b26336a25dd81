"""Where ``garaph run`` may write its files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

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
        if is_same_file(path, graph):
            raise ParameterError(f"{option} {path}: is the graph; name another file")
        if Path(os.path.realpath(graph)) in Path(os.path.realpath(path)).parents:
            raise ParameterError(f"{option} {path}: is in the graph's directory; choose another place")
    check_distinct(wanted)
