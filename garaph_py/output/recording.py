"""`Recording`: a run as traces and reports show it; and the one in a trace, for a report afterwards."""

from __future__ import annotations

import datetime
import json
import math
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FormatError
from ..events import Iteration, PageGroup, Span
from ..system.files import no_such_file
from .history import History
from .stats import Stats

PAUSES = "pauses"
"""The track of what a run does between iterations, such as checkpoints."""
OF_RUN = [item.name for item in fields(Stats) if item.name != "history"]
"""What a trace keeps of `Stats`, besides the iterations."""
WRITE_ONE = "write one by `garaph run --trace`"


@dataclass(frozen=True)
class Recording:
    """A run that has ended.

    Attributes
    ----------
    title : str
    stats : Stats
    spans : sequence of Span
    began : float
        When the run began, by ``time.perf_counter``.
    facts : mapping
        What was run, how, when and where; see `runtime.result.recorded_facts` and `circumstances`.
    totals : mapping
        The program's total at the end of iterations, by their numbers: each of its numbers by name, a single one by "".
    """

    title: str
    stats: Stats
    spans: Sequence[Span] = ()
    began: float = 0.0
    facts: Mapping[str, Any] = field(default_factory=dict)
    totals: Mapping[int, Mapping[str, float]] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """What a trace says of the run besides its events; numbers that JSON does not have are left out."""
        totals = [
            [count, {name: value for name, value in total.items() if math.isfinite(value)}]
            for count, total in self.totals.items()
        ]
        given = {name: getattr(self.stats, name) for name in OF_RUN}
        stats = {name: value.item() if isinstance(value, np.generic) else value for name, value in given.items()}
        return {**self.facts, "stats": stats, "totals": totals}


def circumstances() -> dict[str, Any]:
    """When and where the run is made, and by which command, for its facts."""
    from ..native.threads import available_cores
    from ..system.machine import processor
    from ..system.versions import versions

    here = processor(available_cores())
    return {
        "when": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "command": command(sys.argv),
        "machine": {"cpu": here.name, "cores": here.cores, "memory": here.memory},
        "versions": versions(),
    }


def command(arguments: Sequence[str]) -> str | None:
    """The command that this process was started with, as it is typed; None in an interactive session."""
    if not arguments or arguments[0] in ("", "-c"):
        return None
    program, place = Path(arguments[0]).name, Path(arguments[0]).parent.name
    is_ours = program == "garaph" or (program, place) == ("__main__.py", "garaph_py")
    return shlex.join(["garaph", *arguments[1:]] if is_ours else ["python", *arguments])


def read_recording(path: str | os.PathLike[str]) -> Recording:
    """The run in a trace that ``garaph run --trace`` has written.

    Raises
    ------
    FormatError
        If the file is missing, is not such a trace, or was written by a version whose traces say too little.
    """
    from ..io.formats.format import malformed  # what reads files takes milliseconds to import, and runs read none

    path = Path(path)
    if not os.path.isfile(path):
        raise FormatError(path, no_such_file(path, WRITE_ONE, ".json"))
    with malformed(path, f"is not a trace of garaph; {WRITE_ONE}"):
        document = json.loads(path.read_bytes(), parse_constant=number)
        facts, events = dict(document["otherData"]), document["traceEvents"]
        if "stats" not in facts:
            raise FormatError(path, "is a trace of an earlier version, which lacks data; record the run again")
        tracks = {event["tid"]: str(event["args"]["name"]) for event in events if event["name"] == "thread_name"}
        title = next(str(event["args"]["name"]) for event in events if event["name"] == "process_name")
        done = [event for event in events if event["ph"] == "X"]
        rows = [iteration(event) for event in done if tracks[event["tid"]] == "iterations"]
        spans = [span(event, tracks[event["tid"]]) for event in done if tracks[event["tid"]] != "iterations"]
        totals = {
            int(count): {str(name): number(value) for name, value in total.items()} for count, total in facts["totals"]
        }
        return Recording(title, stats(facts["stats"], rows), spans, 0.0, checked(facts), totals)


def checked(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The facts that a report shows, each of its type."""
    texts = {name: str(facts[name]) for name in ("command", "program", "graph", "when") if facts.get(name) is not None}
    named = {name: facts[name].items() for name in ("parameters", "options", "versions")}
    machine, workers = facts["machine"], facts.get("workers")
    return {
        **texts,
        **({} if workers is None else {"workers": int(workers)}),
        **{name: {str(key): str(value) for key, value in given} for name, given in named.items()},
        "machine": {"cpu": str(machine["cpu"]), "cores": int(machine["cores"]), "memory": int(machine["memory"])},
    }


def number(given: Any) -> float:
    """A finite number of a trace; raises a ValueError for anything else."""
    value = float(given)
    if not math.isfinite(value):
        raise ValueError(f"{given} is not finite")
    return value


def stats(given: Mapping[str, Any], rows: list[Iteration]) -> Stats:
    """The statistics of a run in a trace."""
    texts = {name: None if given[name] is None else str(given[name]) for name in ("note", "why")}
    return Stats(
        History(rows), bool(given["converged"]), number(given["seconds"]), int(given["threads"]), str(given["device"]),
        texts["note"], str(given["encoding"]), int(given["resumed"]), number(given["compile_seconds"]), texts["why"],
        int(given["device_bytes"]), int(given["found_bytes"]),
        {str(name): number(taken) for name, taken in given["placing"].items()},
    )  # fmt: skip


def iteration(event: Mapping[str, Any]) -> Iteration:
    """An iteration from its event."""
    count, mode = event["name"].split(": ", 1)
    details, compiling = event["args"], number(event["args"]["compiling"])
    alpha = details.get("alpha")
    active, edges, pages, skipped = (int(details[name]) for name in ("active vertices", "edges", "pages", "skipped"))
    return Iteration(
        int(count), mode, number(details["f"]), active, edges, pages, skipped,
        max(number(event["dur"]) * 1e-6 - compiling, 0.0),
        str(details["device"]), int(details["to device"]), int(details["from device"]), number(event["ts"]) * 1e-6,
        str(details["why"]), None if alpha is None else number(alpha), int(details["from disk"]),
        tuple(map(pages_of, details.get("groups", ()))),  # neither is in traces of earlier versions
        compile_seconds=compiling, sent=int(details.get("sent", 0)),
    )  # fmt: skip


def pages_of(group: Mapping[str, Any]) -> PageGroup:
    """The pages of an iteration that were processed in the same way."""
    way = group["transfer"]
    return PageGroup(
        str(group["mode"]), str(group["device"]), None if way is None else str(way), int(group["pages"]),
        int(group["edges"]),
    )  # fmt: skip


def span(event: Mapping[str, Any], track: str) -> Span:
    """A piece of work from its event."""
    start, details = number(event["ts"]) * 1e3, event["args"].items()
    known = {str(name): value for name, value in details if isinstance(value, (int, float))}
    if "page" in known:
        known["page"] = int(known["page"])
    return Span(track, str(event["name"]), int(start), int(start + number(event["dur"]) * 1e3), known)
