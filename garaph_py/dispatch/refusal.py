"""Why a decision is not possible: what a run's executor, program and graph do not allow. Pure."""

from __future__ import annotations

from typing import Any

from ..executor.modes import BOTH, COMPONENTS, CPU, GPU, NOTIFY_PULL, PULL, PULL_TILED, PUSH
from ..executor.protocol import Capabilities, Decision
from .observation import Observation


def refusal(decision: Any, seen: Observation, can: Capabilities) -> str | None:
    """Why an executor cannot carry out a policy's `decision`, and what it can; None if it can."""
    if not isinstance(decision, Decision):
        return f"it returned {decision!r}; return gp.Decision(mode, why, device)"
    processors = (CPU, GPU, BOTH) if seen.ratio is not None else (seen.device,)
    if decision.device not in processors:
        return f"device={decision.device!r} does not work in this run; choose from {', '.join(processors)}"
    possible = modes_on(decision.device, seen, can)
    is_asked = decision.mode == seen.forced_mode and decision.device == seen.device
    is_asked = is_asked and (decision.mode != PUSH or may_push(seen, can))
    if decision.mode not in possible and not is_asked:
        why = f", because {reason(decision.mode, seen)}" if decision.mode != PULL else ""
        return f"mode={decision.mode!r} is not possible here{why}; choose from {', '.join(possible)}"
    return None


def modes_on(processor: str, seen: Observation, can: Capabilities) -> list[str]:
    """The modes that an iteration on this processor may have."""
    notifies = NOTIFY_PULL in can.modes and not (seen.updates_all_vertices or seen.only_pushes)
    if processor == BOTH:  # the GPU pulls then, too
        return [PULL, NOTIFY_PULL] if notifies else [PULL]
    is_guest = processor == GPU and seen.ratio is not None  # a GPU that works alone for once
    pushes = seen.device_pushes if is_guest else PUSH in can.modes
    may = {
        PULL: (is_guest or PULL in can.modes) and not seen.only_pushes,
        NOTIFY_PULL: notifies and not is_guest,
        PUSH: pushes and may_push(seen, can) and not seen.updates_all_vertices,
        PULL_TILED: seen.tiles and processor == CPU,
        COMPONENTS: seen.components,
    }
    return [mode for mode, is_possible in may.items() if is_possible]


def may_push(seen: Observation, can: Capabilities) -> bool:
    """Whether the program may push now: deltas need sums, which an engine that only pushes makes by its first push."""
    return seen.is_relaxation or (seen.deltas and (seen.has_sums or PULL not in can.modes))


def reason(mode: str, seen: Observation) -> str:
    """Why an iteration may not have this mode."""
    if mode not in (NOTIFY_PULL, PUSH, PULL_TILED, COMPONENTS):
        return "there is no such mode"
    if seen.updates_all_vertices:
        return "every vertex is to be updated"
    if seen.only_pushes:
        return "values are not final yet, so that only pushes are right"
    if mode == PUSH and seen.deltas and not seen.has_sums:
        return "no pull has made the sums to which deltas are pushed (keeps_sums=True)"
    if mode == PUSH and not (seen.is_relaxation or seen.deltas):
        return "the program is no relaxation and has no delta"
    if mode == PULL_TILED and not seen.tiles:
        return "the graph has no tiles, or the program or the processor cannot use them"
    if mode == COMPONENTS and not seen.components:
        return "union-find does not give the answer"
    return "the processor cannot do it"
