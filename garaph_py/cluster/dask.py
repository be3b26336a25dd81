"""The only module that imports Dask: how client and workers reach each other by its connections.

Placement, security and monitoring are Dask's. The client asks a worker through the scheduler, so that it need not reach
workers itself; workers ask each other directly, by TCP, TLS or UCX, as the cluster is set up.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import logging
import queue
import time
from collections.abc import Iterator, Mapping
from typing import Any

import distributed
from distributed.protocol import to_serialize

from .. import __version__ as VERSION
from .. import errors
from ..errors import ClusterError, GaraphError, ParameterError
from .client import GoneError, WorkerFacts
from .plain import pack, unpack
from .prepare import hosting
from .worker import ASKED, Hosting

log = logging.getLogger("garaph_py")

OP = "garaph_py"
"""The name of the operation that garaph_py adds to a worker's."""
RUNS = "garaph_py_runs"
"""The attribute of a worker that has its runs. They outlive the plugin, which each client registers anew."""
ATTEMPTS = 5
"""How often the client tries to register the plugin while workers go."""
LOCAL = "local:"
"""The beginning of a cluster's name that asks for workers on this machine."""
ANY_PORT = ":0"
"""Where a cluster on this machine has its dashboard: at a port that is free."""
LISTEN_SECONDS = 0.1
"""How often a waiting client looks for Ctrl-C."""


class GaraphWorker(distributed.WorkerPlugin):  # type: ignore[misc]
    """Adds one operation to a worker: what the client and other workers ask of the parts that it has.

    A request names its run by a random text that only the client which began the run and its workers know.
    """

    name = OP

    def setup(self, worker: distributed.Worker) -> None:
        self._worker = worker
        self._runs: dict[str, Hosting] = vars(worker).setdefault(RUNS, {})
        worker.handlers[OP] = self.answer

    async def answer(self, run: str, what: str, data: Any) -> dict[str, Any]:
        """Do what is asked, and return the reply or an error as plain data."""
        try:
            reply = await self._do(run, what, unpack(data))
        except OSError as error:
            return {"gone": str(error)}
        except GaraphError as error:
            return {"error": [type(error).__name__, str(error)]}
        except MemoryError:
            return {"error": ["ClusterError", f"the worker {self._worker.address} has too little memory; use more"]}
        except Exception as error:  # a fault of ours, or of the user's program
            log.exception("%s failed", what)
            problem = f"the worker {self._worker.address} failed: {type(error).__name__}: {error}; its log says where"
            return {"error": ["ClusterError", problem]}
        return {"reply": pack(reply, to_serialize)}

    async def _do(self, run: str, what: str, data: Mapping[str, Any]) -> Any:
        if what == "prepare":
            for other in [other for other in self._runs if other == run]:
                await self._runs.pop(other).close()
            self._runs[run] = hosting(self._worker.address, self._worker.state.nthreads, self._caller(run), **data)
            return None
        if what not in ASKED or run not in self._runs:
            if what == "close":
                return None
            raise ClusterError(f"{self._worker.address} has no such run; its parts have moved to other workers")
        reply = await getattr(self._runs[run], what)(**data)
        if what == "close":
            del self._runs[run]
        return reply

    def _caller(self, run: str) -> Any:
        async def call(address: str, what: str, data: Mapping[str, Any]) -> Any:
            if address == self._worker.address:
                return await self._do(run, what, data)
            ask = getattr(self._worker.rpc(address), OP)
            return replied(await ask(run=run, what=what, data=pack(data, to_serialize)), address)

        return call


def replied(answer: Any, address: str) -> Any:
    """What a worker has replied.

    Raises
    ------
    GoneError
        If the worker, or one that it needs, has gone.
    GaraphError
        What the worker has raised.
    """
    if not isinstance(answer, dict) or "gone" in answer:
        raise GoneError(address)
    if "error" in answer:
        name, text = answer["error"]
        kind = getattr(errors, name, ClusterError)
        raise (kind if isinstance(kind, type) and issubclass(kind, GaraphError) else ClusterError)(text)
    return unpack(answer["reply"])


class DaskCluster:
    """The workers of a client's cluster, for one run; a `client.Cluster`.

    Parameters
    ----------
    client : distributed.Client
    run : str
        The random text that names the run.
    """

    def __init__(self, client: distributed.Client, run: str) -> None:
        self._client, self._run = client, run

    async def workers(self) -> dict[str, WorkerFacts]:
        """The workers that there are, by address."""
        try:
            found = await self._client.scheduler.identity(n_workers=-1)
        except OSError as error:
            raise ClusterError(
                f"the scheduler {self._client.scheduler.address} has gone: {error}; start it again, and then the run, "
                "from its beginning"
            ) from error
        return {
            address: WorkerFacts(facts["memory_limit"] or 0, facts["nthreads"])
            for address, facts in sorted(found["workers"].items())
            if facts["status"] in ("running", "paused")
        }

    async def call(self, address: str, what: str, data: Mapping[str, Any]) -> Any:
        """Ask a worker through the scheduler, and return its reply."""
        message = {"op": OP, "run": self._run, "what": what, "data": pack(data, to_serialize)}
        answers = await self._client.scheduler.broadcast(msg=message, workers=[address], on_error="ignore")
        return replied(answers.get(address), address)


@contextlib.contextmanager
def connected(cluster: Any) -> Iterator[distributed.Client]:
    """A client of the cluster, with garaph_py's operation in all workers, also in later ones.

    Parameters
    ----------
    cluster : distributed.Client, or str
        A client; the address of a scheduler; or ``"local:N"``, for N workers on this machine.

    Raises
    ------
    ParameterError
        If it is none of these.
    ClusterError
        If the scheduler cannot be reached, or its workers cannot import garaph_py.
    """
    with contextlib.ExitStack() as stack:
        if isinstance(cluster, distributed.Client):
            if cluster.asynchronous:
                raise ParameterError("cluster=: the client is asynchronous; give one that was made outside a coroutine")
            if cluster.status == "closed":
                raise ParameterError("cluster=: the client is closed; connect a new one to the scheduler")
            client = cluster
        else:
            client = stack.enter_context(client_of(cluster, stack))
        register(client)
        yield client


def register(client: distributed.Client) -> None:
    """Add garaph_py's operation to all workers, also to later ones. A worker may go meanwhile: then again.

    Raises
    ------
    ClusterError
        If workers cannot import garaph_py.
    """
    for left in reversed(range(ATTEMPTS)):
        try:
            client.register_plugin(GaraphWorker(), name=OP)
            return
        except OSError as error:
            if not left:
                raise ClusterError(f"the workers do not answer: {error}; see their logs") from error
            time.sleep(LISTEN_SECONDS)
        except Exception as error:
            raise ClusterError(
                f"the workers cannot import garaph_py {VERSION}: {type(error).__name__}: {error}; install this version "
                "on all of them"
            ) from error


def client_of(cluster: Any, stack: contextlib.ExitStack) -> distributed.Client:
    """A client of the scheduler at an address, or of a new cluster on this machine, which `stack` will close."""
    if not isinstance(cluster, str):
        raise ParameterError(
            f"cluster={cluster!r:.60}: give a distributed.Client, the address of a scheduler, or 'local:N'"
        )
    if cluster.startswith(LOCAL):
        number = cluster.removeprefix(LOCAL)
        if not number.isdecimal() or not int(number):
            raise ParameterError(f"cluster={cluster!r}: write local:N, with the number of workers, 1 or more")
        cluster = stack.enter_context(distributed.LocalCluster(n_workers=int(number), dashboard_address=ANY_PORT))
    try:
        return distributed.Client(cluster, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ClusterError(
            f"no scheduler of Dask answers at {cluster}: {error}; give the address that `dask scheduler` prints"
        ) from error


def wait(client: distributed.Client, work: Any, events: queue.SimpleQueue[Any], listener: Any) -> Any:
    """Run a coroutine in the client's thread, and pass on what it puts in `events` from this one; its result.

    Ctrl-C ends the coroutine.
    """
    future = asyncio.run_coroutine_threadsafe(work, client.loop.asyncio_loop)
    try:
        while True:
            finished, _ = concurrent.futures.wait([future], LISTEN_SECONDS)
            while not events.empty():
                listener(events.get())
            if finished:
                return future.result()
    except BaseException:
        future.cancel()
        raise
