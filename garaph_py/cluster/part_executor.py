"""`PartExecutor`: does the supersteps of a part with the executor that one machine has: the CPU's, a GPU's, or both.

The values that other parts send arrive on the host, and those that they want leave from there. So a GPU gets all values
of the part before each superstep, and the host gets them back after it, and keeps its own values of the mirrors: the
GPU has old ones, and it updates up to 63 mirrors beside the own vertices, because it writes whole words of a bitmap.
"""

from __future__ import annotations

import contextlib
import logging

from .. import events
from ..errors import DeviceError, GaraphError
from ..executor.cpu import CpuExecutor
from ..executor.decision import Decision
from ..executor.gpu import device as gpu_device
from ..executor.gpu.executor import GpuExecutor
from ..executor.gpu.parts import Part as PartOfGpu
from ..executor.hybrid import HybridExecutor
from ..executor.modes import CPU, NOTIFY_PULL, PULL, PUSH
from ..executor.protocol import Capabilities, Executor
from ..executor.results import StepResult
from ..executor.state import State
from ..graph.part import Part
from ..graph.vertex_set import WORD
from ..native.threads import ThreadPool
from ..pages.provider import SourceFactory
from ..pages.source import PageSource
from ..program import BoundProgram
from ..runtime.options import HYBRID
from ..runtime.plan import RunPlan

log = logging.getLogger("garaph_py")

MODES = (PULL, NOTIFY_PULL, PUSH)
"""The modes of an iteration that parts can do."""


class PartExecutor:
    """The executor of one part.

    Parameters
    ----------
    bound : BoundProgram
    part : Part
    plan : RunPlan
        It says which executor to use. A plan that does not need a GPU goes on with the CPU if there is none.
    pool : ThreadPool
    sources : SourceFactory
    listener : callable
        Receives the progress of compilation.

    Attributes
    ----------
    host : CpuExecutor
    """

    def __init__(
        self, bound: BoundProgram, part: Part, plan: RunPlan, pool: ThreadPool, sources: SourceFactory,
        listener: events.Listener,
    ) -> None:  # fmt: skip
        self._bound, self._part, self._plan, self._sources, self._listener = bound, part, plan, sources, listener
        self.host = CpuExecutor(bound, part.graph, pool, listener)
        self.host.modes = tuple(mode for mode in self.host.modes if mode in MODES)
        self._with_gpu: Executor | None = None
        self._stack = contextlib.ExitStack()

    @property
    def uses_gpu(self) -> bool:
        """Whether a GPU takes part in supersteps."""
        return self._with_gpu is not None

    @property
    def _executor(self) -> Executor:
        return self._with_gpu or self.host

    @property
    def capabilities(self) -> Capabilities:
        """What it can do, once it is open."""
        return self._executor.capabilities

    @property
    def source(self) -> PageSource:
        """The pages of the part, once it is open."""
        return self._executor.source

    def open(self) -> State:
        """Make the initial state of own vertices and mirrors, on the host.

        Raises
        ------
        DeviceError
            If the plan needs a GPU, and none can be used.
        """
        state = self.host.open(self._plan, self._sources)
        if self._plan.executor == CPU:
            return state
        try:
            self._with_gpu = self._opened_on_gpu(state)
        except GaraphError as error:  # the functions may not compile for a GPU, or its memory may be too small
            if self._plan.needs_gpu:
                raise
            self._leave_gpu(state, f"no GPU used: {error}")
        return state

    def _opened_on_gpu(self, state: State) -> Executor:
        """The plan's executor, with the state that the host has made."""
        first, last = self._part.own
        aligned = PartOfGpu(first // WORD * WORD, min(-(-last // WORD) * WORD, self._part.graph.n))
        settings, device = self._plan.gpu.of_part(aligned), gpu_device.find()
        gpu = GpuExecutor(self._bound, self._part.graph, device, settings, self.host, self._listener)
        self._stack.callback(gpu.close)
        found: Executor = gpu
        if self._plan.executor == HYBRID:
            found = HybridExecutor(self._part.graph, self.host, [gpu])
        found.open(self._plan, self._sources, state)
        return found

    def load(self, state: State) -> None:
        """Continue from a state that the host has."""
        self.host.load(state)

    def step(self, state: State, decision: Decision) -> StepResult:
        """Do a superstep; the host then has the new values of the own vertices, and the mirrors as they were.

        If the GPU fails, the CPU does the superstep, and those that follow.
        """
        self.host.invalidate_cache()  # mirrors have become active since its last push
        if self._with_gpu is None:
            return self.host.step(state, decision)
        first, last = self._part.own
        mirrors = slice(0, first), slice(last, None)
        kept = [state.values[some].copy() for some in mirrors]
        try:
            self._with_gpu.load(state)
            result = self._with_gpu.step(state, decision)
        except DeviceError as error:
            self._leave_gpu(state, f"the GPU failed, the CPU goes on: {error}")
            return self.host.step(state, Decision(decision.mode, decision.why))
        state.to_host()
        for some, old in zip(mirrors, kept, strict=True):
            state.values[some] = state.next_values[some] = old
        return result

    def _leave_gpu(self, state: State, why: str) -> None:
        """Go on with the CPU alone, from the state that the host has."""
        log.warning("%s", why)
        self._with_gpu = None
        self._stack.close()
        self.host.open(self._plan, self._sources, state)
        if state.next_values is not state.values:
            state.next_values[:] = state.values

    def close(self) -> None:
        """Release the GPU's memory."""
        self._stack.close()
