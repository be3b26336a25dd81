"""Processes for attacks: one without threads, and children that it forks, which may die at any moment."""

from __future__ import annotations

import json
import multiprocessing
import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from garaph_py import errors
from garaph_py.errors import GaraphError

T = TypeVar("T")
PACKAGE = os.path.dirname(errors.__file__)

SECONDS = 60.0
"""After so many seconds a child hangs: undisturbed, a job takes less than one."""
TOLD, ENDED = "told: ", "ended: "
"""How the lines begin on which a child tells what is done for good, and how it ended."""


def fresh(function: Callable[..., T], *arguments: Any) -> T:
    """Call a function of a module in a new process, which has no threads and may therefore fork."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


@dataclass
class Ended:
    """How a child came to its end.

    Attributes
    ----------
    told : list
        What it told was done for good, in order.
    killed : bool
        It was killed, or hung and was then killed.
    answer : object
        What its function returned, if it did.
    typed, error : str
        The message of the error that ended it: one of `garaph_py.errors`, or another one.
    """

    told: list[Any] = field(default_factory=list)
    killed: bool = False
    answer: Any = None
    typed: str = ""
    error: str = ""


def tell(what: object) -> None:
    """Tell the parent that something is done for good. What a child has told must never be lost."""
    os.write(1, f"{TOLD}{json.dumps(what)}\n".encode())


def forked(function: Callable[[], Any], kill_after: float | None = None) -> Ended:
    """Call a function in a fork of this process, which is killed after so many seconds."""
    reads, writes = os.pipe()
    child = os.fork()
    if not child:
        serve(function, writes)
    os.close(writes)
    try:
        return attend(child, reads, kill_after)
    finally:
        os.close(reads)


def attend(child: int, reads: int, kill_after: float | None) -> Ended:
    """Read what a child process writes, until it ends; kill it after so many seconds."""
    began, heard, hung = time.monotonic(), b"", False
    while True:
        left = (SECONDS if kill_after is None else kill_after) - (time.monotonic() - began)
        if select.select([reads], [], [], max(left, 0))[0]:
            if not (data := os.read(reads, 1 << 16)):
                break
            heard += data
        else:
            hung, kill_after = kill_after is None, SECONDS
            os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    ended = Ended(killed=os.WIFSIGNALED(status))
    for line in heard.decode().splitlines():
        if line.startswith(TOLD):
            ended.told.append(json.loads(line.removeprefix(TOLD)))
        elif line.startswith(ENDED):
            vars(ended).update(json.loads(line.removeprefix(ENDED)))
    if hung:
        ended.error = f"it did not end within {SECONDS:.0f} s"
    elif ended.killed and os.WTERMSIG(status) != signal.SIGKILL:
        ended.error = f"it died of signal {os.WTERMSIG(status)}"
    return ended


def serve(function: Callable[[], Any], writes: int) -> None:
    """The life of a child; its standard output goes to the parent."""
    os.dup2(writes, 1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 2)
    sys.stdout = os.fdopen(1, "w", closefd=False)  # the old one remembers what kind of file it wrote to
    write = os.write  # the function may have others stand in for the system's calls
    try:
        end: dict[str, Any] = {"answer": function()}
    except (GaraphError, MemoryError) as error:
        end = {"typed": f"{type(error).__name__}: {error}"}
    except BaseException as error:
        end = {"error": f"{type(error).__name__}: {error} ({place_of(error)})"}
    write(writes, f"\n{ENDED}{json.dumps(end)}\n".encode())
    os._exit(0)


def place_of(error: BaseException) -> str:
    """File, line and function of the package where an error passed last on its way down."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if PACKAGE in frame.filename]
    return f"{frames[-1].filename}:{frames[-1].lineno}, {frames[-1].name}" if frames else "outside the package"
