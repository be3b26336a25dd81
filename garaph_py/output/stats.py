"""`Stats`: statistics of a run and of each of its iterations."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..codec.arrays import RAW
from ..errors import ParameterError
from ..events import COLUMNS, Iteration
from ..system.sizes import show_bytes, show_seconds
from .history import History
from .table import table


@dataclass(frozen=True)
class Stats:
    """Statistics of a run. ``print(stats)`` shows a table of its iterations.

    Attributes
    ----------
    iterations : list of events.Iteration
    history : History
        The iterations. Those that a GPU did without the host have records once somebody asks for `iterations`.
    converged : bool
        False if the limit on iterations ended the run.
    seconds : float
        Wall time of all iterations, without compiling; on a cluster, with the time in which parts moved.
    threads : int
        CPU threads.
    device : str
        The device at the end of the run: ``"cpu"``, or the GPU's name. On a cluster, the processors of the last
        iteration: ``"cpu"``, ``"gpu"`` or ``"both"``.
    note : str or None
        Why a GPU was not used although there is a driver, was not used to the end, or was used with less than was asked
        for; on a cluster, which workers went, and why parts moved.
    encoding : {"raw", "packed"}
        How the edges were stored.
    resumed : int
        If the run resumed from a checkpoint: the iterations that were done before it.
    compile_seconds : float
        Wall time that the run spent compiling, before iterations and in them; 0.0 if all code was compiled already.
        On a cluster it is summed over iterations only: of each, how much later it ended because workers compiled.
    why : str or None
        Why ``device="auto"`` or ``"hybrid"`` chose the processors that began the run: with ``"auto"`` the time that was
        expected of the whole call on each; why GPUs work without the CPU; and why so many GPUs. None if ``"cpu"`` or
        ``"gpu"`` was given, if there is no driver of a GPU, and for small graphs.
    device_bytes : int
        Bytes of the graph that the GPU's memory keeps after the run, for later ones.
    found_bytes : int
        How many bytes of the graph the run found there, so that it neither made nor copied them.
    placing : dict of str to float
        With an engine that pushes along lists (``"emogi"``, ``"etagraph"``, ``"grus"``, ``"hytgraph"``): seconds that
        the run took, before its iterations or in the first, to put edge lists where the GPU reads them, such as
        ``{"pin": 0.1}``; empty if they were there already.
    """

    history: History
    converged: bool
    seconds: float
    threads: int
    device: str = "cpu"
    note: str | None = None
    encoding: str = RAW
    resumed: int = 0
    compile_seconds: float = 0.0
    why: str | None = None
    device_bytes: int = 0
    found_bytes: int = 0
    placing: dict[str, float] = field(default_factory=dict)

    @property
    def iterations(self) -> list[Iteration]:
        """The records of all iterations, as `events.Iteration`."""
        return self.history.records()

    @property
    def edges(self) -> int:
        """Edges visited in all iterations."""
        return sum(iteration.edges for iteration in self.iterations)

    def columns(self) -> dict[str, list[Any]]:
        """The table of iterations: a list for each column, by name."""
        return {name: [getattr(iteration, name) for iteration in self.iterations] for name in COLUMNS}

    def to_pandas(self) -> Any:
        """The table of iterations as a DataFrame."""
        return import_pandas().DataFrame(self.columns())

    def __str__(self) -> str:
        took = show_seconds(self.compile_seconds)
        compiled = f"\ncompiling took {took}, which no row includes" if self.compile_seconds else ""
        return table(self.iterations) + compiled + (f"\n{self.kept}" if self.kept else "")

    @property
    def kept(self) -> str:
        """What the GPU's memory keeps of the graph, in words; empty if it keeps nothing."""
        if not self.device_bytes:
            return ""
        found = f", {show_bytes(self.found_bytes)} found there" if self.found_bytes else ""
        return f"{show_bytes(self.device_bytes)} of the graph in the GPU's memory{found}"


def import_pandas() -> Any:
    """The package pandas.

    Raises
    ------
    ParameterError
        If it is not installed.
    """
    try:
        import pandas
    except ImportError:
        raise ParameterError("to_pandas needs pandas; install it with `pip install pandas`") from None
    return pandas
