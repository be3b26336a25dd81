"""The ``garaph`` app: registers the commands, which are in the other modules."""

from __future__ import annotations

import io
import logging
import platform
import sys
from typing import Annotated

import typer

from .. import __version__
from . import convert, devices, experiment, graphs, partition, report, resume, run, simulate, top
from .terminal import OneLine

app = typer.Typer(
    help="Run vertex programs over graphs, on one machine or a Dask cluster. Try in a checkout of garaph_py: "
    "garaph run PageRank data/debian-sid-deps.tsv.xz",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def version(wanted: bool) -> None:
    """Print versions and end, if ``--version`` was given."""
    if wanted:
        from importlib import metadata

        numpy, numba = map(metadata.version, ("numpy", "numba"))
        print(f"garaph_py {__version__} (Python {platform.python_version()}, NumPy {numpy}, Numba {numba})")
        raise typer.Exit


@app.callback()
def settings(
    log: Annotated[
        str, typer.Option(help="Print log messages of this level and above: debug, info, warning.")
    ] = "warning",
    show_version: Annotated[
        bool, typer.Option("--version", callback=version, is_eager=True, help="Print versions and exit.")
    ] = False,
) -> None:
    level = logging.getLevelNamesMapping().get(log.upper())
    if level is None:
        raise typer.BadParameter(f"{log!r} is no level; choose debug, info or warning", param_hint="--log")
    handler = logging.StreamHandler()
    handler.setFormatter(OneLine("%(name)s: %(message)s"))
    handler.setLevel(level)  # loggers of other packages may have levels of their own, as Dask's
    logging.basicConfig(level=level, handlers=[handler])
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a name may have letters that the terminal's encoding lacks


app.command("run", cls=run.RunCommand)(run.run)
app.command("resume", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(resume.resume)
app.command("report")(report.report)
app.command("top")(top.top)
app.command("apps")(run.apps)
app.command("devices")(devices.devices)
app.command("import")(graphs.import_)
app.command("convert")(convert.convert)
app.command("formats")(convert.formats)
app.command("generate")(graphs.generate)
app.command("info")(graphs.info)
app.command("restripe")(graphs.restripe)
app.command("partition")(partition.partition)
app.command("verify")(graphs.verify)
app.command("experiment")(experiment.experiment)
app.command("simulate")(simulate.simulate)
app.command("calibrate")(simulate.calibrate)
