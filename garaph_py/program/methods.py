"""Calls the methods of a program that run as plain Python, and says where one of them failed."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Any

from ..errors import GaraphError, ProgramError

if TYPE_CHECKING:
    from .vertex_program import VertexProgram

REFUSALS = {
    "verify": "raise gp.errors.VerificationError if the answer is wrong",
    "check_graph": "raise gp.errors.GraphError if the graph does not suit",
    "__post_init__": "raise gp.errors.ParameterError if a parameter is wrong",
}
"""How a method says that something else than the program is wrong."""


def call_method(program: VertexProgram, name: str, *arguments: Any) -> Any:
    """What the method `name` of `program` returns.

    Raises
    ------
    GaraphError
        If the method raises one.
    ProgramError
        If it raises another exception, which is the ``__cause__``; the message names the line.
    """
    try:
        return getattr(program, name)(*arguments)
    except (GaraphError, MemoryError):
        raise
    except Exception as error:
        raise failed(type(program), name, error) from error


def failed(kind: type[VertexProgram], name: str, error: Exception) -> ProgramError:
    """The error of a program whose method `name` has raised `error`: the method's last line, and what to do."""
    file = getattr(getattr(getattr(kind, name), "__code__", None), "co_filename", None)
    lines = [line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == file]
    place = f" ({file}, line {lines[-1]})" if lines else ""
    what = traceback.format_exception_only(error)[-1].strip()
    return ProgramError(f"{kind.__name__}.{name}{place}: {what}; {REFUSALS.get(name, 'correct the program')}")
