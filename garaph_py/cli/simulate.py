"""``garaph simulate`` simulates runs; ``garaph calibrate`` fits the model of the machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import ParameterError
from ..output import Progress
from ..output.table import table
from ..system.files import check_place
from .options import Quiet
from .terminal import say

if TYPE_CHECKING:
    from ..simulation import Machine
    from ..simulation.spec import Spec

Option = typer.Option


# wide: typer derives the command's options from its signature.
def simulate(
    spec: Annotated[
        Path | None, typer.Argument(help="A TOML file with a machine, graphs and runs; see docs/simulation.md.")
    ] = None,
    trace: Annotated[
        Path | None, Option(metavar="FILE", help="Simulate a run that `garaph run --trace` recorded.")
    ] = None,
    machine: Annotated[
        Path | None, Option(metavar="FILE", help="Use this machine instead of the spec's or the trace's.")
    ] = None,
    device: Annotated[str | None, Option(help="cpu, gpu or hybrid; by default as the spec or the trace says.")] = None,
    engine: Annotated[str | None, Option(help="auto or garaph; by default as the spec or the trace says.")] = None,
    gpu_memory: Annotated[str | None, Option(metavar="SIZE", help="GPU memory to use, such as 6GiB.")] = None,
    iterations: Annotated[int | None, Option(help="Maximum number of iterations.")] = None,
    quiet: Quiet = False,
) -> None:
    """Simulate runs: the scheduler's own code over a model of a machine and the sizes of pages.

    Examples:

      garaph simulate scripts/simulations/table3.toml

      garaph simulate --trace trace.json --engine garaph
    """
    from ..runtime.options import ENGINES
    from ..simulation import read_machine
    from ..simulation.spec import DEVICES, read_spec
    from ..system.sizes import parse_bytes

    if (spec is None) == (trace is None):
        raise ParameterError("name a spec, or a recorded run with --trace FILE")
    for name, value, choices in (("device", device, DEVICES), ("engine", engine, ENGINES)):
        if value is not None and value not in choices:
            raise ParameterError(f"--{name} {value}: choose from {', '.join(choices)}")
    if iterations is not None and iterations < 1:
        raise ParameterError(f"--iterations {iterations}: give a whole number, 1 or more")
    other = None if machine is None else read_machine(machine)
    memory = None if gpu_memory is None else parse_bytes(gpu_memory, "--gpu-memory")
    if trace is not None:
        play_again(trace, other, device, engine, memory, iterations, quiet)
        return
    assert spec is not None
    with Progress(quiet) as progress:
        chosen = read_spec(spec, iterations, progress)
    play(
        chosen, other or chosen.machine, (device,) if device else chosen.devices, engine or chosen.engine, memory, quiet
    )


def play(spec: Spec, machine: Machine, devices: tuple[str, ...], engine: str, memory: int | None, quiet: bool) -> None:
    """Simulate every run on every device, and print a table; for a single run, also print its iterations."""
    from ..runtime.options import RunOptions
    from ..simulation import simulate

    alone = len(spec.runs) * len(devices) == 1
    if not alone:
        say(f"{'graph':<16}{'program':<22}{'device':<8}{'published, s':>13}{'simulated, s':>14}{'ratio':>7}")
    for run in spec.runs:
        for device in devices:
            room = None if memory is None else memory - run.workload.fixed
            done = simulate(run.workload, machine, RunOptions(device=device, engine=engine), room)
            name, known = run.workload.traits.name, run.published.get(device)
            ratio = "-" if known is None else f"{done.seconds / known:.2f}"
            if alone:
                if not quiet:
                    print(table(done.iterations))
                beside = "" if known is None else f"; published: {known:g} s, ratio {ratio}"
                say(f"{name} on {run.graph}, {device}: {done.seconds:.4g} s simulated{beside}")
                continue
            published = "-" if known is None else f"{known:g}"
            say(f"{run.graph:<16}{name:<22}{device:<8}{published:>13}{done.seconds:>14.4g}{ratio:>7}")


def play_again(
    trace: Path, machine: Machine | None, device: str | None, engine: str | None, memory: int | None,
    iterations: int | None, quiet: bool,
) -> None:  # fmt: skip
    """Simulate a recorded run, and print the recorded and the simulated iterations side by side."""
    from ..simulation.recorded import read_trace
    from ..simulation.replay import replay

    recorded = read_trace(trace)
    room = None if memory is None else memory - recorded.workload.fixed
    done = replay(recorded, machine, device=device, engine=engine, room=room, iterations=iterations).simulated
    rows = recorded.rows[: len(done.iterations)]
    if not quiet:
        print(table(done.iterations))
        say(f"{'iteration':>9}  {'recorded':<22}{'ms':>10}  {'simulated':<22}{'ms':>10}")
        for row, played in zip(rows, done.iterations, strict=True):
            was, now = f"{row['device']} {row['mode']}", f"{played.device} {played.mode}"
            say(f"{played.number:>9}  {was:<22}{row['seconds'] * 1e3:>10.3f}  {now:<22}{played.seconds * 1e3:>10.3f}")
    was = sum(row["seconds"] for row in rows)
    say(f"{recorded.workload.traits.name}: {was:.4g} s recorded, {done.seconds:.4g} s simulated")


def calibrate(
    results: Annotated[Path, typer.Argument(help="The folder of a `garaph experiment`.")],
    out: Annotated[Path, Option("--out", "-o", metavar="FILE", help="Where to write the machine, as TOML.")],
) -> None:
    """Fit a machine to the fastest of each experiment's repeats, for `garaph simulate`.

    Example:

      garaph calibrate figure11 --out machine.toml
    """
    from ..simulation import write_machine
    from ..simulation.calibrate import calibrate
    from ..simulation.recorded import fastest, read_results

    check_place(out, "--out")
    runs = fastest(read_results(results))
    machine = calibrate(runs)
    write_machine(machine, out, f"Calibrated by `garaph calibrate` on {len(runs)} runs in {results.name}.")
    say(f"wrote {out}: {machine.cores} cores, {len(machine.work)} kinds of work, from {len(runs)} runs")
