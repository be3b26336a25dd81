"""The command ``garaph``: it parses options, calls the library, and prints."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # as in `typing`, which is not imported before `main` handles Ctrl-C
if TYPE_CHECKING:
    from types import FrameType

INTERRUPTED, NOTHING = 130, "interrupted; nothing was written"
"""Exit status after Ctrl-C, 128 plus the number of SIGINT as shells have it, and what is said if it comes early."""


def main() -> None:
    """Entry point of the console script. Errors that a user can cause are printed as one line on standard error, after
    the traceback of what a policy of the user's own has raised.

    While modules are imported, Ctrl-C ends the process at once. A `KeyboardInterrupt` would not always do so: raised in
    a callback of an import it is ignored, and raised while a class is made it becomes a `RuntimeError`.
    """
    replace_closed_streams()
    import _signal  # type: ignore[import-not-found]  # `signal` takes milliseconds more: it makes classes

    usual = _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler  # not if it is ignored, as with nohup
    if usual:
        _signal.signal(_signal.SIGINT, stop)
    from ..errors import GaraphError, Interrupted, PolicyError

    try:
        from .commands import app

        if usual:
            _signal.signal(_signal.SIGINT, _signal.default_int_handler)
        app(prog_name="garaph")  # also for `python -m garaph_py`
    except KeyboardInterrupt:  # right before or after the commands run; typer turns Ctrl-C into a `SystemExit`
        fail(NOTHING, INTERRUPTED)
    except Interrupted as ending:
        fail(str(ending), INTERRUPTED)
    except GaraphError as error:
        if isinstance(error, PolicyError) and error.__cause__ is not None:
            sys.excepthook(type(error.__cause__), error.__cause__, error.__cause__.__traceback__)
        fail(f"error: {error}", 1, error)
    except MemoryError as error:
        fail("error: not enough memory; use a smaller graph, or a machine with more", 1, error)
    except BrokenPipeError:  # the reader of the output has ended, for example `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except OSError as error:
        fail(f"error: {error.filename or 'input/output'}: {error.strerror or error}", 1, error)
    except SystemExit as ending:
        if ending.code == INTERRUPTED:  # typer turns Ctrl-C into it
            print(NOTHING, file=sys.stderr)
        raise


def replace_closed_streams() -> None:
    """Open the null device in place of each standard stream that is closed, as cron jobs may have it: otherwise files
    would get their numbers."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        stream = open(number, "w" if number else "r")  # noqa: SIM115 - for the rest of the process
        setattr(sys, ("stdin", "stdout", "stderr")[number], stream)
    os.close(number)


def stop(number: int, frame: FrameType | None) -> None:
    """End the process: the handler of Ctrl-C while nothing can have been written."""
    os.write(2, f"{NOTHING}\n".encode())
    os._exit(INTERRUPTED)


def fail(message: str, status: int, error: BaseException | None = None) -> None:
    """Print a message on standard error, and the notes that `error` has; exit with `status`."""
    from .terminal import say

    say("; ".join([message, *getattr(error, "__notes__", ())]), error=True)
    sys.exit(status)
