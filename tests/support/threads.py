"""The threads of garaph_py that tests find."""

import threading

from garaph_py.native import teams
from garaph_py.system import watchdog


def end_idle():
    """End the threads that wait for the next run."""
    teams.end_idle()
    watchdog.end_idle()


def at_work(name="garaph"):
    """The threads whose names begin so, after those that wait for the next run have ended."""
    end_idle()
    return [thread for thread in threading.enumerate() if thread.name.startswith(name)]
