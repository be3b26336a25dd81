import garaph_py as gp
from garaph_py import events
from garaph_py.cluster.balance import Move
from garaph_py.cluster.heard import Heard
from garaph_py.cluster.part_run import Counts
from garaph_py.cluster.superstep import Report
from garaph_py.output.record import Record

DID = events.Iteration(0, "pull", 0.5, 7, 20, 1, 0, 0.25)
PLACES = "worker 0", "worker 1"


def report(seconds, computing=0.0, record=None):
    """A part's report of a superstep that took it so long, of which it computed so long."""
    return Report(tuple(Counts(0, 0, seconds=computing, record=record)), seconds, 0.0, 0, 3)


def test_a_part_without_vertices_does_not_hide_what_the_others_did():
    heard = []
    Heard(heard.append, Record(None, None))((report(0.5), report(0.5, 0.25, DID)), PLACES)
    assert heard == [DID._replace(seconds=0.5, sent=6)]


def test_a_superstep_ends_with_the_last_part(tmp_path):
    """The second part is slow, and then the first one, which has waited for it."""
    record = Record(tmp_path / "trace.json", None)
    heard = Heard(lambda iteration: None, record)
    heard((report(1.0, 1.0, DID), report(2.0, 2.0, DID)), PLACES)
    did = DID._replace(number=1, seconds=2.0)
    heard((report(3.0, 2.0, did), report(0.5, 0.5, did)), PLACES)
    assert [(row.started, row.seconds) for row in heard.history.records()] == [(0.0, 2.0), (2.0, 2.0)]
    assert heard.seconds == 4.0
    ends = [(span.track, span.name, round(span.end / 1e9 - record.began, 6)) for span in record.spans]
    assert ends == [(f"part {part}", PLACES[part], end) for part, end in ((0, 1.0), (1, 2.0), (0, 4.0), (1, 2.5))]
    assert record.spans[2].details == {"iteration": 1, "edges": 20, "sent": 3}


def test_what_parts_compile_is_not_in_the_time_of_a_superstep():
    heard = Heard(lambda iteration: None, Record(None, None))
    first, second = (DID._replace(seconds=1.0 - compiling, compile_seconds=compiling) for compiling in (0.25, 0.75))
    heard((report(1.0, 1.0, first), report(1.5, 1.0, second)), PLACES)
    heard((report(1.0, 0.5, DID), report(0.5, 0.5, DID)), PLACES)
    rows = heard.history.records()
    assert [(row.started, row.compile_seconds, row.seconds) for row in rows] == [(0.0, 0.75, 0.75), (1.5, 0.0, 0.5)]
    assert (heard.seconds, heard.compile_seconds) == (2.0, 0.75)


def test_only_the_compiling_that_others_wait_for_lengthens_a_superstep():
    """The part that compiles would end first, and the slowest part does not compile."""
    heard = Heard(lambda iteration: None, Record(None, None))
    compiling = DID._replace(seconds=1.0, compile_seconds=2.0)
    heard((report(4.0, 4.0, DID._replace(seconds=4.0)), report(3.0, 3.0, compiling)), PLACES)
    heard((report(4.0, 4.0, DID._replace(seconds=4.0)), report(5.0, 5.0, compiling._replace(seconds=3.0))), PLACES)
    rows = heard.history.records()
    assert [(row.started, row.compile_seconds, row.seconds) for row in rows] == [(0.0, 0.0, 4.0), (4.0, 1.0, 4.0)]
    assert (heard.seconds, heard.compile_seconds) == (9.0, 1.0)


def test_a_move_takes_its_time_between_supersteps(tmp_path):
    """The parts may be more or fewer after it."""
    told, record = [], Record(tmp_path / "trace.json", None)
    heard = Heard(told.append, record)
    heard((report(1.0, 1.0, DID), report(2.0, 2.0, DID)), PLACES)
    move = Move(1, 3.0, "worker 1", 2.0, 1.0, 100)
    heard.moved(move)
    heard((report(0.5, 0.5, DID._replace(number=1)),), PLACES[:1])
    assert [(row.started, row.seconds) for row in heard.history.records()] == [(0.0, 2.0), (5.0, 0.5)]
    assert heard.moves == [move]
    assert told[1] == events.Step("moving parts", 100, 100)
    (pause,) = [span for span in record.spans if span.track == "pauses"]
    assert pause.name == "parts move: worker 1 is slow"
    assert round((pause.end - pause.start) / 1e9, 6) == 3.0


def test_nobody_wants_a_timeline():
    record = Record(None, None)
    Heard(lambda iteration: None, record, gp.apps.PageRank.total)((report(1.0, 1.0, DID),), PLACES)
    assert record.spans is None
    assert not record.totals
