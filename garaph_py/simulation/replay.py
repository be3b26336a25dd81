"""Simulate a recorded run: as it was, or on another device or by another engine."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..runtime.options import RunOptions
from .calibrate import calibrate, room_of
from .machine import Machine
from .recorded import RecordedRun
from .simulate import Simulation, simulate


@dataclass(frozen=True)
class Replay:
    """A recorded run and its simulation.

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
    """Simulate the iterations of a recorded run: as many vertices are active in each as were then.

    Parameters
    ----------
    recorded : Recorded
    machine : Machine, optional
        By default a machine that is calibrated by this run; it has a GPU only if the run used one.
    device, engine : str, optional
        By default as recorded.
    room : int, optional
        Bytes of the GPU's memory left for edges; by default as recorded.
    iterations : int, optional
        Simulate at most so many.

    Raises
    ------
    ParameterError
        If the machine lacks what the run needs.
    """
    machine = calibrate([recorded]) if machine is None else machine
    options = recorded.options
    if device is not None or engine is not None:  # a forced mode may not be one of the other device or engine
        options = RunOptions(device=device or options.device, engine=engine or options.engine)
    workload = replace(recorded.workload, activities=recorded.workload.activities[:iterations])
    left = room_of(recorded) if room is None else room
    return Replay(recorded, simulate(workload, machine, options, left))
