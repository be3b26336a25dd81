"""Runs that were measured, and those in the folder of an experiment; `traces` reads others."""

from __future__ import annotations

import functools
import json
import logging
import math
import os
import re
import statistics
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy.typing as npt

from ..apps import registry as programs
from ..codec.arrays import PACKED
from ..dispatch.engines import is_in_file
from ..dispatch.rates import Speeds
from ..errors import FormatError, ParameterError
from ..executor.gpu.gather import REPLICATED, SEGMENTED
from ..executor.modes import BOTH, COMPONENTS, CPU, GPU, NOTIFY_PULL, PUSH
from ..experiment.tables import read_rows
from ..graph.shape import Shape
from ..io.formats.format import malformed
from ..program.sources import vertices_of
from ..runtime.options import ANY, HYBRID, MODES, RunOptions
from ..runtime.plan import is_synchronous
from ..runtime.speeds import GPU_EDGE_BYTES
from ..system.arguments import is_count
from ..system.sizes import parse_bytes
from .workload import Traits, Workload, activities_of, bind_for_types, device_bytes, even_offsets

log = logging.getLogger("garaph_py")

Array = npt.NDArray[Any]
Record = Mapping[str, Any]
"""The row of a run or an iteration in a table, or an event of a trace."""

COLUMNS = ("combination", "repeat", "program", "parameters", "graph", "device", "engine", "vertices", "graph_edges")
"""Columns that results.parquet must have."""
SYMMETRIC = "symmetric"
"""Part of the name of an undirected graph."""
RAW_GATHERS = (SEGMENTED, REPLICATED)
"""Gathers for raw edges."""


@dataclass(frozen=True)
class RecordedRun:
    """A run that was measured.

    Attributes
    ----------
    graph : str
    workload : Workload
        The graph's sizes, and the numbers of active vertices in the run's iterations.
    options : RunOptions
    threads : int
        Number of CPU threads.
    room : int or None
        Bytes of the GPU's memory left for edges; None if the memory was not bounded.
    rows : tuple of dict
        The iterations: ``mode``, ``device``, ``edges``, ``active``, ``seconds``, ``to_device``, ``from_device``,
        ``pages``, ``pages_skipped``.
    copy_rate : float or None
        Bytes per second of single copies to the GPU, if a trace or an experiment's machine.json has it.
    edge_seconds : float or None
        The GPU's seconds per edge, if a trace has the times of kernels.
    start : str
        The program's parameters and its random source, if an experiment's tables have them.
    speeds : Speeds or None
        What the hardware does, if an experiment's machine.json has it.
    deterministic : bool
        Its bits were to be the same in every run.
    gpus : int
        GPUs that divided the graph; 1 also if none worked.
    peer_rate : float or None
        Bytes per second that a GPU receives from another one, and sends to it at the same time, if an experiment's
        machine.json has it.
    """

    graph: str
    workload: Workload
    options: RunOptions
    threads: int
    room: int | None
    rows: tuple[Record, ...]
    copy_rate: float | None = None
    edge_seconds: float | None = None
    start: str = ""
    speeds: Speeds | None = None
    deterministic: bool = False
    gpus: int = 1
    peer_rate: float | None = None

    @property
    def seconds(self) -> float:
        """Total seconds of all iterations."""
        return float(sum(row["seconds"] for row in self.rows))

    @property
    def course(self) -> list[tuple[str, str, int]]:
        """Mode, processor and number of active vertices of each iteration."""
        return [(row["mode"], row["device"], row["active"]) for row in self.rows]


def room_of(run: RecordedRun) -> int:
    """Bytes of the GPU's memory left for edges; if the memory was not bounded, a little more than all edges take."""
    return int(run.workload.edges * run.workload.edge_bytes * 1.01) + (1 << 20) if run.room is None else run.room


def is_first(run: RecordedRun, row: Record) -> bool:
    """Whether an iteration is the first of a run in its mode; a first pull also copies pages that stay on the GPU."""
    return row is next(one for one in run.rows if one["mode"] == row["mode"])


def read_results(folder: str | os.PathLike[str], trusted: Collection[str] = ()) -> list[RecordedRun]:
    """Read the runs in a folder that ``garaph experiment`` has written.

    The folder has results.parquet, iterations.parquet and perhaps machine.json. Runs that failed or had no iteration
    are left out. Runs with packed edges are left out, too, because the tables do not say how many bytes these take, and
    runs that cannot be simulated (`is_simulated`).

    Parameters
    ----------
    folder : path
    trusted : collection of str
        The programs and engines in files that may be run, as the tables name them, such as ``file.py:ClassName``; a
        table alone cannot have code run.

    Raises
    ------
    FormatError
        If a table is missing or damaged, or the experiment did not measure runs.
    ParameterError
        If all runs are left out, or a program or an engine is in a file that is not `trusted`.
    """
    results, iterations = (read_rows(Path(folder) / f"{name}.parquet") for name in ("results", "iterations"))
    missing = [name for name in COLUMNS if results and name not in results[0]]
    if missing:
        raise FormatError(Path(folder) / "results.parquet", f"has no {', '.join(missing)}; name an experiment of runs")
    if (machines := len({row.get("machine") for row in results})) > 1:
        raise ParameterError(f"{folder}: its runs are of {machines} machines; calibrate with the folder of one")
    for kind, name in {(kind, str(row[kind])) for row in results for kind in ("program", "engine")}:
        if (is_in_file(name) if kind == "engine" else ":" in name) and name not in trusted:
            raise ParameterError(
                f"{folder}: a table names the {kind} {name}, which is code in a file; if you trust that file, name it, "
                f"too: --{kind} {name}"
            )
    machine = Path(folder) / "machine.json"
    rates: dict[str, Any] = {
        "copy_rate": copy_rate_of(machine), "speeds": speeds_of(machine), "peer_rate": peer_rate_of(machine),
    }  # fmt: skip
    with malformed(Path(folder), "its tables are not those of an experiment of runs; measure anew"):
        for row in iterations:
            amount(row["seconds"])
        found = [replace(run, **rates) for run in recorded_runs(results, iterations)]
    if not found:
        raise ParameterError(
            f"{folder}: has no completed run with raw edges; measure some, with sync = false if a CPU finds "
            "components, and with engine = 'garaph' if they push deltas"
        )
    completed = sum(row["error"] is None for row in results)
    if len(found) < completed:
        log.warning(
            "%s: %s of %s runs left out, with packed edges, components found in one iteration by a CPU, pushes of "
            "deltas, a CPU beside several GPUs, or several GPUs that gather for notified vertices; measure them with "
            "encoding = 'raw', sync = false, engine = 'garaph' or gpus = 1",
            folder, completed - len(found), completed,
        )  # fmt: skip
    return found


def recorded_runs(results: Iterable[Record], iterations: Iterable[Record]) -> Iterator[RecordedRun]:
    """The runs in the rows of two tables; raises a ValueError or TypeError for values that they cannot have."""
    iterations_of: dict[tuple[int, int], list[Record]] = {}
    for row in iterations:
        own = {**row, "device": row["device_used"], "mode": row["mode_used"], "number": row["iteration"]}
        check_row(own)
        iterations_of.setdefault((row["combination"], row["repeat"]), []).append(own)
    for result in results:
        rows = iterations_of.get((result["combination"], result["repeat"]))
        if rows and result["error"] is None and is_raw(result):
            run = recorded_of(result, sorted(rows, key=lambda row: row["number"]))
            if is_simulated(run):
                yield run


def fastest(runs: Iterable[RecordedRun]) -> list[RecordedRun]:
    """The fastest run of each set of repeats, which is the least disturbed one."""
    return [min(repeats, key=lambda run: run.seconds) for repeats in sets_of(runs)]


def typical(runs: Iterable[RecordedRun]) -> list[RecordedRun]:
    """A run for each set of repeats: that of median time, with iterations that take the median time of all repeats.

    Repeats differ even on an idle machine: threads wake up sooner or later, and processors share pages otherwise. Only
    those repeats count whose iterations were like those of the run of median time.
    """
    found = list[RecordedRun]()
    for repeats in sets_of(runs):
        middle = sorted(repeats, key=lambda run: run.seconds)[(len(repeats) - 1) // 2]
        alike = [run.rows for run in repeats if run.course == middle.course]
        times = [statistics.median(row["seconds"] for row in each) for each in zip(*alike, strict=True)]
        rows = (row | {"seconds": seconds} for row, seconds in zip(map(dict, middle.rows), times, strict=True))
        found.append(replace(middle, rows=tuple(rows)))
    return found


def sets_of(runs: Iterable[RecordedRun]) -> Iterable[list[RecordedRun]]:
    """The sets of repeats among `runs`."""
    found: dict[Any, list[RecordedRun]] = {}
    for run in runs:
        key = run.graph, run.start, run.workload.traits, run.options, run.threads, run.room, run.gpus
        found.setdefault(key, []).append(run)
    return found.values()


def copy_rate_of(path: Path) -> float | None:
    """Bytes per second of copies to the GPU from an experiment's machine.json; None if it does not have them."""
    numbers = numbers_in(path, ("gpus", 0, "to_device"))
    return numbers[0] if numbers else None


def speeds_of(path: Path) -> Speeds | None:
    """The speeds that an experiment's machine.json has, as `runtime.speeds` measures them; None if one is missing."""
    numbers = numbers_in(path, ("cpu", "gathers"), ("gpus", 0, "copy"), ("gpus", 0, "to_device"))
    return Speeds(numbers[0], numbers[1] / GPU_EDGE_BYTES, numbers[2]) if numbers else None


def peer_rate_of(path: Path) -> float | None:
    """Bytes per second from each of two GPUs to the other, both ways at once, from an experiment's machine.json; None
    if it does not have them."""
    numbers = numbers_in(path, ("links", 0, "both"))
    return numbers[0] / 2 if numbers else None


def numbers_in(path: Path, *places: tuple[str | int, ...]) -> list[float] | None:
    """The numbers at `places` in a machine.json; None if there is no such file, or one of them was not measured."""
    if not path.exists():
        return None
    with malformed(path, "does not describe a machine; restore it, or remove it"):
        machine = json.loads(path.read_bytes())
    try:
        return [float(functools.reduce(lambda part, key: part[key], place, machine)) for place in places]
    except (ValueError, KeyError, TypeError, IndexError):
        return None


def is_raw(result: Record) -> bool:
    """Whether edges were raw on the CPU and on the GPU. If no gather is set, a run may pack raw edges for the GPU."""
    return result["encoding_used"] != PACKED and (result["device_used"] == CPU or result["gather"] in RAW_GATHERS)


def in_supersteps(rows: Iterable[Record]) -> bool:
    """Whether a run followed its program, iteration by iteration; one that found components did not."""
    return all(row["mode"] != COMPONENTS for row in rows)


def is_simulated(run: RecordedRun) -> bool:
    """Whether such a run is simulated: in supersteps, or by GPUs that find components; without deltas. If several GPUs
    share it, no CPU works beside them, and they do not gather for notified vertices."""
    if run.gpus == 1:
        modes_fit = in_supersteps(run.rows) or on_gpus_alone(run)
    else:
        modes_fit = on_gpus_alone(run) and all(row["mode"] != NOTIFY_PULL for row in run.rows)
    return modes_fit and not may_push_deltas(run)


def on_gpus_alone(run: RecordedRun) -> bool:
    """Whether GPUs did a run, with no CPU beside them."""
    return run.options.device == GPU and all(row["device"] == GPU for row in run.rows)


def gpus_of(used: str) -> int:
    """How many GPUs a run used, by the name of its device in a table (`runtime.runner.OnGpu.name`); 1 if none."""
    alike = re.match(r"(\d+) x ", used)
    return int(alike[1]) if alike else len(used.split(", "))


def may_push_deltas(run: RecordedRun) -> bool:
    """Whether vertices may push deltas in a run, as `simulate` decides: it refuses the run if they do."""
    traits, options = run.workload.traits, run.options
    has_sums = traits.pushes_deltas and (traits.synchronous or options.device == GPU)
    has_sums = has_sums and (options.device != HYBRID or options.engine == ANY)
    return has_sums and options.lists is None and PUSH in options.policy.modes and options.forced_mode in (None, PUSH)


def recorded_of(result: Record, rows: list[Record]) -> RecordedRun:
    """A run from its row in results.parquet and its `rows` in iterations.parquet."""
    kind = programs.find(result["program"])
    given = dict(part.split("=", 1) for part in (result["parameters"] or "").split(", ") if part)
    weighted = result.get("graph_weighted", True)  # earlier versions did not write it
    bound = bind_for_types(programs.build(kind, given | dict.fromkeys(vertices_of(kind), "0")), weighted)
    names = "engine", "mode", "sync", "iterations", "deterministic", "check"
    given_options: dict[str, Any] = {name: result[name] for name in names if result.get(name) is not None}
    if result.get("gather") == REPLICATED:
        given_options["gather"] = REPLICATED
    asked = RunOptions(**given_options)
    synchronous = is_synchronous(bound, asked)
    # a deterministic run whose GPU failed was on two processors, though none may be asked to
    options = replace(asked, device=device_of(result["device"], rows), deterministic=False)
    n, m = (whole(result[name], 0) for name in ("vertices", "graph_edges"))
    traits = Traits.of(bound, synchronous)
    directed = result.get("graph_directed")  # earlier versions did not write it
    directed = SYMMETRIC not in text(result["graph"]) if directed is None else directed
    width = device_bytes(bound, n, m, directed, synchronous)
    memory = result.get("gpu_memory_used") or result["gpu_memory"]  # the second may be a share of the edges
    workload = Workload(
        traits,
        n,
        m,
        even_offsets(n, m),
        tuple(activities_of(rows, m)),
        4.0 + traits.edge_value_bytes,
        width,
        known_shape=shape_in(result, n, m),
        known_nearby=result.get("graph_nearby"),
        directed=directed,
    )
    room = None if memory is None else parse_bytes(memory, "gpu_memory") - workload.fixed
    start = f"{result['parameters'] or ''} {result.get('source') or ''}".strip()
    return RecordedRun(
        text(result["graph"]), workload, options, whole(result["threads_used"], 1), room, tuple(rows), start=start,
        deterministic=asked.deterministic, gpus=gpus_of(result.get("device_used") or CPU),
    )  # fmt: skip


def text(given: Any) -> str:
    """A text of a table or a trace; raises a TypeError for anything else."""
    if not isinstance(given, str):
        raise TypeError(f"{given!r} is no text")
    return given


def flag(given: Any) -> bool:
    """True or False in a table or a trace; raises a TypeError for anything else."""
    if not isinstance(given, bool):
        raise TypeError(f"{given!r} is neither true nor false")
    return given


def whole(given: Any, least: int) -> int:
    """A whole number of a table or a trace, from `least` on; raises a ValueError for anything else."""
    if not is_count(given) or given < least:
        raise ValueError(f"{given!r} is no whole number from {least} on")
    return int(given)


def amount(given: Any) -> float:
    """A finite number of a table or a trace, 0 or more; raises a ValueError for anything else."""
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not 0 <= given < math.inf:
        raise ValueError(f"{given!r} is no number of 0 or more")
    return given


def check_row(row: Record) -> None:
    """Check the values of an iteration that a table or a trace has; raises a TypeError or ValueError."""
    for name, known in (("mode", MODES), ("device", (CPU, GPU, BOTH))):
        if row[name] not in known:
            raise ValueError(f"{row[name]!r} is no {name}")
    for name in ("number", "active", "edges"):
        whole(row.get(name, 0), 0)
    for name in ("f", "seconds", "to_device", "from_device", "pages", "pages_skipped"):
        if row.get(name) is not None:
            amount(row[name])


def shape_in(facts: Record, vertices: int, edges: int) -> Shape | None:
    """The shape of the graph's lists, in a row of a table or in a trace's facts; None if none of it was recorded.

    What an earlier version did not record yet is taken to be as in a random graph.
    """
    found = {item.name: facts.get(f"graph_{item.name}") for item in fields(Shape)}
    known: dict[str, Any] = {
        name: whole(value, 0) if name in ("lists", "turns") else amount(value)
        for name, value in found.items()
        if value is not None
    }
    return replace(Shape.expected(vertices, edges), **known) if known else None


def device_of(asked: str, rows: list[Record]) -> str:
    """The device of a run: the one that the user chose or, for ``"auto"``, the one that its iterations used."""
    devices = {row["device"] for row in rows}
    if asked != ANY or not devices:
        return CPU if asked == ANY else asked
    return HYBRID if len(devices) > 1 or BOTH in devices else devices.pop()
