"""Shows progress in the terminal: a bar for every step, and a line about the current iteration."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any

from .. import events
from ..errors import printable
from ..native.compiling import notice
from ..system.sizes import show_number


class Progress:
    """A listener for ``on_event`` that shows progress on standard error, if that is a terminal.

    If it is not, such as in a script, one line is logged if compiling takes more than two seconds.

    Parameters
    ----------
    quiet : bool
        If True, it shows nothing.

    Examples
    --------
    >>> with gp.Progress() as progress:
    ...     graph = gp.rmat(10, on_event=progress)
    """

    def __init__(self, quiet: bool = False) -> None:
        self._quiet = quiet
        self._bars: Any = None
        self._tasks: dict[str, Any] = {}
        if not quiet and sys.stderr is not None and sys.stderr.isatty():  # None in a process without one
            from rich.console import Console
            from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

            self._bars = Progress(
                SpinnerColumn(),
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                TextColumn("{task.fields[note]}"),
                TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
            )

    def __call__(self, event: events.Event) -> None:
        if self._bars is None or isinstance(event, events.Checkpoint):
            if not self._quiet:
                notice(event)
            return
        if isinstance(event, events.Step):
            task = self._task(event.name)
            elapsed = self._bars.tasks[task].elapsed or 0
            note = amount(event.done, event.total, event.unit, elapsed)
            self._bars.update(task, completed=event.done, total=event.total or None, note=note)
            return
        speed = f"{show_number(event.edges_per_second / 1e6)} M edges/s"
        note = f"iteration {event.number}: {event.mode}, {event.active:,} active, {speed}"
        self._bars.update(self._task("running"), total=None, note=note)

    def _task(self, name: str) -> Any:
        if name not in self._tasks:
            self._tasks[name] = self._bars.add_task(printable(name), total=None, note="")
        return self._tasks[name]

    def __enter__(self) -> Progress:
        if self._bars is not None:
            self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bars is not None:
            self._bars.stop()


def amount(done: int, total: int, unit: str, seconds: float) -> str:
    """Progress as text such as ``12 of 80 MB, 240 MB/s``."""
    scale, name = (1e6, "MB") if unit == "bytes" else (1e6, "M edges") if unit == "edges" else (1, unit)
    shown = f"{show_number(done / scale)}" if scale > 1 else f"{done:,}"
    whole = f"{show_number(total / scale)}" if scale > 1 else f"{total:,}"
    text = f"{shown} of {whole} {name}" if total else f"{shown} {name}"
    return f"{text}, {show_number(done / scale / seconds)} {name}/s" if scale > 1 and seconds > 0 else text
