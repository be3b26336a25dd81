"""``garaph resume``: continues a run that was killed or interrupted, from its newest checkpoint."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import DamagedCheckpointError, ParameterError
from ..system.urls import shown
from .request import Request


def resume(
    context: typer.Context,
    directory: Annotated[Path, typer.Argument(help="Where the run keeps its checkpoints.")],
    program: Annotated[
        str | None,
        typer.Option(metavar="FILE.py:NAME", help="The run's program, if it is code in a file."),
    ] = None,
) -> None:
    """Continue an interrupted run from its newest checkpoint.

    You started the run by `garaph run --checkpoint DIRECTORY`. The checkpoint records its options; you may add others
    of `garaph run`. If the run had already ended, the command only writes its outputs. It replaces an output that
    exists only if you name it again.

    Examples:

      garaph resume checkpoints

      garaph resume checkpoints --device cpu

      garaph resume checkpoints --cluster tcp://scheduler:8786

      garaph resume checkpoints --program my_program.py:MyProgram --output ranks.parquet
    """
    root = context.find_root()
    known = {option.name: option for option in root.command.commands["run"].params}  # type: ignore[attr-defined]
    request = recorded(directory, known)
    try:
        request.check_program(program)
        check_outputs(request, context.args)
    except ParameterError as error:
        raise ParameterError(f"{directory}: {error}") from None
    sys.argv[1:] = [
        "run", *request.arguments(known), *context.args, "--checkpoint", os.path.abspath(directory), "--resume", "--",
        request.program, request.graph,
    ]  # fmt: skip
    root.command(sys.argv[1:])


def recorded(directory: Path, known: dict[str, Any]) -> Request:
    """The request that the newest checkpoint in a directory has recorded; `known` as in `Request.parse`.

    Raises
    ------
    ParameterError
        If there is none.
    DamagedCheckpointError
        If it is invalid, or no checkpoint is whole.
    """
    from ..checkpoint.files import Files
    from ..checkpoint.store import NAMES, Store

    ended = "a run that has finished removes its checkpoints; to run again: garaph run ... --checkpoint"
    if not directory.is_dir():
        raise ParameterError(f"{shown(directory)}: there is no such directory; {ended} {shown(directory)}")
    found = None
    if any(os.path.lexists(directory / name) for name in NAMES):  # a `Store` would remove an empty directory
        with contextlib.closing(Store(directory, Files())) as store:
            found = store.newest()
    if found is None:
        raise ParameterError(f"{directory}: there is no checkpoint; {ended} {directory}")
    if found.request is None:
        raise ParameterError(
            f"{directory}: its checkpoint does not say what to run, because a script or an earlier version of garaph "
            "made it; start the script again with resume=True, or the command with --resume"
        )
    try:
        return Request.parse(found.request, known)
    except ValueError as error:
        problem = f"the run that it records is invalid: {error}; start the run again with --resume"
        raise DamagedCheckpointError(directory, problem) from None


def check_outputs(request: Request, added: list[str]) -> None:
    """Refuse to replace a file that the checkpoint names, unless the arguments `added` name it, or another, again."""
    for name, path in request.outputs().items():
        again = any(argument.partition("=")[0] == f"--{name}" for argument in added)
        if os.path.lexists(path) and not again:
            raise ParameterError(f"its run writes {path}, which is there already; to replace it, add --{name} {path}")
