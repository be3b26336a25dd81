"""Answers that stay on a device simulated with NumPy: the next run finds them there; the host copies what it reads."""

import contextlib
import copy
import gc
import pickle
import threading

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.errors import DeviceError, ParameterError
from garaph_py.executor.gpu import device as devices
from garaph_py.executor.gpu import device_state, memory_plan
from garaph_py.executor.gpu.answers import DeviceAnswer
from garaph_py.executor.gpu.device_graph import kept_bytes
from garaph_py.executor.gpu.executor import GpuExecutor
from garaph_py.executor.gpu.settings import Settings
from garaph_py.output.result import Result
from garaph_py.program import bind
from garaph_py.program.elsewhere import Elsewhere
from tests.support import twins
from tests.support.numpy_gpu import (
    GRAPH,
    HUB,
    Blend,
    Hops,
    PlainBlend,
    Trails,
    fail_in_iteration,
    failing_once,
    held_after,
    memory_for,
)

from ...support.runs import run_with

WEIGHTED = twins.skewed(3, 9000, 60000, "int32")
WEIGHTS = np.random.default_rng(8).integers(1, 9, 9000)


class Two(PlainBlend):
    """With another parameter for each vertex, which no function on the GPU reads."""

    other: gp.PerVertex = 0

    def apply(self, old, acc, in_degree, weight, other):
        return (3 * acc + old + in_degree * weight + 0 * other) % 1000003


def run_on_gpu(program, graph, **how):
    given = {"device": "gpu", "page_edges": 3000, "iterations": 3, "sync": True, "fetch": False}
    return run_with(program, graph, **{**given, **how})


def on_cpu(program, graph, **how):
    return run_with(program, graph, device="cpu", sync=True, **{"iterations": 3, **how})


def is_left(result):
    """Whether the host lacks the result's values."""
    return "values" not in vars(result)


def watched(driver, call, sizes):
    """Append to `sizes` those of all arrays that a function of the driver copies from now on."""
    works = getattr(driver, call)

    def noted(first, second, *more):
        sizes.append(max(getattr(each, "nbytes", 0) for each in (first, second)))
        works(first, second, *more)

    setattr(driver, call, noted)


@pytest.fixture(params=["given", "hub"])
def order(request):
    return request.param


@pytest.mark.slow
def test_phases_copy_no_values(device_for, graph_of, order):
    """Each phase takes the answer of the one before; only the last answer comes to the host."""
    graph = graph_of(WEIGHTED)
    driver = device_for(Blend(WEIGHTS), graph)
    run_on_gpu(Blend(WEIGHTS), graph, gpu_order=order)  # what depends on the graph alone is there now
    forth, back = [], []
    for name, sizes in ("htod", forth), ("dtoh", back):
        watched(driver, f"memcpy_{name}", sizes)
        watched(driver, f"memcpy_{name}_async", sizes)
    result = expected = on_cpu(Blend(WEIGHTS), graph)
    for k in range(3):
        forth.clear()
        result = run_on_gpu(Blend(WEIGHTS if k == 0 else result), graph, gpu_order=order)
        expected = on_cpu(Blend(WEIGHTS if k == 0 else expected.values), graph)
        assert (max(forth) == 8 * graph.n) == (k == 0)
        assert is_left(result)
        assert len(result) == graph.n
        assert "Blend" in repr(result)
        assert result.stats.device == "NumPy"
    assert max(back) < 8 * graph.n
    np.testing.assert_array_equal(result.values, expected.values)
    assert back.count(8 * graph.n) == 1


def test_in_both_directions(device_for, graph_of, order):
    """The next program may run over the reversed graph, which has an order of its own."""
    graph = graph_of(GRAPH)
    back = graph.reversed()
    device_for(PlainBlend(WEIGHTS), graph)
    for _ in range(2):
        first = run_on_gpu(PlainBlend(WEIGHTS), graph, gpu_order=order)
        second = run_on_gpu(PlainBlend(first), back, gpu_order=order)
    expected = on_cpu(PlainBlend(on_cpu(PlainBlend(WEIGHTS), graph).values), back)
    assert is_left(first)
    np.testing.assert_array_equal(second.values, expected.values)


def test_once_read_the_host_has_it_and_may_change_it(device_for, graph_of):
    graph = graph_of(GRAPH)
    driver = device_for(PlainBlend(WEIGHTS), graph)
    for _ in range(2):  # the second finds the edges, and leaves spare memory as later runs do
        without = run_on_gpu(PlainBlend(WEIGHTS), graph, fetch=True)
    held = driver.held
    result = run_on_gpu(PlainBlend(WEIGHTS), graph)
    assert driver.held == held + 8 * graph.n == held + result.numbers_of(graph.ids).held
    result.values[:] %= 5
    assert driver.held == held
    assert result.values is result.values
    changed = run_on_gpu(PlainBlend(result), graph)
    np.testing.assert_array_equal(changed.values, on_cpu(PlainBlend(without.values % 5), graph).values)
    assert held_after(driver, graph) == 0


def test_a_result_that_is_gone_takes_no_memory(device_for, graph_of):
    graph = graph_of(GRAPH)
    driver = device_for(Hops(HUB), graph)
    result = run_on_gpu(Hops(HUB), graph)
    assert is_left(result)  # stored values, which are reported as they are
    del result
    gc.collect()
    assert held_after(driver, graph) == 0


def test_parents_stay_there_too(device_for, graph_of):
    graph = graph_of(GRAPH)
    device_for(Trails(HUB), graph)
    result = run_on_gpu(Trails(HUB), graph, iterations=None)
    assert is_left(result)
    assert (result.values == on_cpu(Trails(HUB), graph, iterations=None).values).all()


def test_another_run_that_needs_the_memory_has_the_host_fetch_it(device_for, graph_of):
    graph = graph_of(GRAPH)
    driver = device_for(PlainBlend(WEIGHTS), graph)
    first = run_on_gpu(PlainBlend(WEIGHTS), graph)
    answer = first.numbers_of(graph.ids)
    assert kept_bytes(devices.find()) == driver.held
    driver.mem_get_info = lambda: (1 << 20, 1 << 23)
    memory = memory_for(PlainBlend(WEIGHTS), graph, 1)
    second = run_on_gpu(PlainBlend(first), graph, gpu_memory=memory)
    assert answer.held == 0
    expected = on_cpu(PlainBlend(WEIGHTS), graph)
    np.testing.assert_array_equal(second.values, on_cpu(PlainBlend(expected.values), graph).values)
    np.testing.assert_array_equal(first.values, expected.values)


def test_an_answer_stays_within_the_memory_that_the_user_allows(device_for, graph_of, monkeypatch):
    for module in memory_plan, device_state:
        monkeypatch.setattr(module, "REPORT_VERTICES", 1024)  # buffers so small that answers cannot take their place
    graph, found = graph_of(GRAPH), set()
    driver = device_for(Trails(HUB), graph)
    least = memory_for(Trails(HUB), graph, 0)
    for memory in range(least + 49152, least + 400000, 65536):
        result = run_on_gpu(Trails(HUB), graph, gpu_memory=memory, iterations=None)
        assert driver.held <= memory
        found.add(is_left(result))
    assert found == {True, False}


def test_without_room_the_host_has_the_answer_at_once(device_for, graph_of, monkeypatch):
    graph = graph_of(GRAPH)
    driver = device_for(PlainBlend(WEIGHTS), graph)
    how = {"mode": "pull"}  # else memory is also allocated and freed for pulls that are launched together
    expected = run_on_gpu(PlainBlend(WEIGHTS), graph, fetch=True, **how)
    driver.refuses = driver.held
    result = run_on_gpu(PlainBlend(WEIGHTS), graph, **how)
    assert not is_left(result)
    np.testing.assert_array_equal(result.values, expected.values)


@pytest.mark.parametrize("kind", ["int32", "uint32", "uint64", "int64"])
def test_numbers_become_a_field_beside_one_of_the_host(device_for, graph_of, order, kind):
    graph, numbers = graph_of(GRAPH), WEIGHTS.astype(kind)
    driver = device_for(Two(WEIGHTS, WEIGHTS), graph)
    with devices.find():
        answer = DeviceAnswer(devices.find(), graph.n, numbers.dtype, None)
    with answer.lent(devices.find()) as place:
        driver.memcpy_htod(place, numbers.view(np.uint8))
    bound = bind(Two(3 * WEIGHTS, Result(answer, graph.ids, None, "Made")), graph, fetches=False)
    assert set(bound.elsewhere) == {"other"}
    for _ in range(2):  # the first makes the other order
        with GpuExecutor(bound, graph, devices.find(), Settings(order=order)) as made:
            made.initialize(True)
            placed = driver.array(made.address("vertex_data"), bound.vertex_data.dtype, graph.n).copy()
            assert made.shares_pages == (order == "given")
            given = slice(None) if made.shares_pages else made._numbering.order.given
    assert (placed["other"] == numbers[given]).all()
    assert (placed["weight"] == 3 * WEIGHTS[given]).all()
    assert answer.held > 0
    assert (bound.fetched().vertex_data["other"] == numbers).all()


def test_the_host_narrows_floats(graph_of):
    """It says so if one does not fit; and a program on integers takes no floats."""

    class Far(Elsewhere):
        def __init__(self, numbers):
            self.numbers, self.dtype = numbers, numbers.dtype

        def fetch(self):
            return self.numbers

    class Sum(gp.VertexProgram):
        weight: gp.PerVertex = 0

        value = np.float32
        sum = gp.add

        def init(self, weight):
            return weight

        def gather(self, src):
            return src

    graph = graph_of(GRAPH)

    def elsewhere(program, numbers):
        given = Result(Far(numbers), graph.ids, None, "Far")
        return set(bind(program(given), graph, fetches=False).elsewhere)

    for kind in "int32", "uint64", "float32":
        assert elsewhere(Sum, WEIGHTS.astype(kind)) == {"weight"}
    assert not elsewhere(Sum, WEIGHTS.astype(float))
    with pytest.raises(ParameterError, match="does not fit float32"):
        elsewhere(Sum, np.full(graph.n, 1e300))
    with pytest.raises(ParameterError, match="has type float32"):
        elsewhere(PlainBlend, WEIGHTS.astype("float32"))


@pytest.mark.parametrize("how", ["pickle", "copy"])
def test_a_copy_of_a_result_has_the_values(device_for, graph_of, how):
    graph = graph_of(GRAPH)
    driver = device_for(Hops(HUB), graph)
    result = run_on_gpu(Hops(HUB), graph)
    held = driver.held
    other = pickle.loads(pickle.dumps(result)) if how == "pickle" else copy.copy(result)
    assert not is_left(other)
    assert driver.held == held - 8 * graph.n
    np.testing.assert_array_equal(other.values, on_cpu(Hops(HUB), graph).values)


def test_what_has_failed_with_the_gpu_is_said(device_for, graph_of):
    graph = graph_of(GRAPH)
    driver = device_for(PlainBlend(WEIGHTS), graph)
    result = run_on_gpu(PlainBlend(WEIGHTS), graph)
    failing_once(driver, "memcpy_dtoh")[0] = 1
    with pytest.raises(DeviceError, match=r"an answer that an earlier run left on the GPU \(fetch=False\) is lost"):
        _ = result.values
    np.testing.assert_array_equal(result.values, on_cpu(PlainBlend(WEIGHTS), graph).values)  # this GPU only stumbled


def test_if_the_gpu_fails_the_cpu_gets_the_parameter(device_for, graph_of, monkeypatch):
    graph = graph_of(GRAPH)
    driver = device_for(PlainBlend(WEIGHTS), graph)
    first = run_on_gpu(PlainBlend(WEIGHTS), graph)
    fail_in_iteration(monkeypatch, driver, 1, 15)
    second = run_on_gpu(PlainBlend(first), graph)
    assert second.stats.device == "cpu"
    expected = on_cpu(PlainBlend(on_cpu(PlainBlend(WEIGHTS), graph).values), graph)
    np.testing.assert_array_equal(second.values, expected.values)


@pytest.mark.full
@pytest.mark.parametrize("how", [{"device": "cpu"}, {"device": "hybrid"}, {"debug": True}, {"checkpoint": "points"}])
def test_other_runs_have_their_answer_on_the_host(device_for, graph_of, tmp_path, how):
    """They take a parameter from the GPU as well."""
    graph = graph_of(GRAPH)
    device_for(PlainBlend(WEIGHTS), graph)
    first = run_on_gpu(PlainBlend(WEIGHTS), graph)
    if "checkpoint" in how:
        how = {"checkpoint": tmp_path / "points"}
    if "debug" in how:
        how |= {"device": "auto", "page_edges": None, "iterations": 1}
    result = run_on_gpu(PlainBlend(first), graph, **how)
    assert not is_left(result)
    given = PlainBlend(on_cpu(PlainBlend(WEIGHTS), graph).values)
    expected = on_cpu(given, graph, iterations=how.get("iterations", 3))
    np.testing.assert_array_equal(result.values, expected.values)


def test_two_threads_that_take_the_same_answers(device_for, graph_of, monkeypatch):
    """Neither waits for an answer that the other has while that waits for the other answer."""
    graph = graph_of(GRAPH)
    device_for(Two(WEIGHTS, WEIGHTS), graph)
    one, other = (run_on_gpu(PlainBlend(k * WEIGHTS), graph) for k in (1, 2))
    lent, both = DeviceAnswer.lent, threading.Barrier(2)

    @contextlib.contextmanager
    def waiting(answer, device):
        with lent(answer, device) as place:
            with contextlib.suppress(threading.BrokenBarrierError):
                both.wait(0.2)  # so that each thread has one before either asks for another
            yield place

    def start(*given):
        bound = bind(Two(*given), graph, fetches=False)
        with GpuExecutor(bound, graph, devices.find(), Settings()) as made:
            made.initialize(True)

    monkeypatch.setattr(DeviceAnswer, "lent", waiting)
    threads = [threading.Thread(target=start, args=each, daemon=True) for each in ((one, other), (other, one))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()


def test_other_gpus_take_an_answer_from_the_host(devices_for, graph_of):
    graph = graph_of(GRAPH)
    devices_for(PlainBlend(WEIGHTS), graph, 2)
    expected = on_cpu(PlainBlend(on_cpu(PlainBlend(WEIGHTS), graph).values), graph)
    for first, second in ([0], [0, 1]), ([1], [0]):
        given = run_on_gpu(PlainBlend(WEIGHTS), graph, gpus=first)
        assert is_left(given)
        result = run_on_gpu(PlainBlend(given), graph, gpus=second)
        assert is_left(result) == (len(second) == 1)
        np.testing.assert_array_equal(result.values, expected.values)


def test_many_programs_make_a_table_on_the_host(graph_of):
    with pytest.raises(ParameterError, match="leave fetch=False out"):
        gp.run_many(gp.apps.BFS(0), graph_of(GRAPH), [0, 1], options=gp.Options(fetch=False))
    with pytest.raises(ParameterError, match="fetch='no': give True or False"):
        gp.Options(fetch="no")
