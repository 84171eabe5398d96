"""The last-level cache: the largest that Linux tells of, or nothing."""

from pathlib import Path

from harness.environment.cache import last_level_cache_bytes


def caches_of(folder: Path, *sizes: str) -> Path:
    for number, size in enumerate(sizes):
        (folder / f"index{number}").mkdir()
        (folder / f"index{number}" / "size").write_text(size)
    return folder


def test_the_largest_counts_in_any_unit(tmp_path):
    assert last_level_cache_bytes(caches_of(tmp_path, "32K\n", "1024K\n", "96M\n")) == 96 << 20


def test_what_is_not_told_is_not_guessed(tmp_path):
    assert last_level_cache_bytes(tmp_path) is None
    assert last_level_cache_bytes(caches_of(tmp_path, "much", "\n")) is None
