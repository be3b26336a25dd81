"""Files that tables of ids and values are written to."""

import pyarrow as pa
import pyarrow.parquet
import pytest

import garaph_py as gp
from garaph_py.errors import ParameterError
from garaph_py.output.files import UNREACHED, write_csv, write_ipc, write_parquet

TABLE = pa.table({"id": pa.array(["=1+1", "b"], pa.large_string()), "@x": [1.5, -2.0]})


def test_csv_quotes_formulas_in_header_and_cells_unless_raw(tmp_path):
    for raw, header, first in ((False, "id,'@x", "'=1+1,1.5"), (True, "id,@x", "=1+1,1.5")):
        write_csv(tmp_path / "t.csv", TABLE, raw)
        lines = (tmp_path / "t.csv").read_text().replace('"', "").splitlines()
        assert lines == [header, first, "b,-2"]


def mapped(path):
    with pa.memory_map(str(path)) as file:
        return pa.ipc.open_file(file).read_all()


@pytest.mark.parametrize(("write", "read"), [(write_parquet, pyarrow.parquet.read_table), (write_ipc, mapped)])
@pytest.mark.parametrize(("unreached", "expected"), [(7, b"7"), (None, None)])
def test_metadata_say_what_unreached_is(tmp_path, write, read, unreached, expected):
    write(tmp_path / "t", TABLE, unreached)
    found = read(tmp_path / "t")
    assert (found.schema.metadata or {}).get(UNREACHED) == expected
    assert found.to_pydict() == TABLE.to_pydict()


def test_a_suffix_of_another_format_is_refused(tmp_path):
    table = gp.run_many(gp.apps.BFS, gp.from_edges([0, 1], [1, 2]), sources=[0, 2])
    with pytest.raises(ParameterError, match=r"to_csv writes no .arrow file; call to_ipc"):
        table.to_csv(tmp_path / "t.arrow")
    with pytest.raises(ParameterError, match=r"to_ipc writes no .parquet file; call to_parquet"):
        table.to_ipc(tmp_path / "t.parquet")
    with pytest.raises(ParameterError, match=r"^to_csv takes a path, a string or a pathlib\.Path, not NoneType$"):
        table.to_csv(None)
