"""Simulate a recorded run as it was, or with another device or another engine."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..errors import ParameterError
from ..runtime.options import RunOptions
from .calibrate import calibrate
from .machine import Machine
from .recorded import RecordedRun, room_of
from .simulate import Simulation, simulate


@dataclass(frozen=True)
class Replay:
    """A recorded run and its simulation.

    Attributes
    ----------
    recorded : RecordedRun
    machine : Machine
        On which the run was simulated.
    simulated : Simulation
    options : RunOptions
        Those of the simulated run.
    """

    recorded: RecordedRun
    machine: Machine
    simulated: Simulation
    options: RunOptions


def replay(
    recorded: RecordedRun, machine: Machine | None = None, *, device: str | None = None, engine: str | None = None,
    room: int | None = None, iterations: int | None = None,
) -> Replay:  # fmt: skip
    """Simulate the iterations of a recorded run, with the recorded numbers of active vertices.

    Parameters
    ----------
    recorded : RecordedRun
    machine : Machine, optional
        By default a machine that is calibrated with this run; it has a GPU only if the run used one.
    device, engine : str, optional
        By default as recorded.
    room : int, optional
        Bytes of the GPU's memory left for edges; by default as recorded.
    iterations : int, optional
        Maximum number of iterations to simulate.

    Raises
    ------
    ParameterError
        If the machine lacks what the run needs.
    """
    machine = calibrate([recorded]) if machine is None else machine
    options = recorded.options
    if device is not None or engine is not None:  # the other device or engine may not have a forced mode
        options = RunOptions(device=device or options.device, engine=engine or options.engine, trace=options.trace)
        check_partitions(recorded.options, options)
    workload = replace(recorded.workload, activities=recorded.workload.activities[:iterations])
    left = room_of(recorded) if room is None else room
    return Replay(recorded, machine, simulate(workload, machine, options, left), options)


def check_partitions(recorded: RunOptions, asked: RunOptions) -> None:
    """Refuse partitions of another size: the recorded numbers are of those that there were."""
    before, now = (lists and lists.partitions for lists in (recorded.lists, asked.lists))
    if before and now and before.nbytes != now.nbytes:
        raise ParameterError(
            f"engine={asked.engine!r}: the run was recorded with partitions of {before.nbytes} bytes; record it anew, "
            f"or give partition_bytes={before.nbytes}"
        )
