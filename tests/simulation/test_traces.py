"""Traces of runs, as simulations read them."""

import json
from unittest import mock

import pytest

import garaph_py as gp
from garaph_py.dispatch.policy import POLICIES
from garaph_py.errors import FormatError, ParameterError
from garaph_py.simulation.traces import read_trace
from tests.support.numpy_gpu import GRAPH, HUB, Quiet


@pytest.mark.parametrize("sync", [None, False])
def test_only_runs_in_supersteps_can_be_followed(tmp_path, sync):
    graph = gp.rmat(8, directed=False)
    gp.run(gp.apps.ConnectedComponents(), graph, options=gp.Options(trace=tmp_path / "trace.json", sync=sync))
    if sync is False:
        assert len(read_trace(tmp_path / "trace.json").rows) > 1
    else:
        with pytest.raises(FormatError, match="found components in one iteration; record one with --async or --sync"):
            read_trace(tmp_path / "trace.json")


@pytest.mark.parametrize("engine", ["auto", "garaph"])
def test_a_trace_of_a_run_that_may_push_deltas_is_refused(tmp_path, engine):
    program, path = gp.apps.DeltaPageRank(tolerance=0.01), tmp_path / "trace.json"
    gp.run(program, gp.rmat(8), device="cpu", options=gp.Options(trace=path, engine=engine))
    if engine == "garaph":
        assert len(read_trace(path).rows) > 1
    else:
        with pytest.raises(FormatError, match="no costs of; record one with --engine garaph"):
            read_trace(path)


@pytest.fixture
def policies(tmp_path, monkeypatch):
    """The folder of two policies in a file, where code runs; when it runs, it makes a folder."""
    (tmp_path / "mine.py").write_text(
        "import os\nimport garaph_py as gp\nos.makedirs('ran', exist_ok=True)\n"
        "class Mine(gp.GaraphPolicy): pass\nclass Other(gp.GaraphPolicy): pass\n"
    )
    monkeypatch.chdir(tmp_path)
    with mock.patch.dict(POLICIES):
        yield tmp_path


def traced_under(engine, folder):
    """The path of a trace that names this engine."""
    path = folder / "trace.json"
    gp.run(gp.apps.BFS(0), gp.from_edges(range(3), range(1, 4)), device="cpu", options=gp.Options(trace=path))
    document = json.loads(path.read_text())
    document["otherData"]["engine"] = engine
    path.write_text(json.dumps(document))
    return path


@pytest.mark.parametrize("engine", ["Mine", "mine.py:Mine", "mine.py:Mine:dual=no"])
def test_a_trace_cannot_have_code_run(policies, engine):
    path = traced_under(engine, policies)
    with pytest.raises(ParameterError, match=rf"trace\.json: its run was under the policy '{engine}', which is code"):
        read_trace(path)
    assert read_trace(path, "auto").options.engine == "auto"
    assert not (policies / "ran").exists()


@pytest.mark.parametrize("recorded", ["Mine", "Mine#2", "Mine:dual=no", "gone.py:Mine", "gone.py:Mine:dual=no"])
def test_the_user_names_the_policy_of_a_trace(policies, recorded):
    """The run counts as one under the policy that the user names, if the recorded one had the same name."""
    path = traced_under(recorded, policies)
    assert read_trace(path, "mine.py:Mine").options.engine == "mine.py:Mine"
    assert read_trace(path, "mine.py:Other").options.engine == "auto"


def test_an_engine_that_is_known_here_stays_that_of_the_run(policies):
    assert read_trace(traced_under("garaph:dual=no", policies), "auto").options.engine == "garaph:dual=no"


@pytest.mark.parametrize("gpus", [1, 2])
@pytest.mark.usefixtures("cut_small_graphs")
def test_a_trace_of_a_gpu_that_pushes(devices_for, graph_of, tmp_path, gpus):
    """What pushes do is in no page, and no example of what pulls cost."""
    graph, program, path = graph_of(GRAPH, weighted=False), Quiet(HUB), tmp_path / "trace.json"
    devices_for(program, graph, gpus)
    how = gp.Options(trace=path, page_edges=3000, sync=True)
    done = gp.run(program, graph, device="gpu", gpus=gpus, options=how).stats.iterations
    run = read_trace(path)
    assert [row["mode"] for row in run.rows] == [row.mode for row in done]
    assert "push" in {row.mode for row in done}
    assert (run.edge_seconds is not None) == ("pull" in {row.mode for row in done})


@pytest.mark.parametrize("named", [None, "auto", "mine.py:Mine"])
@pytest.mark.parametrize("recorded", [["auto"], {}, 3, None])
def test_an_engine_that_is_no_text(policies, recorded, named):
    with pytest.raises(FormatError, match="is not a trace of garaph"):
        read_trace(traced_under(recorded, policies), named)


def set_fact(document, name, value):
    document["otherData"][name] = value


def set_span(document, name, value):
    next(event for event in document["traceEvents"] if event["ph"] == "X")[name] = value


def set_argument(document, name, value):
    next(event for event in document["traceEvents"] if event["ph"] == "X")["args"][name] = value


def set_track(document, name, value):
    next(event["args"] for event in document["traceEvents"] if event["name"] == "thread_name")[name] = value


@pytest.mark.parametrize(("change", "name", "value"), [
    (set_fact, "edges", -5), (set_fact, "vertices", 2.5), (set_fact, "threads", "x"), (set_fact, "threads", 0),
    (set_fact, "program", [0]), (set_fact, "pushes", "BFS"), (set_fact, "directed", 0.5), (set_fact, "done", 1e-9),
    (set_fact, "graph_turns", "cpu"), (set_fact, "graph_near", {}), (set_fact, "graph_irregular", [1]),
    (set_fact, "gpu_memory", -1), (set_span, "dur", -1.0), (set_argument, "device", "tpu"),
    (set_span, "name", "0: glide"), (set_fact, "graph_nearby", "x"), (set_span, "dur", "long"),
    (set_fact, "program", None), (set_fact, "options", 3), (set_span, "name", 7), (set_track, "name", 7),
])  # fmt: skip
def test_a_damaged_trace_is_refused(policies, change, name, value):
    path = traced_under("auto", policies)
    document = json.loads(path.read_text())
    change(document, name, value)
    path.write_text(json.dumps(document))
    with pytest.raises(FormatError, match="is not a trace of garaph"):
        read_trace(path)
