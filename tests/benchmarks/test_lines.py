"""Counting files, statements and tokens."""

from benchmarks import lines


def test_layout_and_comments_do_not_count(tmp_path):
    (tmp_path / "pages/_ui").mkdir(parents=True)
    (tmp_path / "pages/heart.py").write_text("x = f(  # why\n    1,\n)\n\nif x: y = 2\n")
    (tmp_path / "pages/_ui/knobs.py").write_text("x = f(1)\n")
    first = lines.file_size(tmp_path / "pages/heart.py")
    assert first == (1, 3, 7 + 6)  # the comma counts, as a token of its own
    assert lines.room_sizes(root=tmp_path) == {"pages": (2, 4, 19)}
    assert set(lines.room_sizes(2, tmp_path)) == {"pages", "pages/_ui"}
