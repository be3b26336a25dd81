"""Whether somebody looks at a run between its iterations; if not, a processor may do several at once."""

from __future__ import annotations

from .options import FINITE, RunOptions


def may_chain(options: RunOptions) -> bool:
    """Whether a processor may do a chain of supersteps: there is no limit of iterations, and nobody needs the values of
    each."""
    return options.iterations is None and not looks_at_states(options)


def cpu_chains(options: RunOptions) -> bool:
    """As `may_chain`, for compiled calls of the CPU: in addition, no option needs the time of each superstep."""
    return options.iterations is None and not looks_at_each(options)


def looks_at_each(options: RunOptions) -> bool:
    """Whether an option needs the values after each iteration, or the time of each."""
    return looks_at_states(options) or any((options.trace, options.report))


def looks_at_states(options: RunOptions) -> bool:
    """Whether an option needs the values after each iteration."""
    return options.check == FINITE or options.checkpoint is not None
