"""``garaph simulate`` simulates runs; ``garaph calibrate`` fits the model of the machine."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ParameterError
from ..events import Iteration
from ..output import Progress
from ..output.table import table, ways
from ..system.files import check_place
from ..system.sizes import counted, show_bytes, show_number, show_seconds
from .options import AsJson, Quiet
from .terminal import print_json, say

if TYPE_CHECKING:
    from ..simulation import Machine
    from ..simulation.assess import Assessment
    from ..simulation.parts import Parts
    from ..simulation.peers import Gpus, Peers
    from ..simulation.spec import SpecRun

Option = typer.Option
WIDTHS = {"graph": 16, "program": 22, "engine": 16}
"""Width, in characters, of each of the columns that name a run in a table; chosen for the names of usual runs."""
HEADER = "".join(f"{name:<{width - 1}} " for name, width in WIDTHS.items())
"""The header of these columns."""


# wide: typer derives the command's options from its signature.
def simulate(
    spec: Annotated[
        Path | None,
        typer.Argument(help='A TOML file with a machine, graphs and runs; see "Simulation" in the documentation.'),
    ] = None,
    trace: Annotated[
        Path | None, Option(metavar="FILE", help="Simulate a run that `garaph run --trace` recorded.")
    ] = None,
    machine: Annotated[
        Path | None, Option(metavar="FILE", help="Use this machine instead of the spec's or the trace's.")
    ] = None,
    device: Annotated[str | None, Option(help="cpu, gpu or hybrid; by default as the spec or the trace says.")] = None,
    engine: Annotated[
        str | None,
        Option(
            help="auto, garaph, hytgraph, emogi, or file.py:ClassName for a policy of your own; by default as the spec "
            "or the trace says."
        ),
    ] = None,
    gpu_memory: Annotated[str | None, Option(metavar="SIZE", help="GPU memory to use, such as 6GiB.")] = None,
    iterations: Annotated[int | None, Option(help="Maximum number of iterations.")] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Predict runs on a model of a machine.

    The scheduler's own code decides, over a model of the machine and the sizes of pages.

    Examples:

      garaph simulate scripts/simulations/table3.toml

      garaph simulate --trace trace.json --engine garaph
    """
    from ..simulation import read_machine
    from ..simulation.spec import DEVICES, check_simulated, read_spec
    from ..system.sizes import parse_bytes

    if (spec is None) == (trace is None):
        raise ParameterError("name a spec, or a recorded run with --trace FILE")
    check_choice("device", device, DEVICES)
    if iterations is not None and iterations < 1:
        raise ParameterError(f"--iterations {iterations}: give a whole number, 1 or more")
    other = None if machine is None else read_machine(machine)
    memory = None if gpu_memory is None else parse_bytes(gpu_memory, "--gpu-memory")
    if trace is not None:
        if engine is not None:
            check_simulated(engine)
        replayed = play_again(trace, other, device, engine, memory, iterations)
        if as_json:
            print_json(replayed | {"iterations": with_ways(replayed["iterations"])})
        else:
            show_replayed(replayed, quiet)
        return
    assert spec is not None
    with Progress(quiet) as progress:
        chosen = read_spec(spec, iterations, progress, engine, device)
    runs = [(run, one) for run in chosen.runs for one in chosen.devices]
    machines = with_all_programs(other or chosen.machine, runs)
    if chosen.parts is not None:
        in_parts = partial(play_parts, machines=machines, memory=memory, parts=chosen.parts)
        show_divided(runs, chosen.parts.counts, in_parts, show_parts, as_json)
    elif chosen.gpus is not None:
        on_gpus = partial(play_gpus, machines=machines, memory=memory, gpus=chosen.gpus)
        show_divided(runs, chosen.gpus.counts, on_gpus, show_gpus, as_json)
    else:
        show_each(runs, machines, memory, as_json, quiet)


def show_each(
    runs: Sequence[tuple[SpecRun, str]], machines: Mapping[str, Machine], memory: int | None, as_json: bool, quiet: bool
) -> None:
    """Simulate the runs of a spec, and print one with its iterations, or a table of several."""
    played = (play(run, device, machines, memory) for run, device in runs)
    if as_json:
        print_json({"runs": [run | {"iterations": with_ways(run["iterations"])} for run in played]})
    elif len(runs) > 1:
        show_runs(played)
    else:
        show_run(next(played), quiet)


def check_choice(option: str, value: str | None, allowed: Collection[str]) -> None:
    """Refuse a value of an option that is not among the allowed ones; None stands for the default."""
    if value is not None and value not in allowed:
        raise ParameterError(f"--{option} {value}: choose from {', '.join(allowed)}")


def with_all_programs(machine: Machine, runs: Iterable[tuple[SpecRun, str]]) -> dict[str, Machine]:
    """`machine` by engine, with costs of all programs that use the CPU: those that it lacks are compared with what it
    has, under that engine."""
    from ..executor.modes import GPU
    from ..simulation.compare import compared

    machines: dict[str, Machine] = {}
    for run, device in runs:
        known = machines.setdefault(run.engine, machine)
        if device != GPU:
            machines[run.engine] = compared(known, run.program, run.workload.traits, run.engine)
    return machines


def play(run: SpecRun, device: str, machines: Mapping[str, Machine], memory: int | None) -> dict[str, Any]:
    """Simulate a run on a device, with the machine for its engine; what there is to know of it, as JSON has it."""
    from ..runtime.options import RunOptions
    from ..simulation import simulate
    from ..simulation.assess import extrapolations

    room = None if memory is None else memory - run.workload.fixed
    options, machine = RunOptions(device=device, engine=run.engine), machines[run.engine]
    done = simulate(run.workload, machine, options, room)
    known = run.published.get(device)
    return {
        "graph": run.graph, "program": run.workload.traits.name, "engine": run.engine, "device": device,
        "seconds": done.seconds, "published_seconds": known, "ratio": known and done.seconds / known,
        "extrapolated": extrapolations(machine, run.workload, done, options.policy),
        "iterations": done.iterations,
    }  # fmt: skip


def show_divided(
    runs: Iterable[tuple[SpecRun, str]], counts: Iterable[int], play: Callable[[SpecRun, str, int], dict[str, Any]],
    show: Callable[[list[dict[str, Any]]], None], as_json: bool,
) -> None:  # fmt: skip
    """Simulate each run, divided into each of these numbers of parts or GPUs, and print them."""
    played = [play(run, device, count) for run, device in runs for count in counts]
    if as_json:
        print_json({"runs": played})
    else:
        show(played)


def play_parts(
    run: SpecRun, device: str, count: int, machines: Mapping[str, Machine], memory: int | None, parts: Parts
) -> dict[str, Any]:  # fmt: skip
    """Simulate a run over a graph in `count` parts; what there is to know of it, as JSON has it."""
    from ..runtime.options import RunOptions
    from ..simulation.parts import simulate_parts

    options, mirrors = RunOptions(device=device, engine=run.engine), parts.mirrors(run.workload, count)
    machine = machines[run.engine]
    done = simulate_parts(run.workload, machine, options, parts.network, count, mirrors, memory)
    return {
        "graph": run.graph, "program": run.workload.traits.name, "engine": run.engine, "device": device,
        "parts": count, "mirrors": done.mirrors, "part_bytes": done.part_bytes, "fits": done.fits(machine),
        "seconds": done.seconds, "waits_for": done.waits_for, "extrapolated": done.extrapolated,
        "supersteps": [vars(one) for one in done.supersteps],
    }  # fmt: skip


def play_gpus(
    run: SpecRun, device: str, count: int, machines: Mapping[str, Machine], memory: int | None, gpus: Gpus
) -> dict[str, Any]:  # fmt: skip
    """Simulate a run on `count` GPUs of a host; what there is to know of it, as JSON has it."""
    from ..runtime.options import RunOptions
    from ..simulation.gpus import simulate_gpus

    options, machine = RunOptions(device=device, engine=run.engine), machines[run.engine]
    peers = gpus.on(machine.peers)
    done = simulate_gpus(run.workload, machine, options, peers, count, memory)
    return {
        "graph": run.graph, "program": run.workload.traits.name, "engine": run.engine, "device": device,
        "gpus": count, "seconds": done.seconds, "waits_for": done.waits_for, "extrapolated": unmeasured(peers),
        "iterations": done.iterations, "waits": [vars(one) for one in done.waits],
    }  # fmt: skip


def unmeasured(peers: Peers) -> list[str]:
    """Which costs of several GPUs were not measured, in words."""
    return [f"several GPUs: {', '.join(peers.assumed)}: not measured; as of two H200s"] if peers.assumed else []


def names(run: Mapping[str, Any]) -> str:
    """The columns that name a run in a table."""
    return "".join(f"{run[name]:<{width - 1}} " for name, width in WIDTHS.items())


def show_parts(runs: list[dict[str, Any]]) -> None:
    """Print a table with a line for each run and number of parts."""
    say(
        f"{HEADER}{'device':<8}{'parts':>6}{'mirrors':>9}{'memory':>10}{'iterations':>11}"
        f"{'s each':>11}{'seconds':>11}  waits for"
    )
    for run in runs:
        count = len(run["supersteps"])
        each = run["seconds"] / max(count, 1)
        say(
            f"{names(run)}{run['device']:<8}{run['parts']:>6}"
            f"{show_number(run['mirrors'] / 1e6) + ' M':>9}{show_bytes(run['part_bytes']):>10}{count:>11}"
            f"{each:>11.4g}{run['seconds']:>11.4g}  {run['waits_for']}{' *' * (not run['fits'])}"
        )
    show_extrapolated(dict.fromkeys(one for run in runs for one in run["extrapolated"]))
    if not all(run["fits"] for run in runs):
        say("* a part takes more memory than the machine has; take more parts, or on_disks = true")


def show_gpus(runs: list[dict[str, Any]]) -> None:
    """Print a table with a line for each run and number of GPUs."""
    say(f"{HEADER}{'GPUs':>5}{'iterations':>11}{'s each':>11}{'seconds':>11}  waits for  modes")
    for run in runs:
        modes = [one.mode for one in run["iterations"]]
        told = ", ".join(f"{one} x {modes.count(one)}" for one in dict.fromkeys(modes))
        say(
            f"{names(run)}{run['gpus']:>5}{len(modes):>11}"
            f"{run['seconds'] / max(len(modes), 1):>11.4g}{run['seconds']:>11.4g}  {run['waits_for']:<9}  {told}"
        )
    show_extrapolated(dict.fromkeys(one for run in runs for one in run["extrapolated"]))


def with_ways(iterations: Iterable[Iteration]) -> list[dict[str, Any]]:
    """Iterations as JSON has them; with the pages by way, if they are those of an engine with partitions."""
    from ..experiment.ways import pages_by_way

    return [one.row() | (pages_by_way(one) if one.groups else {}) for one in iterations]


def show_ways(iterations: Iterable[Iteration]) -> None:
    """Print how the edges of partitions reached the GPU, if the iterations are those of an engine with partitions."""
    rows = [one for one in iterations if one.groups]
    if rows:
        say("iteration  partitions")
    for one in rows:
        say(f"{one.number:>9}  {ways(one)}")


def show_run(run: dict[str, Any], quiet: bool) -> None:
    """Print the iterations of a run, and a line about it."""
    if not quiet:
        print(table(run["iterations"]))
        show_ways(run["iterations"])
    known, took = run["published_seconds"], show_seconds(run["seconds"])
    beside = "" if known is None else f"; published: {known:g} s, ratio {show_number(run['ratio'])}"
    say(f"{run['program']} on {run['graph']}, {run['device']}: {took} simulated{beside}")
    show_extrapolated(run["extrapolated"])


def show_extrapolated(beyond: Iterable[str]) -> None:
    """Print what was simulated beyond what had been measured of the machine."""
    for one in beyond:
        say(f"extrapolated: {one}")


def show_runs(runs: Iterable[dict[str, Any]]) -> None:
    """Print a table with a line for each run."""
    beyond: list[str] = []
    for number, run in enumerate(runs):
        if number == 0:  # the first one may end with an error
            say(f"{HEADER}{'device':<8}{'published, s':>13}{'simulated, s':>14}{'ratio':>7}")
        beyond += run["extrapolated"]
        known = run["published_seconds"]
        published, ratio = ("-", "-") if known is None else (f"{known:g}", show_number(run["ratio"]))
        name = f"{names(run)}{run['device']:<8}"
        say(f"{name}{published:>13}{run['seconds']:>14.4g}{ratio:>7}{' *' * bool(run['extrapolated'])}")
    for one in dict.fromkeys(beyond):
        say(f"* extrapolated: {one}")


def play_again(
    trace: Path, machine: Machine | None, device: str | None, engine: str | None, memory: int | None,
    iterations: int | None,
) -> dict[str, Any]:  # fmt: skip
    """Simulate a recorded run; the recorded and the simulated iterations, as JSON has them."""
    from ..simulation.assess import extrapolations
    from ..simulation.replay import replay
    from ..simulation.traces import read_trace

    recorded = read_trace(trace, engine)
    room = None if memory is None else memory - recorded.workload.fixed
    again = replay(recorded, machine, device=device, engine=engine, room=room, iterations=iterations)
    done = again.simulated
    beyond = extrapolations(again.machine, recorded.workload, done, again.options.policy)
    was = recorded.rows[: len(done.iterations)]
    return {
        "program": recorded.workload.traits.name, "recorded_seconds": sum(row["seconds"] for row in was),
        "seconds": done.seconds, "extrapolated": beyond, "recorded_iterations": list(map(dict, was)),
        "iterations": done.iterations,
    }  # fmt: skip


def show_replayed(run: dict[str, Any], quiet: bool) -> None:
    """Print the recorded and the simulated iterations side by side."""
    if not quiet:
        print(table(run["iterations"]))
        say(f"{'iteration':>9}  {'recorded':<22}{'ms':>10}  {'simulated':<22}{'ms':>10}")
        for row, played in zip(run["recorded_iterations"], run["iterations"], strict=True):
            was, now = f"{row['device']} {row['mode']}", f"{played.device} {played.mode}"
            took = [f"{show_number(seconds * 1e3):>10}" for seconds in (row["seconds"], played.seconds)]
            say(f"{played.number:>9}  {was:<22}{took[0]}  {now:<22}{took[1]}")
        show_ways(run["iterations"])
    was, now = map(show_seconds, (run["recorded_seconds"], run["seconds"]))
    say(f"{run['program']}: {was} recorded, {now} simulated")
    show_extrapolated(run["extrapolated"])


def calibrate(
    results: Annotated[Path, typer.Argument(help="The folder of a `garaph experiment`.")],
    out: Annotated[Path, Option("--out", "-o", metavar="FILE", help="Where to write the machine, as TOML.")],
    program: Annotated[
        list[str] | None,
        Option(metavar="FILE.py:NAME", help="A program of the experiment that is code in a file; may be repeated."),
    ] = None,
    engine: Annotated[
        list[str] | None, Option(metavar="FILE.py:NAME", help="A policy of your own in it; may be repeated.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Fit a model of a machine to an experiment.

    `garaph simulate` reads the model. The command takes the median of each run's repeats, and says how well the model
    fits. It simulates each run on this model ("fitted"), and on one that is fitted only to graphs of other sizes
    ("held out").

    Example:

      garaph calibrate figure11 --out machine.toml
    """
    from ..simulation import write_machine
    from ..simulation.assess import assess
    from ..simulation.calibrate import calibrate
    from ..simulation.recorded import read_results, typical

    check_place(out, "--out")
    runs = typical(read_results(results, [*(program or ()), *(engine or ())]))
    machine = calibrate(runs)
    write_machine(machine, out, f"Calibrated by `garaph calibrate` on {len(runs)} runs in {results.name}.")
    fit = assess(runs, machine)
    if as_json:
        counts = {"machine": out, "cores": machine.cores, "kinds": len(machine.work), "runs": len(runs)}
        counts |= {} if machine.peers is None else {"gpus": vars(machine.peers)}
        print_json(counts | {"fit": [fit_row(one) for one in fit]})
        return
    show_fit(fit)
    if machine.peers is not None:
        show_peers(machine.peers)
    kinds = counted(len(machine.work), "kind of work", "kinds of work")
    say(f"wrote {out}: {counted(machine.cores, 'core')}, {kinds}, from {counted(len(runs), 'run')}")


def fit_row(one: Assessment) -> dict[str, Any]:
    """A measured run and its predictions, as JSON has them."""
    return {
        "graph": one.run.graph, "program": one.run.workload.traits.name, "device": one.run.options.device,
        "engine": one.run.options.engine, "gpus": one.run.gpus, "measured_seconds": one.run.seconds,
        "fitted_seconds": one.fitted, "fitted_error": one.error,
        "held_out_seconds": one.held_out, "held_out_error": one.held_out_error,
    }  # fmt: skip


def row_of(one: Assessment) -> tuple[str, ...]:
    """The same as cells of a table."""
    run, device = one.run, one.run.options.device + (f" x {one.run.gpus}" if one.run.gpus > 1 else "")
    names = run.graph, run.workload.traits.name, str(run.options.engine), device
    return *names, f"{run.seconds:.4g}", percent(one.error), percent(one.held_out_error)


def show_fit(fit: list[Assessment]) -> None:
    """Print how much the predictions for each run differ from what was measured, and for all."""
    from ..simulation.assess import size_of, spread

    heads = ("graph", "program", "engine", "device", "measured, s", "fitted", "held out")
    rows = [heads, *map(row_of, fit)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = zip(row, widths, "<<<<>>>", strict=True)
        say("  ".join(f"{cell:{side}{width}}" for cell, width, side in cells))
    for what, errors in (("fitted", [one.error for one in fit]), ("held out", [one.held_out_error for one in fit])):
        if found := spread(errors):
            say(f"{what}: off by {found[0]:.1%} in the median, {found[1]:.1%} at most")
    if len({size_of(one.run) for one in fit}) < 3:
        say("note: fewer than three sizes of graphs; held-out errors mean little then, so add sizes to the experiment")


def show_peers(peers: Peers) -> None:
    """Print what several GPUs cost each other, and which of these costs the runs do not show."""
    from ..simulation.peers import COSTS

    if fitted := [f"{name} = {getattr(peers, name):.3g}" for name in COSTS if name not in peers.assumed]:
        say(f"several GPUs: {', '.join(fitted)}")
    if peers.assumed:
        say(f"note: the runs do not show what several GPUs cost: {', '.join(peers.assumed)} are those of two H200s")


def percent(error: float | None) -> str:
    """An error with its sign."""
    return "-" if error is None else f"{error:+.1%}"
