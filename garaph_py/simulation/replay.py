"""A recorded run, played once more: as it was, or on another device or by another engine."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..runtime.options import RunOptions
from .calibrate import calibrate, whole_room
from .machine import Machine
from .recorded import RecordedRun
from .simulate import Simulation, simulate


@dataclass(frozen=True)
class Replay:
    """A run, and what it is simulated to be otherwise.

    Attributes
    ----------
    recorded : Recorded
    simulated : Simulation
    """

    recorded: RecordedRun
    simulated: Simulation


def replay(
    recorded: RecordedRun, machine: Machine | None = None, *, device: str | None = None, engine: str | None = None,
    room: int | None = None, iterations: int | None = None,
) -> Replay:  # fmt: skip
    """Play the iterations of `recorded` again: the same vertices are active in each.

    Parameters
    ----------
    recorded : Recorded
    machine : Machine, optional
        By default the one that the run itself tells of; of a GPU that it did not use nothing is known.
    device, engine : str, optional
        By default as recorded.
    room : int, optional
        Bytes of the GPU's memory left for edges; by default as recorded.
    iterations : int, optional
        At most so many.

    Raises
    ------
    ParameterError
        If the machine lacks what such a run needs.
    """
    machine = calibrate([recorded]) if machine is None else machine
    options = recorded.options
    if device is not None or engine is not None:  # a forced mode may not be one of the other device or engine
        options = RunOptions(device=device or options.device, engine=engine or options.engine)
    workload = replace(recorded.workload, activities=recorded.workload.activities[:iterations])
    left = whole_room(recorded) if room is None else room
    return Replay(recorded, simulate(workload, machine, options, left))
