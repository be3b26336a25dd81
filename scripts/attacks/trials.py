"""The trials of a job: start it afresh, cut it short somehow, look at what is left, go on, look at what comes out."""

from __future__ import annotations

import os
import shutil
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from garaph_py.errors import GaraphError

from .calls import Call, Meet, stand_between
from .children import Ended, forked
from .jobs import DONE, JOBS, names_here, warm


def trials_of(seed: int, folder: Path) -> tuple[Trials, int]:
    """The trials of a round, of one job after the other, and the number of the job's earlier rounds."""
    number, which = divmod(seed, len(JOBS))
    name = list(JOBS)[which]
    warm(JOBS[name], folder / "warm")
    return Trials(name, folder), number


class Trials:
    """The trials of one job, in `folder`.

    Attributes
    ----------
    name : str
    job : Job
    here : Path
        The directory in which the job works. Its inputs are there, and nothing else.
    calls : list of str
        The names of the calls that the job makes if nothing disturbs it.
    seconds : float
        How long it then takes.
    """

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.job = name, JOBS[name]
        self.here, self._inputs = folder / "here", folder / "inputs"
        self.here.mkdir()
        self.undisturbed(self.job.prepare)
        self._before = self.undisturbed(self.job.answer)
        shutil.copytree(self.here, self._inputs)
        began = time.monotonic()
        self.calls: list[str] = self.undisturbed(partial(noted, self.here, self.job.start))
        self.seconds = time.monotonic() - began
        self._after, self._names = self.undisturbed(self.job.answer), Counter(self.undisturbed(names_here))
        self.begin()

    def undisturbed(self, work: Callable[[], Any]) -> Any:
        """What ``work()`` returns in a child."""
        ended = self.live(work)
        if problem := ended.error or ended.typed:
            raise RuntimeError(f"{self.name}, undisturbed: {problem}")
        return ended.answer

    def begin(self) -> None:
        """Put the inputs in place, and nothing else."""
        shutil.rmtree(self.here)
        shutil.copytree(self._inputs, self.here)

    def live(self, work: Callable[[], object], meet: Meet | None = None, kill_after: float | None = None) -> Ended:
        """Do part of the job in a child, whose calls pass `meet`."""

        def do() -> object:
            os.chdir(self.here)
            if meet is not None:
                stand_between(self.here, meet)
            return work()

        return forked(do, kill_after)

    def finish(self, told: list[Any], torn: bool = False) -> str:
        """Look at what is left after the job was cut short and had told so much; go on, to the end.

        Returns
        -------
        str
            What is wrong; "" if nothing is.

        Parameters
        ----------
        told : list
        torn : bool
            What was neither told nor there before may be damaged, so that reading it ends in a typed error.
        """
        ended = self.live(partial(self._finish, told, torn))
        return ended.error or ended.typed or ended.answer or ("killed" if ended.killed else "")

    def _finish(self, told: list[Any], torn: bool) -> str:
        try:
            found = self.job.answer()
        except GaraphError as error:
            if torn and DONE not in told and not any(self._before.values()):
                return ""
            return f"what is left cannot be read: {error}"
        if problem := self._lost(found, told):
            return problem
        if DONE not in told or names_here() != self._names:
            self.job.go_on()
        if (found := self.job.answer()) != self._after:
            return f"the answer is wrong at the end: {found}, not {self._after}"
        more, fewer = names_here() - self._names, self._names - names_here()
        return f"left behind: {list(more)}; missing: {list(fewer)}" if more or fewer else ""

    def _lost(self, found: dict[str, Any], told: list[Any]) -> str:
        """What is not there, and was told; or is there, and is not what it may be. "" if nothing is wrong."""
        for name, answer in found.items():
            if answer is None and self._before[name] is not None:
                return f"{name} was there before, and is not there any more"
            allowed = (self._after[name],) if DONE in told else (self._after[name], self._before[name], None)
            if answer not in allowed:
                return f"{name} is {answer!r} after {told} was told, not {' or '.join(map(repr, allowed))}"
        return self.job.kept(told, found)


def noted(folder: Path, work: Callable[[], object]) -> list[str]:
    """The names of the calls that ``work()`` makes on files in `folder`."""
    names = []

    def meet(call: Call) -> Any:
        names.append(call.name)
        return call()

    stand_between(folder, meet)
    work()
    return names
