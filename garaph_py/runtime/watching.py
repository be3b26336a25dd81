"""Whether somebody looks at a run between its iterations; if not, a processor may do several at once."""

from __future__ import annotations

from .options import FINITE, RunOptions


def may_chain(options: RunOptions) -> bool:
    """Whether a processor may do several supersteps at once: the host need not see the state in between."""
    return options.iterations is None and not looks_at_states(options)


def cpu_chains(options: RunOptions) -> bool:
    """Whether one compiled call of the CPU may do several supersteps: nobody asks for the times of each either."""
    return options.iterations is None and not looks_at_each(options)


def looks_at_each(options: RunOptions) -> bool:
    """Whether an option needs the values after each iteration, or the time of each."""
    return looks_at_states(options) or any((options.trace, options.report))


def looks_at_states(options: RunOptions) -> bool:
    """Whether an option needs the values after each iteration."""
    return options.check == FINITE or options.checkpoint is not None
