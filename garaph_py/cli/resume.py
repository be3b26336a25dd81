"""``garaph resume``: continues a run that was killed or interrupted, from its newest checkpoint."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from ..errors import ParameterError


def resume(
    context: typer.Context,
    directory: Annotated[Path, typer.Argument(help="Where the run keeps its checkpoints.")],
) -> None:
    """Continue a `garaph run --checkpoint DIRECTORY`, from its newest checkpoint.

    The checkpoint records the run's command line and working directory; options of `garaph run` may be added.

    Examples:

      garaph resume checkpoints

      garaph resume checkpoints --device cpu
    """
    from ..checkpoint.files import Files
    from ..checkpoint.store import Store

    ended = "a run that has finished removes its checkpoints; to run again: garaph run ... --checkpoint"
    if not directory.is_dir():
        raise ParameterError(f"{directory}: there is no such directory; {ended} {directory}")
    store = Store(directory, Files())
    try:
        found = store.newest()
    finally:
        store.close()
    if found is None:
        raise ParameterError(f"{directory}: there is no checkpoint; {ended} {directory}")
    if Path(found.command[0]).name != "garaph":
        raise ParameterError(
            f"{directory}: its checkpoint was made by {' '.join(found.command)!r} in {found.folder}; start that again, "
            "with resume=True"
        )
    added = ["--resume", "--checkpoint", str(store.directory)]
    start = found.command[1 : -len(added)] if found.command[-len(added) :] == added else found.command[1:]
    os.chdir(found.folder)
    sys.argv = [found.command[0], *start, *context.args, *added]  # new checkpoints record this command line
    context.find_root().command(sys.argv[1:])
