"""What a worker answers, and how a client waits, without a cluster."""

import asyncio
import queue
import threading
import time
from contextlib import ExitStack, suppress
from types import SimpleNamespace

import pytest

pytest.importorskip("distributed")

from dask import config as dask_config

from garaph_py.cluster import dask
from garaph_py.cluster.host import GoneError
from garaph_py.cluster.plain import pack
from garaph_py.errors import ClusterError


class Scheduler:
    """What a scheduler tells of a client."""

    def __init__(self, *actions):
        self._actions = actions

    async def events(self, topic):
        return tuple((time.time(), {"action": action, "client": topic}) for action in self._actions)


def worker(*actions):
    """A worker with garaph_py's operation, whose scheduler knows these actions of the client."""
    own = SimpleNamespace(
        address="tcp://here:1", state=SimpleNamespace(nthreads=1), handlers={}, scheduler=Scheduler(*actions)
    )
    made = dask.GaraphWorker()
    made.setup(own)
    return made


def failing(error):
    async def do(*given, **named):
        raise error

    return do


def answer(made, version=dask.VERSION):
    return asyncio.run(made.answer("run", "news", pack({"since": 0}), "client", version))


@pytest.mark.parametrize("error", [PermissionError("no entry"), ConnectionError("no entry"), ValueError("no entry")])
def test_what_a_program_raises_is_no_lost_worker(error):
    made = worker()
    made._runs.do = failing(error)
    with pytest.raises(ClusterError, match=f"the worker tcp://here:1 failed: {type(error).__name__}: no entry"):
        dask.replied(answer(made))


def test_a_worker_out_of_reach_is_told_with_both_names():
    made = worker()
    made._worker.rpc = lambda address: SimpleNamespace(garaph_py=failing(OSError("refused")))
    with pytest.raises(GoneError, match="the worker tcp://here:1 does not reach tcp://there:1: refused"):
        asyncio.run(made._caller("run")("tcp://there:1", "letter", {}))


def test_another_version_is_refused():
    with pytest.raises(ClusterError, match=rf"has garaph_py {dask.VERSION}, and the client 0\.0\.1; install the same"):
        dask.replied(answer(worker(), "0.0.1"))


@pytest.mark.parametrize(
    ("actions", "is_there"),
    [
        (["add-client"], True),
        (["add-client", "remove-client"], False),
        (["add-client", "remove-client", "add-client", "update-graph"], True),
        (["update-graph"], True),  # the log has lost its beginning
        ([], False),  # it was cleaned after the client had left
    ],
)
def test_whether_a_client_is_there(actions, is_there):
    assert asyncio.run(worker(*actions)._is_there("client")) == is_there


@pytest.fixture
def client():
    """A client whose loop runs in a thread."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    yield SimpleNamespace(loop=SimpleNamespace(asyncio_loop=loop))
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


@pytest.mark.parametrize(("bound", "seconds"), [(60.0, 0.3), (0.3, 60.0)])
def test_an_interrupted_client_waits_for_the_end_but_not_for_long(client, bound, seconds, monkeypatch):
    """The work takes so many seconds to end, or until the test lets it."""
    monkeypatch.setattr(dask, "END_SECONDS", bound)
    heard, ended, may_end = queue.SimpleQueue(), threading.Event(), asyncio.Event()

    async def work():
        heard.put("event")
        try:
            await asyncio.sleep(60)
        finally:
            with suppress(TimeoutError):
                await asyncio.wait_for(may_end.wait(), seconds)
            ended.set()

    def interrupt(event):
        raise KeyboardInterrupt

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        dask.wait(client, work(), heard, interrupt, lambda: None)
    assert ended.is_set() == (seconds < bound)
    assert time.monotonic() - began < 30
    client.loop.asyncio_loop.call_soon_threadsafe(may_end.set)
    assert ended.wait(60)


def test_the_client_says_for_how_long_it_waits_for_a_scheduler(monkeypatch):
    """No scheduler answers before that; then one that does not answer at all is an error."""
    said = queue.Queue()

    def unanswered(address, **options):
        assert said.get(timeout=60) == "waiting up to 7.00 s for a scheduler of Dask at tcp://nowhere:8786"
        raise OSError("timed out")

    monkeypatch.setattr(dask.distributed, "Client", unanswered)
    monkeypatch.setattr(dask.log, "warning", said.put)
    with (
        dask_config.set({"distributed.comm.timeouts.connect": "7s"}),
        ExitStack() as stack,
        pytest.raises(ClusterError, match="no scheduler of Dask answers at tcp://nowhere:8786: timed out; give"),
    ):
        dask.client_of("tcp://nowhere:8786", stack)


@pytest.mark.parametrize(
    ("address", "why"),
    [("nowhere", "missing port number in address 'nowhere'"), ("foo://there:1", "unknown address scheme 'foo'")],
)
def test_no_client_is_made_of_a_malformed_address(address, why, monkeypatch):
    """Dask's client would keep the process for a minute after its error."""
    monkeypatch.setattr(dask.distributed, "Client", None)
    with ExitStack() as stack, pytest.raises(ClusterError, match=f"answers at {address}: {why}.*; give the address"):
        dask.client_of(address, stack)


def test_an_encrypted_scheduler_needs_a_certificate():
    with pytest.raises(ClusterError, match=r"no certificate here, but tls://there:1 needs one; set DASK_.*CA_FILE"):
        dask.check_certificates("tls://there:1")


def test_a_certificate_that_cannot_be_read():
    files = {"ca-file": "/gone/ca.pem", "client.cert": "/gone/mine.pem", "client.key": "/gone/mine.key"}
    with (
        dask_config.set({f"distributed.comm.tls.{name}": path for name, path in files.items()}),
        pytest.raises(
            ClusterError, match=r"cannot read its certificate here \(/gone/ca.pem, /gone/mine.pem, .* No such"
        ),
    ):
        dask.check_certificates("tls://there:1")
