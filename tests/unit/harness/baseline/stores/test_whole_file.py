"""A file is written whole or not at all, whatever it is called."""

import pytest

from harness.baseline.stores.whole_file import write_whole


@pytest.mark.parametrize("name", ["a" * 255, "\N{GRINNING FACE}" * 63, "x"])
def test_every_name_a_file_system_takes_can_be_written(tmp_path, name):
    write_whole(tmp_path / name, b"whole", replace=False)
    assert (tmp_path / name).read_bytes() == b"whole"
    assert [each.name for each in tmp_path.iterdir()] == [name]


def test_what_is_there_is_kept_where_it_may_not_be_replaced(tmp_path):
    target = tmp_path / "file"
    target.write_bytes(b"before")
    with pytest.raises(FileExistsError):
        write_whole(target, b"after", replace=False)
    assert target.read_bytes() == b"before"
    write_whole(target, b"after", replace=True)
    assert target.read_bytes() == b"after"
    assert list(tmp_path.iterdir()) == [target]
