"""Running a Python file of the user's, and finding a class in it: a vertex program, or a policy."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from typing import Any, TypeVar

from ..errors import ParameterError, ProgramError, did_you_mean
from .files import did_you_mean_file

T = TypeVar("T")


def class_in_file(file: str, name: str, kind: type[T], what: str) -> type[T]:
    """Run the Python file and return its class `name`.

    Parameters
    ----------
    file, name : str
    kind : type
        The class that it must be derived from.
    what : str
        What such a class is, for messages: ``"vertex program"``.

    Raises
    ------
    ParameterError
        If there is no such file, or no such class in it.
    ProgramError
        If the file fails when it is run.
    """
    path = Path(file)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if not os.path.isfile(path):
        near = did_you_mean_file(file, "write file.py:ClassName", lambda other: other.suffix == ".py")
        raise ParameterError(f"{file}: no such Python file; {near}")
    if spec is None or spec.loader is None:
        raise ParameterError(f"{file}: the name of a Python file ends in .py; write file.py:ClassName")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # dataclasses look here for the module of a class
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        line = last_line(error, file)
        raise ProgramError(f"{file}, line {line}: {type(error).__name__}: {error}") from error
    found = getattr(module, name, None)
    if not is_kind(found, kind):
        others = [key for key, item in vars(module).items() if is_kind(item, kind)]
        near = did_you_mean(name, others, f"it has {', '.join(others) or 'none'}")
        raise ParameterError(f"{file} has no {what} {name!r}; {near}")
    return found  # type: ignore[return-value]


def is_kind(item: Any, kind: type[Any]) -> bool:
    """Whether `item` is a class derived from `kind`."""
    return isinstance(item, type) and issubclass(item, kind) and item is not kind


def last_line(error: BaseException, file: str) -> int | str:
    """The line of `file` at which `error` came up, the innermost of several; ``"?"`` if none is known."""
    if isinstance(error, SyntaxError) and error.lineno:
        return error.lineno
    trace, line = error.__traceback__, None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename.endswith(Path(file).name):
            line = trace.tb_lineno
        trace = trace.tb_next
    return line or "?"
