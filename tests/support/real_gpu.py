"""A GPU that is there, for tests that need one."""

from garaph_py.executor.gpu import device
from garaph_py.executor.gpu.edges import page_bytes
from garaph_py.executor.gpu.executor import GpuExecutor
from garaph_py.executor.gpu.settings import Settings
from garaph_py.program import bind


def memory_for(program, graph, share, gather="auto", replication="custom"):
    """Bytes in which a share of the edges can stay."""
    settings = Settings(gather=gather, replication=replication)
    graph = graph.packed() if gather == "packed" else graph  # values too, as those that are streamed
    with GpuExecutor(bind(program, graph), graph, device.find(), settings) as kernel:
        kernel.initialize(True)
        edges = sum(page_bytes(page, kernel.edges.arrays) for page in kernel.residency.pages)
        used = kernel.residency.used
    graph.release()
    return int(used - (1 - share) * edges)
