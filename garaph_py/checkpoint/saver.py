"""`Saver`: makes a run's checkpoints, at intervals and before an interrupt, and restores the run's state."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import events
from ..errors import NumberError, ParameterError
from ..executor.state import State
from ..graph import Graph
from ..graph.vertex_set import WORD
from ..native.threads import ThreadPool
from ..pages.layout import Page
from ..program import BoundProgram
from ..system import interrupts
from .files import Files
from .finished import FinishedRun, note_the_end, remove_earlier
from .identity import SYNCHRONOUS, differences, identity_of
from .page_log import LoggedPage
from .policy import PAGE, Every, Measured, expected_seconds, is_due
from .store import Store

Array = npt.NDArray[Any]

log = logging.getLogger("garaph_py")


class Saver:
    """The checkpoints of one run; use it in ``with``.

    Parameters
    ----------
    directory : path-like
        The directory of the checkpoints.
    every : Every
        The interval between checkpoints.
    resume : bool
        Continue from the newest checkpoint in the directory.
    listener : callable
        Receives an `events.Checkpoint` for each checkpoint that is made.
    request : mapping, optional
        What the command was asked to do, which the checkpoints record (`cli.request`).

    Attributes
    ----------
    guard : callable
        ``guard(state, iterations)`` raises an error if no checkpoint must be made of this state, before `after` makes
        one.
    allows : callable
        ``allows(values)`` says whether a checkpoint may be made of these values of some vertices.

    Raises
    ------
    ParameterError
        If the directory cannot be used.
    """

    def __init__(
        self, directory: str | os.PathLike[str], every: Every, resume: bool, listener: events.Listener,
        request: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        self._every, self._resume, self._listener, self._request = every, resume, listener, request
        if isinstance(directory, (str, os.PathLike)):
            remove_earlier(directory)
        self._store = Store(directory, Files())
        self._identity: dict[str, Any] = {}
        self._began = self._last = time.perf_counter()
        self._tried, self._spent, self._expected = 0, 0.0, 0.0
        self._saved = 0  # iterations done in the newest checkpoint
        self._has_end = self._is_finished = False
        self.guard: Callable[[State, int], None] = lambda state, iterations: None
        self.allows: Callable[[Array], bool] = lambda values: True
        self._logs = False  # the newest checkpoint has the state before the iteration under way
        self._logging = threading.Lock()

    @property
    def saved(self) -> int:
        """The iterations that were done when the newest checkpoint was made."""
        return self._saved

    @property
    def directory(self) -> Path:
        """Where the checkpoints are."""
        return self._store.directory

    @property
    def wants_pages(self) -> bool:
        """Whether `page` is to be told what each page has changed."""
        return self._every.pages

    def __enter__(self) -> Saver:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._is_finished:
            self._store.close()
        if self._has_end and error is not None:
            note_the_end(error, self._store.directory)

    def open(self, bound: BoundProgram, graph: Graph, synchronous: bool, limit: int | None, pool: ThreadPool) -> None:
        """Check that a checkpoint in the directory belongs to this run, which does at most `limit` iterations.

        Raises
        ------
        ParameterError
            If there is a checkpoint and `resume` is false, or if it belongs to another run or is beyond `limit`.
        DamagedCheckpointError
            If there are checkpoints, and all are damaged.
        """
        if self._every.pages:
            check_pages(bound, synchronous)
        where, found = self._store.directory, self._store.newest()
        if found is None:
            if self._resume:
                log.warning("there is no checkpoint in %s: the run starts from the beginning", where)
        elif not self._resume:
            program = found.identity.get("program")
            raise ParameterError(
                f"{where} has a checkpoint of {program} after {found.iterations} iterations; add --resume "
                "(resume=True) to go on from there, or remove it"
            )
        self._identity = identity_of(bound, graph, synchronous, pool)
        either_way = {SYNCHRONOUS: synchronous} if bound.is_order_independent and limit is None else {}
        if found is not None and (other := differences({**found.identity, **either_way}, self._identity)):
            raise ParameterError(f"{where} has a checkpoint of another run ({other}); choose another directory")
        if found is not None and limit is not None and found.iterations > limit:
            raise ParameterError(
                f"{where} has a checkpoint after {found.iterations} iterations, and iterations={limit}; allow more, or "
                "choose another directory"
            )

    def restore(self, state: State, graph: Graph) -> int | None:
        """If `resume` is true, give an initial `state` the values, frontier and total of the newest checkpoint.

        What pages have changed after it is part of that, if they were logged.

        Returns
        -------
        int or None
            Number of iterations done when the checkpoint was made; None if no checkpoint was restored.

        Raises
        ------
        DamagedCheckpointError
            If there are checkpoints, and all are damaged.
        """
        arrays = {name: np.empty_like(array) for name, array in arrays_of(state).items()}
        iterations = self.load(arrays)
        if iterations is not None:
            put(arrays, state, graph)
        return iterations

    def load(self, arrays: dict[str, Array]) -> int | None:
        """Like `restore`, for the `arrays` that `arrays_of` takes from a state; also from a checkpoint of this run."""
        self._expected = expected_seconds(sum(array.nbytes for array in arrays.values()))
        found = self._store.load(arrays) if self._resume or self._saved else None
        if found is None:
            return None
        if pages := replay(self._store.pages(arrays["values"]), arrays):
            log.info("going on after %d iterations, and %d pages of the next", found.iterations, pages)
        self._saved = self._tried = found.iterations
        return found.iterations

    def begin(self, state: State, iterations: int) -> None:
        """Before the first iteration of this process, make the checkpoint on top of which pages are logged."""
        if self._every.pages and iterations >= self._saved:
            self.save(arrays_of(state), iterations)

    def page(self, page: Page, values: Array, active: Array) -> None:
        """Write what a page of the iteration under way has changed, if the newest checkpoint is of its beginning.

        Several threads may call this. If a page cannot be written, log that, and write none before the next checkpoint.

        Parameters
        ----------
        page : Page
        values : ndarray
            The new values of its vertices.
        active : ndarray of uint64
            Those that changed, in the words of a bitmap (`Page.words`).
        """
        with self._logging:
            if not self._logs:
                return
            self._logs = self.allows(values)
            if not self._logs:
                return
            try:
                self._store.append(LoggedPage(page.first_vertex, page.last_vertex, values, active))
            except OSError as error:
                self._logs, where = False, self._store.directory
                log.warning("page %d is in no checkpoint: %s: %s", page.number, where, error.strerror or error)

    def forget(self) -> None:
        """Write no pages before the next checkpoint: the run goes on from another state than the newest one has."""
        with self._logging:
            self._logs = False

    def after(self, state: State, iterations: int) -> None:
        """At the end of an iteration, make a checkpoint if one is due, or if a signal is pending.

        A pending signal then interrupts the run. If a checkpoint cannot be written, log that and continue the run.
        """
        signalled = interrupts.pending()
        if signalled or self.is_due(iterations):
            self.guard(state, iterations)
            self.save(arrays_of(state), iterations)
        if signalled:
            self.deliver(iterations)

    def is_due(self, iterations: int) -> bool:
        """Whether to make a checkpoint when so many iterations are done."""
        now = time.perf_counter()
        seen = Measured(iterations - self._tried, now - self._last, now - self._began, self._spent, self._expected)
        return is_due(self._every, seen)

    def deliver(self, iterations: int) -> None:
        """Deliver a signal. What it raises says that there is a checkpoint; an exit, which shows no text, logs it."""
        said = f"interrupted after {iterations} iterations; {self._store.directory} has a checkpoint"
        has_checkpoint = self._saved == iterations
        try:
            interrupts.deliver()
        except SystemExit:
            if has_checkpoint:
                log.warning("%s", said)
            raise
        except BaseException as ending:
            if has_checkpoint:
                ending.add_note(said)
            raise

    def keep(self, state: State, iterations: int) -> str:
        """Make a checkpoint before an iteration that cannot begin; return how to go on from it."""
        where = self._store.directory
        try:
            self.guard(state, iterations)
        except NumberError as error:
            return f"no checkpoint was written: {error}"
        if self._saved != iterations:
            self.save(arrays_of(state), iterations)
        if self._saved != iterations:
            return f"no checkpoint could be written to {where}"
        return f"{where} has a checkpoint after {iterations} iterations: resume=True (--resume) goes on from there"

    def end(self, state: State, iterations: int) -> None:
        """At the end of the run, make a checkpoint of it, so that its answer need not be computed again."""
        if self._saved != iterations:
            self.save(arrays_of(state), iterations)
        self.mark_end(iterations)

    def mark_end(self, iterations: int) -> None:
        """Note that the run has ended after so many iterations: an error that follows says whether that is saved."""
        self._has_end = self._saved == iterations > 0

    def save(self, arrays: Mapping[str, Array], iterations: int) -> None:
        """Make a checkpoint of the `arrays` that `arrays_of` takes from a state; if it cannot be written, log that."""
        self._last, self._tried, self._logs = time.perf_counter(), iterations, False
        try:
            size = self._store.save(iterations, self._identity, arrays, self._request)
        except OSError as error:
            reason = error.strerror or error
            log.warning("no checkpoint after %d iterations: %s: %s", iterations, self._store.directory, reason)
        else:
            self._saved, self._logs = iterations, self._every.pages
            self._listener(events.Checkpoint(iterations, size, time.perf_counter() - self._last))
        self._expected = time.perf_counter() - self._last
        self._spent += self._expected

    def finish(self) -> FinishedRun:
        """Give up the checkpoints of a run that has given its answer; the caller decides when they are removed."""
        self._is_finished = True
        return FinishedRun(self._store, self._has_end)


def check_pages(bound: BoundProgram, synchronous: bool) -> None:
    """Refuse to keep what single pages have changed, if nobody could go on from that."""
    if synchronous:
        raise ParameterError(
            f"checkpoint_every={PAGE!r}: in a synchronous run, new values count at the end of an iteration only; add "
            "sync=False (--async), or give a number of iterations"
        )
    if "prepare" in bound.arguments:  # it would be called again for vertices whose in-neighbours have not been seen
        raise ParameterError(
            f"checkpoint_every={PAGE!r}: {bound.name} has prepare, which changes all vertices before the first page; "
            "give a number of iterations"
        )


def arrays_of(state: State) -> dict[str, Array]:
    """The part of a state that the next iteration depends on. Pending vertices count as active."""
    arrays = {"values": state.values, "active": state.frontier.bits | state.pending.bits}
    return arrays if state.total is None else arrays | {"total": state.total}


def replay(pages: Iterable[LoggedPage], arrays: dict[str, Array]) -> int:
    """Write what pages have changed to the arrays of the checkpoint before them; return how many pages there are.

    Vertices that were active before stay so: pages that are not in the log may not have seen their values.
    """
    count = 0
    for page in pages:
        arrays["values"][page.first : page.last].view(np.uint8)[:] = page.values.view(np.uint8)
        arrays["active"][page.words] |= page.active
        count += 1
    return count


def put(arrays: dict[str, Array], state: State, graph: Graph) -> None:
    """Write the arrays into a state: the inverse of `arrays_of`."""
    state.values.view(np.uint8)[:] = arrays["values"].view(np.uint8)
    state.frontier.bits[:] = arrays["active"]
    if graph.n % WORD:
        state.frontier.bits[-1] &= (np.uint64(1) << np.uint64(graph.n % WORD)) - np.uint64(1)
    state.frontier.mark()
    if state.total is not None:
        state.total[:] = arrays["total"]
    out = graph._arrays.out_edges.offsets
    members = np.flatnonzero(state.frontier.mask(graph.n))
    state.active_count, state.active_edges = len(members), int((out[members + 1] - out[members]).sum())
    state.changeable = state.active_count
