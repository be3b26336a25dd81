"""Why a decision is not possible: what a run's executor, program and graph do not allow. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from ..executor.decision import Ahead, Decision, PageDecision
from ..executor.modes import BOTH, COMPONENTS, CPU, GPU, NOTIFY_PULL, PULL, PULL_TILED, PUSH
from ..executor.protocol import Capabilities
from .observation import Observation


def refusal(decision: Any, seen: Observation, can: Capabilities) -> str | None:
    """Why an executor cannot carry out a policy's `decision`, and what is possible; None if it can."""
    if not isinstance(decision, Decision):
        return f"it returned {decision!r}; return gp.Decision(mode, why, device)"
    processors = (CPU, GPU, BOTH) if seen.ratio is not None else (seen.device,)
    if decision.device not in processors:
        return f"device={decision.device!r} does not work in this run; choose from {', '.join(processors)}"
    is_asked = decision.mode == seen.forced_mode is not None and decision.device == seen.device
    is_asked = is_asked and (decision.mode != PUSH or may_push(seen, can))
    if not (is_asked or is_possible(decision.mode, decision.device, seen, can)):
        why = f", because {reason(decision.mode, seen)}" if decision.mode != PULL else ""
        possible = modes_on(decision.device, seen, can)
        return f"mode={decision.mode!r} is not possible here{why}; choose from {', '.join(possible)}"
    return refusal_of_rest(decision, seen, can) or refusal_of_pages(decision, seen, can)


def refusal_of_rest(decision: Decision, seen: Observation, can: Capabilities) -> str | None:
    """Why an executor cannot carry out what else a decision says, beside its mode, its processor and single pages."""
    for name, kind, needs in (("alpha", Real, "a number"), ("ahead", Ahead, "an Ahead"), ("pages", Mapping, "a dict")):
        value = getattr(decision, name)
        if not (value is None or isinstance(value, kind)):
            return f"{name}={value!r} is not {needs}; give one, or leave it out"
    if decision.keeps_sums and not seen.deltas:
        return "keeps_sums=True, but this run pushes no deltas; leave it out"
    if decision.compacts and can.far_lists is None:
        return "compacts=True, but this run pushes along no lists in host memory on a GPU; leave it out"
    return None


def modes_on(processor: str, seen: Observation, can: Capabilities) -> list[str]:
    """The modes that an iteration on this processor may have."""
    modes = PULL, NOTIFY_PULL, PUSH, PULL_TILED, COMPONENTS
    return [mode for mode in modes if is_possible(mode, processor, seen, can)]


def is_possible(mode: str, processor: str, seen: Observation, can: Capabilities) -> bool:
    """Whether an iteration on this processor may have this mode."""
    is_guest = processor == GPU and seen.ratio is not None  # a GPU that works alone for once
    if mode == NOTIFY_PULL:
        return mode in can.modes and not (is_guest or seen.updates_all_vertices or seen.only_pushes)
    if mode == PULL:
        return processor == BOTH or ((is_guest or mode in can.modes) and not seen.only_pushes)
    if processor == BOTH:  # the GPU pulls then, too
        return False
    if mode == PUSH:
        pushes = seen.device_pushes if is_guest else mode in can.modes
        return pushes and may_push(seen, can) and not seen.updates_all_vertices
    return seen.components if mode == COMPONENTS else mode == PULL_TILED and seen.tiles and processor == CPU


def may_push(seen: Observation, can: Capabilities) -> bool:
    """Whether the program may push now. Deltas need sums; an engine that only pushes makes them in its first push."""
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


def refusal_of_pages(decision: Decision, seen: Observation, can: Capabilities) -> str | None:
    """Why an executor cannot process the pages as a decision says; None if it can, or if the decision names no page."""
    if decision.pages is None and decision.order is None:
        return None
    if decision.mode not in (PULL, NOTIFY_PULL):
        return f"mode={decision.mode!r} does not go page by page; leave out pages and order"
    if decision.device == CPU and seen.ratio is not None:
        return "a CPU that works alone in a hybrid run has other pages; leave out pages and order"
    if not seen.pages:
        return "a part of a graph has pages of its own; leave out pages and order"
    for number, how in (decision.pages or {}).items():
        if (why := refusal_of_page(number, how, decision, seen, can)) is not None:
            return f"pages: {why}"
    why = None if decision.order is None else refusal_of_order(decision.order, seen)
    return None if why is None else f"order: {why}"


def refusal_of_page(number: Any, how: Any, decision: Decision, seen: Observation, can: Capabilities) -> str | None:
    """Why page `number` cannot be processed as `how` says."""
    if number not in range(len(seen.pages)):
        return f"there is no page {number!r}; {all_pages(seen)}"
    if not isinstance(how, PageDecision):
        return f"{how!r} for page {number}; give gp.PageDecision(direction, processor)"
    devices = [f"gpu {k}" for k in range(len(can.loads))]
    processors = [CPU, GPU, *devices] if decision.device == BOTH else [decision.device]
    if how.processor not in processors:
        return f"processor={how.processor!r} for page {number}; choose from {', '.join(processors)}"
    notifies = seen.ratio is None and NOTIFY_PULL in modes_on(decision.device, seen, can)
    directions = [PULL, NOTIFY_PULL] if notifies else [decision.mode]
    if how.direction not in directions:
        return f"direction={how.direction!r} for page {number}; choose from {', '.join(directions)}"
    return None if how.transfer is None else refusal_of_transfer(int(number), how, can)


def refusal_of_transfer(number: int, how: PageDecision, can: Capabilities) -> str | None:
    """Why the edges of page `number` cannot reach the processor as `how` says."""
    asked = f"transfer={how.transfer!r} for page {number}"
    if how.processor == CPU:
        return f"{asked}; leave it out: the CPU reads edges where they are"
    if not can.transfers:
        return f"{asked}; leave it out: each of several GPUs decides on it"
    ways, why = can.transfers[number]
    choices = f"choose from {', '.join(ways)}" + (f": {why}" if why else "")
    return None if how.transfer in ways else f"{asked}; {choices}"


def refusal_of_order(order: Any, seen: Observation) -> str | None:
    """Why the pages cannot be processed in this order."""
    if not seen.orders_pages:
        return "a GPU that reads edges from disk, or has vertices in hub order, has an order of its own; leave it out"
    if not isinstance(order, Sequence | np.ndarray) or not all(isinstance(number, Integral) for number in order):
        return f"{order!r} is no sequence of numbers; give those of all pages"
    times = Counter(map(int, order))
    for number, count in times.items():
        if number not in range(len(seen.pages)):
            return f"there is no page {number!r}; {all_pages(seen)}"
        if count > 1:
            return f"page {number} is in it {count} times; give each page once"
    lacks = [number for number in range(len(seen.pages)) if number not in times]
    return f"page {lacks[0]} is missing; give each page once" if lacks else None


def all_pages(seen: Observation) -> str:
    """The numbers of the pages that there are."""
    return f"there are pages 0 to {len(seen.pages) - 1}"
