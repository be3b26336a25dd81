"""The command ``garaph``: it parses options, calls the library, and prints."""

from __future__ import annotations

import os
import sys

from ..errors import GaraphError, Interrupted

INTERRUPTED, NOTHING = 130, "interrupted; nothing was written"


def main() -> None:
    """Entry point of the console script. Errors that a user can cause are printed as one line on standard error."""
    try:
        from .commands import app

        app()
    except KeyboardInterrupt:  # while the commands are loaded; later, typer turns Ctrl-C into a `SystemExit`
        fail(NOTHING, INTERRUPTED)
    except Interrupted as ending:
        fail(str(ending), INTERRUPTED)
    except GaraphError as error:
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


def fail(message: str, status: int, error: BaseException | None = None) -> None:
    """Print a message on standard error, and the notes that `error` has; exit with `status`."""
    from .terminal import say

    say("; ".join([message, *getattr(error, "__notes__", ())]), error=True)
    sys.exit(status)
