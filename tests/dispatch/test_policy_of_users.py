"""Policies of users: as objects, from files, with switches; what they know, and what becomes of their mistakes."""

import json
from dataclasses import dataclass, field

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.dispatch import engines
from garaph_py.dispatch.policy import POLICIES, AutoPolicy
from garaph_py.errors import ParameterError, PolicyError, ProgramError
from tests.support.command import Shell


@pytest.fixture(scope="module")
def graph():
    return gp.rmat(10, directed=False, seed=1)


@pytest.fixture(autouse=True)
def known():
    """The policies that a test makes known are forgotten after it."""
    before = {engine.name: engine for engine in engines.ENGINES}
    yield
    POLICIES.clear()
    POLICIES.update(before)


@pytest.fixture
def search(graph):
    return gp.apps.BFS(source=graph.ids[graph.out_degrees.argmax()])


class Counting(gp.Policy):
    """Pushes in every second iteration; keeps the seconds of all."""

    def start(self):
        return ()

    def decide(self, seen):
        return gp.Decision("push" if len(seen.own) % 2 else "pull", f"{len(seen.own)} done", seen.device)

    def observe(self, own, seen, decision, done):
        assert (done.mode, done.active, done.why) == (decision.mode, seen.active, decision.why)
        return (*own, done.seconds)


@dataclass(frozen=True)
class Switching(gp.Policy):
    most: float = 0.5

    def decide(self, seen):
        return gp.Decision("push" if seen.f <= self.most else "pull", "", seen.device)


def modes(result):
    return [row.mode for row in result.stats.iterations]


def ran(search, graph, engine, **how):
    return gp.run(search, graph, options=gp.Options(engine=engine, sync=True), device="cpu", **how)


def test_it_decides_and_knows_what_it_has_observed(graph, search):
    found = ran(search, graph, Counting())
    np.testing.assert_array_equal(found.column(), ran(search, graph, "auto").column())
    assert modes(found) == ["pull", "push"] * (len(modes(found)) // 2) + ["pull"] * (len(modes(found)) % 2)
    assert [row.why for row in found.stats.iterations] == [f"{k} done" for k in range(len(modes(found)))]


class InTurn(gp.Policy):
    """Pulls over every edge, notifies and pushes in turn; the number of the first of these is `first`."""

    every_edge, first = True, 0

    def start(self):
        return self.first

    def decide(self, seen):
        return gp.Decision(("pull", "notify-pull", "push")[seen.own % 3], "", seen.device)

    def observe(self, own, seen, decision, done):
        return own + 1


class Notifying(InTurn):
    first = 1


class Pushing(InTurn):
    first = 2


@pytest.mark.parametrize("policy", [InTurn, Notifying, Pushing])
def test_a_push_follows_pulls_over_every_edge(graph, search, policy):
    """Each superstep has the active vertices that it has under other policies."""
    found, expected = ran(search, graph, policy()), ran(search, graph, "garaph")
    assert "push" in modes(found)
    np.testing.assert_array_equal(found.column(), expected.column())
    assert [row.active for row in found.stats.iterations] == [row.active for row in expected.stats.iterations]


def test_a_dataclass_has_switches(graph, search):
    assert set(modes(ran(search, graph, Switching(most=1)))) == {"push"}
    assert set(modes(ran(search, graph, "Switching:most=0"))) == {"pull"}
    assert gp.Options(engine=Switching(most=0.25)).engine == "Switching:most=0.25"


def test_two_objects_of_one_name_are_two_engines():
    class Told(gp.Policy):
        def __init__(self, mode):
            self.mode = mode

    one, other = gp.Options(engine=Told("pull")), gp.Options(engine=Told("push"))
    assert (one.engine, other.engine) == ("Told", "Told#2")
    assert (one.policy.mode, other.policy.mode) == ("pull", "push")
    assert gp.Options(engine=one.policy) == one


def test_a_registered_class_is_named_with_any_switches():
    """The name comes after those of all engines in the alphabet."""
    Zebra = type("zebra", (Switching,), {})
    assert gp.Options(engine=Zebra(most=0.25)).engine == "zebra:most=0.25"
    assert engines.engine_of("zebra:most=0.75") == Zebra(most=0.75)
    with pytest.raises(ParameterError, match="most='half': give a number"):
        engines.engine_of("zebra:most=half")


def test_the_name_of_an_engine_is_taken():
    class Mine(gp.Policy):
        name = "".join("auto")

    with pytest.raises(ParameterError, match="'auto' is an engine of garaph_py; give the class another name"):
        gp.Options(engine=Mine())
    with pytest.raises(ParameterError, match=r"or give a gp\.Policy of your own"):
        gp.Options(engine=3)


FILE = """
import json
from dataclasses import dataclass, field
import garaph_py as gp

@dataclass(frozen=True)
class Mine(gp.Policy):
    mode: str = "push"

    def decide(self, seen):
        return gp.Decision(self.mode, "mine", seen.device)

class Needy(gp.Policy):
    def __init__(self, limit):
        pass
"""


def test_from_a_file(tmp_path, graph, search):
    file = tmp_path / "mine.py"
    file.write_text(FILE)
    assert set(modes(ran(search, graph, f"{file}:Mine"))) == {"push"}
    assert set(modes(ran(search, graph, f"{file}:Mine:mode=pull"))) == {"pull"}
    with pytest.raises(ParameterError, match=r"has no policy 'Yours'; it has Mine, Needy"):
        gp.Options(engine=f"{file}:Yours")
    with pytest.raises(ParameterError, match=r"Needy.*limit.*; give all its parameters defaults"):
        gp.Options(engine=f"{file}:Needy")
    with pytest.raises(ParameterError, match="no such Python file"):
        gp.Options(engine=f"{tmp_path}/other.py:Mine")
    file.write_text("1 / 0")
    with pytest.raises(ProgramError, match=r"mine\.py, line 1: ZeroDivisionError"):
        gp.Options(engine=f"{file}:Another")


class Faulty(gp.Policy):
    """Goes wrong in the third iteration."""

    def start(self):
        return 0

    def decide(self, seen):
        return gp.Decision("push" if seen.own < 2 else self.wrong(), "", seen.device)

    def wrong(self):
        return {}["missing"]

    def observe(self, own, seen, decision, done):
        return own + 1


def test_a_mistake_ends_the_run_and_it_can_go_on(graph, search, tmp_path):
    where = tmp_path / "kept"
    with pytest.raises(
        PolicyError, match=r"policy 'Faulty', iteration 2: KeyError: 'missing'.*after 2 iterations: "
    ) as met:
        ran(search, graph, Faulty(), checkpoint=where)
    assert isinstance(met.value.__cause__, KeyError)
    assert "wrong" in names_of(met.value.__cause__)
    found = ran(search, graph, "auto", checkpoint=where, resume=True)
    assert found.stats.resumed == 2
    np.testing.assert_array_equal(found.column(), ran(search, graph, "auto").column())


def names_of(error):
    """The functions in an exception's traceback."""
    trace = error.__traceback__
    while trace is not None:
        yield trace.tb_frame.f_code.co_name
        trace = trace.tb_next


def test_a_decision_that_is_not_possible(graph, search):
    class Tiles(Faulty):
        def wrong(self):
            return "sideways"

    with pytest.raises(PolicyError, match=r"iteration 2: mode='sideways' is not possible here.*with checkpoint=DIR"):
        ran(search, graph, Tiles())


@pytest.mark.parametrize("method", ["start", "observe"])
def test_all_methods_are_named(graph, search, method):
    def fails(*_):
        raise ValueError("no")

    policy = type("Bad", (Counting,), {method: fails})()
    with pytest.raises(PolicyError, match=r"policy 'Bad', .*: ValueError: no; correct the policy"):
        ran(search, graph, policy)


@pytest.fixture
def shell(monkeypatch, capsys):
    return Shell(monkeypatch, capsys)


def test_the_command_line_shows_where_a_policy_failed(shell, tmp_path):
    edges, file = tmp_path / "edges.tsv", tmp_path / "mine.py"
    edges.write_text("0\t1\n1\t2\n")
    file.write_text(FILE.replace('self.mode, "mine"', 'self.modes[9], "mine"'))
    status, _, said = shell("run", "BFS", edges, "--source", 0, "--engine", f"{file}:Mine", "--quiet")
    assert status == 1
    assert "self.modes[9]" in said
    assert said.splitlines()[-1].startswith("error: policy 'Mine', iteration 0: IndexError: ")


def test_a_simulation_of_a_recorded_run(shell, tmp_path):
    edges, file, trace = tmp_path / "edges.tsv", tmp_path / "mine.py", tmp_path / "run.json"
    edges.write_text("".join(f"{k}\t{k + 1}\n" for k in range(9)))
    file.write_text(FILE)
    assert shell("run", "BFS", edges, "--source", 0, "--trace", trace, "--quiet")[0] == 0
    status, out, _ = shell("simulate", "--trace", trace, "--engine", f"{file}:Mine", "--json")
    assert status == 0
    assert {row["mode"] for row in json.loads(out)["iterations"]} == {"push"}
    status, _, said = shell("simulate", "--trace", trace, "--engine", "grus")
    assert status == 1
    assert "cannot be simulated" in said


def test_a_simulation_of_a_run_under_a_policy_of_a_user(shell, tmp_path, monkeypatch):
    """From another folder, too; what a trace has no code of, the user names."""
    (tmp_path / "other").mkdir()
    (tmp_path / "edges.tsv").write_text("".join(f"{k}\t{k + 1}\n" for k in range(9)))
    (tmp_path / "mine.py").write_text(FILE)
    monkeypatch.chdir(tmp_path)
    run = ["run", "BFS", "edges.tsv", "--source", 0, "--engine", "mine.py:Mine", "--trace", "run.json", "--quiet"]
    assert shell(*run)[0] == 0
    monkeypatch.chdir(tmp_path / "other")
    found = {}
    for engine in "auto", "garaph", "../mine.py:Mine":
        status, out, said = shell("simulate", "--trace", "../run.json", "--engine", engine, "--json")
        assert status == 0, said
        found[engine] = {row["mode"] for row in json.loads(out)["iterations"]}
    assert found == {"auto": {"push"}, "garaph": {"notify-pull"}, "../mine.py:Mine": {"push"}}
    status, _, said = shell("simulate", "--trace", "../run.json")
    assert status == 1
    assert "its run was under the policy 'mine.py:Mine'" in said
    assert said.endswith("name it: --engine FILE.py:CLASS\n")


def test_a_mistake_after_an_iteration_counts_the_iteration(graph, tmp_path):
    class Late(gp.Policy):
        def decide(self, seen):
            return gp.Decision("pull", "", seen.device)

        def observe(self, own, seen, decision, done):
            return 1 // (4 - done.number)

    program, how = gp.apps.PageRank(stop="never"), {"iterations": 10, "checkpoint": tmp_path / "kept"}
    with pytest.raises(PolicyError, match=r"iteration 4: ZeroDivisionError.* after 5 iterations"):
        gp.run(program, graph, options=gp.Options(engine=Late()), device="cpu", **how)
    found = gp.run(program, graph, device="cpu", resume=True, **how)
    assert found.stats.resumed == 5
    np.testing.assert_array_equal(found.column(), gp.run(program, graph, device="cpu", iterations=10).column())


def test_a_policy_that_observes_sees_each_iteration():
    class Watch(AutoPolicy):
        def start(self):
            return 0

        def observe(self, own, seen, decision, done):
            watched.append(done.number)
            return own + 1

    watched = []
    path = gp.from_edges(range(99), range(1, 100), directed=False)
    found = gp.run(gp.apps.BFS(0), path, device="cpu", options=gp.Options(engine=Watch()))
    assert watched == list(range(len(found.stats.iterations)))


def test_a_mode_that_the_user_asks_for_needs_its_sums(graph):
    class Pushing(gp.Policy):
        def decide(self, seen):
            return gp.Decision("push", "", seen.device)

    options = gp.Options(engine=Pushing(), mode="push")
    with pytest.raises(PolicyError, match="no pull has made the sums"):
        gp.run(gp.apps.DeltaPageRank(), graph, device="cpu", options=options)


def test_files_of_one_name_in_two_folders(tmp_path):
    for name in "one", "other":
        (tmp_path / name).mkdir()
        (tmp_path / name / "pol.py").write_text(f"import garaph_py as gp\nclass P(gp.Policy):\n    place = '{name}'\n")
    assert [engines.engine_of("pol.py:P", tmp_path / name).place for name in ("one", "other", "one")] == [
        "one", "other", "one",
    ]  # fmt: skip


def test_any_attributes_will_do():
    @dataclass
    class Needy(gp.Policy):
        k: int
        more: list = field(default_factory=list)
        z: int = field(init=False, default=0)
        table: object = None

        def __post_init__(self):
            if self.k < 0:
                raise ValueError

    one, other = (gp.Options(engine=Needy(3, table=np.arange(3))) for _ in range(2))
    assert one.policy.k == 3
    assert one.engine != other.engine  # arrays cannot be compared as a whole
    assert gp.Options(engine=one.policy).engine == one.engine


ORDERED = """
import garaph_py as gp

class Busiest(gp.Policy):
    sees_pages = True

    def decide(self, seen):
        assert len(seen.active_by_page) == len(seen.pages)
        order = sorted(range(len(seen.pages)), key=lambda k: -seen.active_by_page[k])
        return gp.Decision("pull", str(len(order)), seen.device, order=order)
"""


def test_it_orders_the_pages(shell, graph, search, tmp_path):
    """In memory and on disk; in a replay, too. Sums of floats have the same bits in any order."""
    file, trace = tmp_path / "mine.py", tmp_path / "run.json"
    file.write_text(ORDERED)
    gp.save(graph, tmp_path / "graph")
    engines, rank = {"auto": "auto", "mine": f"{file}:Busiest"}, gp.apps.PageRank(stop="never")
    options = {name: gp.Options(engine=engine, mode="pull", sync=True, page_edges=graph.m // 7)
               for name, engine in engines.items()}  # fmt: skip
    for where in graph, gp.open(tmp_path / "graph"):
        found = {name: gp.run(rank, where, device="cpu", iterations=4, options=each) for name, each in options.items()}
        assert int(found["mine"].stats.iterations[0].why) > 7
        np.testing.assert_array_equal(found["mine"].column(), found["auto"].column())
    free = gp.Options(engine=engines["mine"], page_edges=graph.m // 7, sync=False, trace=trace, checkpoint_every="page")
    found = gp.run(search, graph, device="cpu", options=free, checkpoint=tmp_path / "kept")
    np.testing.assert_array_equal(found.column(), ran(search, graph, "auto").column())
    status, out, _ = shell("simulate", "--trace", trace, "--engine", engines["mine"], "--json")
    assert status == 0
    assert {row["mode"] for row in json.loads(out)["iterations"]} == {"pull"}


WHOLE = """
import garaph_py as gp

class First(gp.Policy):
    every_edge = True

    def decide(self, seen):
        whole = {0: gp.PageDecision("pull", seen.device)}
        return gp.Decision("notify-pull", f"{len(seen.pages)} pages", seen.device, pages=whole)
"""


def test_it_decides_on_single_pages(shell, graph, search, tmp_path):
    """All vertices of the first page are updated; in a replay of another policy's run, which has as many pages, too."""
    file, trace = tmp_path / "mine.py", tmp_path / "run.json"
    file.write_text(WHOLE)
    options = gp.Options(engine="garaph", mode="notify-pull", sync=True, page_edges=graph.m // 7, trace=trace)
    plain = gp.run(search, graph, device="cpu", options=options)
    mine = gp.Options(engine=f"{file}:First", sync=True, page_edges=graph.m // 7)
    found = gp.run(search, graph, device="cpu", options=mine)
    np.testing.assert_array_equal(found.column(), plain.column())
    assert sum(row.edges for row in found.stats.iterations) > sum(row.edges for row in plain.stats.iterations)
    status, out, said = shell("simulate", "--trace", trace, "--engine", f"{file}:First", "--json")
    assert status == 0, said
    for row, real in zip(json.loads(out)["iterations"], found.stats.iterations, strict=True):
        assert row["why"] == real.why != "1 pages"
        assert row["edges"] == pytest.approx(real.edges, rel=0.02)


def test_an_order_without_a_page_is_refused(graph, search):
    class Short(gp.Policy):
        def decide(self, seen):
            return gp.Decision("pull", "", seen.device, order=range(1, len(seen.pages)))

    with pytest.raises(PolicyError, match=r"policy 'Short', iteration 0: order: page 0 is missing; give each page"):
        gp.run(search, graph, device="cpu", options=gp.Options(engine=Short(), page_edges=999))


def test_a_simulation_lets_it_observe(shell, tmp_path):
    edges, file, trace = tmp_path / "edges.tsv", tmp_path / "mine.py", tmp_path / "run.json"
    edges.write_text("".join(f"{k}\t{k + 1}\n" for k in range(9)))
    file.write_text(
        "import garaph_py as gp\n\n\nclass Mine(gp.Policy):\n    def start(self):\n        return 0\n"
        "    def decide(self, seen):\n        return gp.Decision('push', str(seen.own), seen.device)\n"
        "    def observe(self, own, seen, decision, done):\n        return own + 1\n"
    )
    assert shell("run", "BFS", edges, "--source", 0, "--trace", trace, "--quiet")[0] == 0
    status, out, _ = shell("simulate", "--trace", trace, "--engine", f"{file}:Mine", "--json")
    assert status == 0
    assert [row["why"] for row in json.loads(out)["iterations"]] == [str(k) for k in range(10)]
