"""The only module that imports Dask: client and workers reach each other by Dask's connections.

Placement, security and monitoring are Dask's. The client asks a worker through the scheduler, so that it need not reach
workers itself; workers ask each other directly, by TCP, TLS or UCX, as the cluster is set up.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import logging
import queue
import secrets
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import dask.config
import distributed
from dask.utils import parse_timedelta
from distributed.comm import get_address_host
from distributed.protocol import to_serialize

from .. import __version__ as VERSION
from .. import errors
from ..errors import ClusterError, GaraphError, ParameterError
from ..graph.derived import Derived
from ..system.sizes import show_seconds
from .host import ForgottenError, GoneError
from .placing import WorkerFacts
from .plain import pack, unpack
from .prepare import hosting
from .reading import PartReader
from .runs import Runs
from .worker import Hosting

log = logging.getLogger("garaph_py")

OP = "garaph_py"
"""The name of the operation that garaph_py adds to a worker."""
RUNS = "garaph_py_runs"
"""The name of a worker's attribute that holds its `Runs`, which outlive the plugin: each client registers a new one."""
ATTEMPTS = 5
"""The number of times that the client tries to register the plugin while workers are lost."""
LOCAL = "local:"
"""Prefix of the name of a cluster whose workers are on this machine."""
TLS = "tls://"
"""Prefix of the address of a scheduler that encrypts."""
ANY_PORT = ":0"
"""Address of the dashboard of a cluster on this machine: any free port."""
NOTICE_SECONDS = 1.0
"""Seconds after which the client says that it waits for the scheduler. A scheduler that is there answers sooner."""
LISTEN_SECONDS = 0.1
"""Seconds between two looks of a waiting client for Ctrl-C."""
KEPT_NAME = "name of parts on a cluster"
"""Name in `GraphArrays.derived`."""
END_SECONDS = 10.0
"""Seconds that an interrupted client waits for the workers to end its run, because they finish their superstep first.
If that takes longer, they end the run without the client (`runs.QUIET_SECONDS`)."""


class GaraphWorker(distributed.WorkerPlugin):  # type: ignore[misc]
    """Adds one operation to a worker, by which the client and other workers make requests about the parts that it has.

    A request names its run by a random text, which only the run's client and workers know.
    """

    name = OP

    def setup(self, worker: distributed.Worker) -> None:
        self._worker = worker
        self._runs: Runs = vars(worker).setdefault(RUNS, Runs(worker.address, self._hosting, self._is_there))
        worker.handlers[OP] = self.answer

    async def answer(
        self, run: str, what: str, data: Any, client: str | None = None, version: str = VERSION
    ) -> dict[str, Any]:
        """Do what is asked, and return the reply or an error as plain data.

        A client gives its name and its version of garaph_py; other workers do not.
        """
        here = self._worker.address
        try:
            if version != VERSION:
                raise ClusterError(
                    f"the worker {here} has garaph_py {VERSION}, and the client {version}; install the same version on "
                    "both, and start the worker again"
                )
            reply = await self._runs.do(run, what, unpack(data), client)
        except ForgottenError as error:
            return {"forgotten": str(error)}
        except GoneError as error:
            return {"gone": str(error)}
        except GaraphError as error:
            return {"error": [type(error).__name__, str(error)]}
        except MemoryError:
            return {"error": ["ClusterError", f"the worker {here} has too little memory; use more"]}
        except Exception as error:  # a fault of ours, or of the user's program
            log.exception("%s failed", what)
            problem = f"the worker {here} failed: {type(error).__name__}: {error}; its log says where"
            return {"error": ["ClusterError", problem]}
        return {"reply": pack(reply, to_serialize)}

    def _hosting(self, run: str, **prepared: Any) -> Hosting:
        return hosting(self._reader(), self._caller(run), **prepared)

    async def _is_there(self, client: str) -> bool:
        """Whether the scheduler is connected to a client. If the scheduler does not answer, it is gone, and this worker
        ends."""
        try:
            found = await self._worker.scheduler.events(topic=client)
        except OSError:
            return True
        actions = [event.get("action") for _, event in found if isinstance(event, dict)]
        last = [action for action in actions if action in ("add-client", "remove-client")][-1:]
        return bool(actions) and last != ["remove-client"]

    def _reader(self) -> PartReader:
        worker = self._worker
        limit = worker.memory_manager.memory_limit or 0
        return PartReader(worker.address, worker.state.nthreads, limit, worker.local_directory)

    def _caller(self, run: str) -> Any:
        async def call(address: str, what: str, data: Mapping[str, Any]) -> Any:
            if address == self._worker.address:
                return await self._runs.do(run, what, data, None)
            ask = getattr(self._worker.rpc(address), OP)
            try:
                answer = await ask(run=run, what=what, data=pack(data, to_serialize))
            except OSError as error:
                raise GoneError(f"the worker {self._worker.address} does not reach {address}: {error}") from error
            return replied(answer)

        return call


def replied(answer: Mapping[str, Any]) -> Any:
    """What a worker has replied.

    Raises
    ------
    GoneError
        If the worker, or one that it needs, has gone.
    GaraphError
        What the worker has raised.
    """
    if "forgotten" in answer:
        raise ForgottenError(answer["forgotten"])
    if "gone" in answer:
        raise GoneError(answer["gone"])
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
                f"the scheduler {self._client.scheduler.address} has gone: {error}; start it again, and then the run"
            ) from error
        return {
            address: WorkerFacts(facts["memory_limit"] or 0, facts["nthreads"])
            for address, facts in sorted(found["workers"].items())
            if facts["status"] in ("running", "paused")
        }

    def anew(self) -> DaskCluster:
        """The same workers, for a run of another name."""
        return DaskCluster(self._client, secrets.token_hex(16))

    async def call(self, address: str, what: str, data: Mapping[str, Any]) -> Any:
        """Ask a worker through the scheduler, and return its reply."""
        message = {
            "op": OP, "run": self._run, "what": what, "data": pack(data, to_serialize),
            "client": self._client.id, "version": VERSION,
        }  # fmt: skip
        answers = await self._client.scheduler.broadcast(msg=message, workers=[address], on_error="ignore")
        if not isinstance(answers.get(address), dict):
            raise GoneError(f"the scheduler {self._client.scheduler.address} does not reach the worker {address}")
        return replied(answers[address])


class KeptName:
    """The name under which workers keep the parts of a graph. When Python deletes it, the workers drop the parts.

    Attributes
    ----------
    name : str
    shares : dict
        The workers' shares in the last run, by address: with the same ones, a run finds its parts in the workers.
    """

    def __init__(self) -> None:
        self.name = secrets.token_hex(16)
        self.shares: dict[str, float] = {}
        self.clients: weakref.WeakSet[distributed.Client] = weakref.WeakSet()


def kept_name(derived: Derived, client: distributed.Client) -> KeptName:
    """The name under which workers keep the parts of a graph for a client. It is in the graph's `derived` store."""
    kept = derived.get(KEPT_NAME, KeptName, lambda _: 0)
    if client not in kept.clients:
        kept.clients.add(client)
        weakref.finalize(kept, forget, weakref.ref(client), kept.name).atexit = False
    return kept


def forget(client: weakref.ref[distributed.Client], graph: str) -> None:
    """Have all workers drop the parts of a client's graph. It does not wait for them, and any thread may call it."""
    there = client()
    if there is None or there.status != "running":
        return
    message = {
        "op": OP, "run": "", "what": "forget", "data": pack({"graph": graph}), "client": there.id, "version": VERSION
    }  # fmt: skip
    there.loop.add_callback(there.scheduler.broadcast, msg=message, on_error="ignore")


@contextlib.contextmanager
def connected(cluster: Any) -> Iterator[distributed.Client]:
    """A client of the cluster whose workers, present and future, have garaph_py's operation.

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
    """Add garaph_py's operation to all workers, present and future. Try again if a worker is lost meanwhile.

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
    if cluster.startswith(LOCAL) or cluster == LOCAL.removesuffix(":"):
        number = cluster.removeprefix(LOCAL)
        if not number.isdecimal() or not int(number):
            raise ParameterError(f"cluster={cluster!r}: write local:N, with the number of workers, 1 or more")
        local = stack.enter_context(distributed.LocalCluster(n_workers=int(number), dashboard_address=ANY_PORT))
        return distributed.Client(local, set_as_default=False)
    if cluster.startswith(TLS):
        check_certificates(cluster)
    bound = parse_timedelta(dask.config.get("distributed.comm.timeouts.connect"))
    said = f"waiting up to {show_seconds(bound)} for a scheduler of Dask at {cluster}"
    notice = threading.Timer(NOTICE_SECONDS, log.warning, (said,))
    notice.start()
    try:
        get_address_host(cluster)  # refuses a malformed address; a client of one would end only after a minute
        return distributed.Client(cluster, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ClusterError(
            f"no scheduler of Dask answers at {cluster}: {error}; give the address that `dask scheduler` prints"
        ) from error
    finally:
        notice.cancel()


def check_certificates(address: str) -> None:
    """Refuse the address of a scheduler that encrypts if Dask has no certificate here, or one that cannot be read.

    Raises
    ------
    ClusterError
    """
    why, found = "Dask has no certificate here", distributed.Security()
    try:
        if found.get_connection_args("client")["ssl_context"] is not None:
            return
    except OSError as error:
        files = f"{found.tls_ca_file}, {found.tls_client_cert}, {found.tls_client_key}"
        why = f"Dask cannot read its certificate here ({files}: {error})"
    raise ClusterError(
        f"{why}, but {address} needs one; set DASK_DISTRIBUTED__COMM__TLS__CA_FILE, "
        "DASK_DISTRIBUTED__COMM__TLS__CLIENT__CERT and DASK_DISTRIBUTED__COMM__TLS__CLIENT__KEY to its files, or give "
        "a distributed.Client that was made with a distributed.Security"
    )


def wait(
    client: distributed.Client, work: Any, events: queue.SimpleQueue[Any], listener: Any,
    meanwhile: Callable[[], None],
) -> Any:  # fmt: skip
    """Run a coroutine in the client's thread, and return its result. This thread passes on what it puts in `events`.

    This thread calls ``meanwhile()`` again and again. Ctrl-C cancels the coroutine, and waits a short time until it has
    ended; a second Ctrl-C does not wait.
    """
    ended = threading.Event()

    async def whole() -> Any:
        try:
            return await work
        finally:
            ended.set()

    future = asyncio.run_coroutine_threadsafe(whole(), client.loop.asyncio_loop)
    try:
        while True:
            finished, _ = concurrent.futures.wait([future], LISTEN_SECONDS)
            while not events.empty():
                listener(events.get())
            if finished:
                return future.result()
            meanwhile()
    except BaseException:
        future.cancel()
        ended.wait(END_SECONDS)
        raise
