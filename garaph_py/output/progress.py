"""Shows progress in the terminal: a bar for every step, and a line about the current iteration."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any

from .. import events
from ..errors import printable


class Progress:
    """A listener for ``on_event`` that shows progress on standard error, if that is a terminal.

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
        self._bars: Any = None
        self._tasks: dict[str, Any] = {}
        if not quiet and sys.stderr.isatty():
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
            return
        if isinstance(event, events.Step):
            task = self._task(event.name)
            elapsed = self._bars.tasks[task].elapsed or 0
            note = amount(event.done, event.total, event.unit, elapsed)
            self._bars.update(task, completed=event.done, total=event.total or None, note=note)
            return
        speed = f"{event.edges_per_second / 1e6:,.0f} M edges/s"
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
    text = f"{done / scale:,.0f} of {total / scale:,.0f} {name}" if total else f"{done / scale:,.0f} {name}"
    return f"{text}, {done / scale / seconds:,.0f} {name}/s" if scale > 1 and seconds > 0 else text
