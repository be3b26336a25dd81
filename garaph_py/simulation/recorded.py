"""Runs that were measured, read from the folder of an experiment or from a trace."""

from __future__ import annotations

import contextlib
import functools
import json
import logging
import os
import re
import statistics
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..apps import registry as programs
from ..codec.arrays import PACKED
from ..dispatch.engines import class_of, engine_name, is_in_file
from ..dispatch.rates import Speeds
from ..errors import FormatError, ParameterError
from ..executor.gpu.gather import REPLICATED, SEGMENTED
from ..executor.gpu.work import PULLING
from ..executor.modes import BOTH, COMPONENTS, CPU, GPU, NOTIFY_PULL, PUSH
from ..executor.partitions import PartitionCounts
from ..experiment.tables import read_rows
from ..graph.shape import Shape
from ..io.formats.format import malformed
from ..program import VertexId
from ..program.fields import hints
from ..runtime.options import ANY, HYBRID, RunOptions
from ..runtime.plan import is_synchronous
from ..runtime.speeds import GPU_EDGE_BYTES
from ..system.files import no_such_file
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
WRITE_ONE = "write one by `garaph run --trace`"
"""How to get a trace."""
TRACED = "-"
"""The path of a trace in the options of a run that wrote one: each superstep was recorded, so none was in a chain."""
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
    """The runs in the rows of two tables."""
    iterations_of: dict[tuple[int, int], list[Record]] = {}
    for row in iterations:
        own = {**row, "device": row["device_used"], "mode": row["mode_used"], "number": row["iteration"]}
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
    vertices = {name: "0" for name, hint in hints(kind).items() if hint == VertexId}
    weighted = result.get("graph_weighted", True)  # earlier versions did not write it
    bound = bind_for_types(programs.build(kind, given | {name: vertices[name] for name in vertices}), weighted)
    names = "engine", "mode", "sync", "iterations", "deterministic", "check"
    given_options: dict[str, Any] = {name: result[name] for name in names if result.get(name) is not None}
    if result.get("gather") == REPLICATED:
        given_options["gather"] = REPLICATED
    asked = RunOptions(**given_options)
    synchronous = is_synchronous(bound, asked)
    # a deterministic run whose GPU failed was on two processors, though none may be asked to
    options = replace(asked, device=device_of(result["device"], rows), deterministic=False)
    n, m = result["vertices"], result["graph_edges"]
    traits = Traits.of(bound, synchronous)
    directed = result.get("graph_directed")  # earlier versions did not write it
    directed = SYMMETRIC not in result["graph"] if directed is None else directed
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
        result["graph"], workload, options, result["threads_used"], room, tuple(rows), start=start,
        deterministic=asked.deterministic, gpus=gpus_of(result.get("device_used") or CPU),
    )  # fmt: skip


def read_trace(path: str | os.PathLike[str], engine: str | None = None) -> RecordedRun:
    """Read the run in a trace that ``garaph run --trace`` has written.

    Parameters
    ----------
    path : path
    engine : str, optional
        The engine that the user names. A policy of a user's own that the trace names is not looked for in a file: this
        engine takes its place if the two classes have the same name, and otherwise ``"auto"`` does.

    Raises
    ------
    FormatError
        If the file is missing or is not a trace.
    ParameterError
        If the run was under such a policy, and the user names no engine.
    """
    try:
        document = json.loads(Path(path).read_bytes())
        facts, events = document["otherData"], document["traceEvents"]
        own = engine_in(text(facts["engine"]), engine)
        run = traced(facts, [event for event in events if event["ph"] in ("X", "M")], own or ANY)
    except (FileNotFoundError, IsADirectoryError):
        raise FormatError(path, no_such_file(path, WRITE_ONE, ".json")) from None
    except (ValueError, KeyError, TypeError, ArithmeticError):
        raise FormatError(path, f"is not a trace of garaph; {WRITE_ONE}") from None
    if own is None and engine is None:
        raise ParameterError(
            f"{path}: its run was under the policy {facts['engine']!r}, which is code that a trace alone cannot have "
            "run; if you trust its file, name it: --engine FILE.py:CLASS"
        )
    if "workers" in facts:
        raise FormatError(path, "its run was on a cluster; record one on a single machine")
    if not in_supersteps(run.rows):
        raise FormatError(path, "its run found components in one iteration; record one with --async or --sync")
    if may_push_deltas(run):
        raise FormatError(
            path,
            "vertices of its run may push deltas, which a simulation has no costs of; record one with --engine garaph",
        )
    return run


def text(given: Any) -> str:
    """A text of a trace; raises a TypeError for anything else."""
    if not isinstance(given, str):
        raise TypeError(f"{given!r} is no text")
    return given


def engine_in(recorded: str, named: str | None) -> str | None:
    """The engine to take for that of a run: the `recorded` one, if no file has to be run for it, or else the one that
    the user has `named`, if its class has the same name; None if neither is."""
    if not is_in_file(recorded):
        with contextlib.suppress(ParameterError):
            return engine_name(recorded)
    return named if named is not None and class_of(named) == class_of(recorded) else None


def shape_in(facts: Record, vertices: int, edges: int) -> Shape | None:
    """The shape of the graph's lists, in a row of a table or in a trace's facts; None if none of it was recorded.

    What an earlier version did not record yet is taken to be as in a random graph.
    """
    found = {item.name: facts.get(f"graph_{item.name}") for item in fields(Shape)}
    known: dict[str, Any] = {name: value for name, value in found.items() if value is not None}
    return replace(Shape.expected(vertices, edges), **known) if known else None


def traced(facts: Record, events: list[Record], engine: str) -> RecordedRun:
    """A run under `engine` from the facts and the events of its trace."""
    tracks = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    spans = [event for event in events if event["ph"] == "X"]
    rows = [row_of(span) for span in spans if tracks[span["tid"]] == "iterations"]
    n, m, asked = facts["vertices"], facts["edges"], facts.get("options", {})
    has_buckets = facts["relaxes"] and facts["priority"] and not facts["synchronous"]
    traits = Traits(
        facts["program"], facts["value_bytes"], facts["edge_value_bytes"], facts["everybody"], facts["relaxes"],
        facts["synchronous"], has_buckets, facts.get("done", False), facts.get("ends_late", False),
        pushes_deltas=facts.get("deltas", False),
    )  # fmt: skip
    copies = [span for span in spans if tracks[span["tid"]] == "copy to device"]
    kernels = [span for span in spans if tracks[span["tid"]].startswith("stream") and span["name"] == PULLING]
    copied = sum(span["args"]["edges"] for span in copies)
    width = sum(row["to_device"] for row in rows) / copied if copied else 4.0 + traits.edge_value_bytes
    # an estimate for any program: one or two arrays of values, one of sums, and the offsets of one or both directions
    vertex_bytes = traits.value_bytes * (2 + facts["synchronous"]) + 8.0 * (1 + facts["directed"])
    workload = Workload(
        traits, n, m, even_offsets(n, m), tuple(activities_of(rows, m)), width, vertex_bytes,
        pushes=facts["pushes"], kernels=costs_of(kernels, m), known_shape=shape_in(facts, n, m),
        known_nearby=facts.get("graph_nearby"), directed=facts["directed"],
        page_edges=int(asked["page_edges"]) if "page_edges" in asked else None,
    )  # fmt: skip
    device = device_of(facts["device"], rows)
    memory = facts["gpu_memory"]
    return RecordedRun(
        facts["program"], workload, RunOptions(device=device, engine=engine, mode=facts["mode"], trace=TRACED),
        facts["threads"], None if memory is None else memory - workload.fixed, tuple(rows),
        copied * width / seconds_of(copies) if copied else None,
        seconds_of(kernels) / sum(span["args"]["edges"] for span in kernels) if kernels else None,
    )  # fmt: skip


def costs_of(kernels: list[Record], edges: int) -> tuple[Array, Array] | None:
    """`Workload.kernels`, from the spans of all kernels; None if they do not cover all pages."""
    pages: dict[int, list[Record]] = {}
    for span in sorted(kernels, key=lambda span: -span["args"]["edges"]):
        own = pages.setdefault(span["args"]["page"], [span])
        if own[0] is not span and own[0]["args"]["edges"] == span["args"]["edges"]:  # not a part of the page
            own.append(span)
    ordered = [pages[number] for number in sorted(pages)]
    sizes = np.array([spans[0]["args"]["edges"] for spans in ordered])
    taken = np.array([np.mean([span["dur"] for span in spans]) for spans in ordered])
    if not edges or sizes.sum() != edges or not taken.sum():
        return None
    before = (np.concatenate([[0.0], np.cumsum(column)]) for column in (sizes, taken * (edges / taken.sum())))
    return next(before), next(before)


def device_of(asked: str, rows: list[Record]) -> str:
    """The device of a run: the one that the user chose or, for ``"auto"``, the one that its iterations used."""
    devices = {row["device"] for row in rows}
    if asked != "auto" or not devices:
        return CPU if asked == "auto" else asked
    return HYBRID if len(devices) > 1 or BOTH in devices else devices.pop()


def seconds_of(spans: list[Record]) -> float:
    """Total seconds covered by at least one of the spans."""
    total, end = 0.0, float("-inf")
    for begin, stop in sorted((span["ts"], span["ts"] + span["dur"]) for span in spans):
        total += max(stop - max(begin, end), 0.0)
        end = max(end, stop)
    return total * 1e-6


def counts_in(details: Record | None) -> PartitionCounts | None:
    """What an engine knew of each partition, in a trace."""
    if details is None:
        return None
    given: dict[str, Any] = {
        name: np.array(value) if isinstance(value, list) else value for name, value in details.items()
    }
    return PartitionCounts(**given)


def row_of(span: Record) -> Record:
    """An iteration from its span in a trace."""
    number, mode = span["name"].split(": ")
    details = span["args"]
    return {
        "number": int(number), "mode": mode, "f": details["f"], "active": details["active vertices"],
        "edges": details["edges"], "seconds": span["dur"] * 1e-6 - details.get("compiling", 0.0),
        "device": details["device"],
        "to_device": details["to device"], "from_device": details["from device"], "pages": details["pages"],
        "pages_skipped": details["skipped"], "partitions": counts_in(details.get("partitions")),
    }  # fmt: skip
