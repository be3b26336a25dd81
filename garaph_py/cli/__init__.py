"""The command ``garaph``: parse, call the API, print. Nothing is decided here."""

from __future__ import annotations

import os
import sys

from ..errors import GaraphError, Interrupted

INTERRUPTED, NOTHING = 130, "interrupted; nothing was written"


def main() -> None:
    """Entry point of the console script. Failures a user can cause end in one line on standard error."""
    try:
        from .commands import app

        app()
    except KeyboardInterrupt:  # while that was loaded: later, typer makes it a `SystemExit`
        fail(NOTHING, INTERRUPTED)
    except Interrupted as ending:
        fail(str(ending), INTERRUPTED)
    except GaraphError as error:
        fail(f"error: {error}", 1)
    except MemoryError:
        fail("error: not enough memory; use a smaller graph, or a machine with more", 1)
    except BrokenPipeError:  # the reader of our output has left, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except OSError as error:
        fail(f"error: {error.filename or 'input/output'}: {error.strerror or error}", 1)
    except SystemExit as ending:
        if ending.code == INTERRUPTED:  # what typer makes of Ctrl-C
            print(NOTHING, file=sys.stderr)
        raise


def fail(message: str, status: int) -> None:
    print(message, file=sys.stderr)
    sys.exit(status)
