"""A reader in a process of its own: its answer, or the end that the system puts to it."""

import pytest

from gbuq_core.limited_process import ProcessLimits, ask_process, has_met_limits

LIMITS = ProcessLimits(memory=2**28, cpu_seconds=2, seconds=60.0, answer=2**20)


def reader(folder, body):
    path = folder / "reader.py"
    lines = [
        "import os, signal, sys, time",
        "def prepare():",
        "    pass",
        "def answer(asked, payload):",
    ]
    path.write_text("\n".join([*lines, *(f"    {line}" for line in body.splitlines())]))
    return path


def test_what_is_asked_comes_back(tmp_path):
    path = reader(tmp_path, "print('noise')\nreturn payload * asked['times']")
    assert ask_process(path, {"times": 3}, b"a\nb\x00", LIMITS) == (0, b"a\nb\x00" * 3)


@pytest.mark.parametrize(
    "body",
    [
        "x = bytearray(2**29)",  # more memory than the limit
        "while True: pass",  # more time of the processor
        "return bytes(2**21)",  # a longer answer
        "os.kill(os.getpid(), signal.SIGSEGV)",
    ],
)
def test_limits_end_it(tmp_path, body):
    code, _ = ask_process(reader(tmp_path, body), {}, b"", LIMITS)
    assert has_met_limits(code)


def test_one_that_waits_is_ended(tmp_path):
    path = reader(tmp_path, "time.sleep(1000)")
    code, answer = ask_process(path, {}, b"", LIMITS._replace(seconds=0.5))
    assert (has_met_limits(code), answer) == (True, b"")


def test_an_error_is_no_limit(tmp_path):
    code, answer = ask_process(reader(tmp_path, "raise ValueError('x')"), {}, b"", LIMITS)
    assert (code, has_met_limits(code), answer) == (1, False, b"")


def test_what_it_imports_first_counts_towards_no_limit(tmp_path):
    path = tmp_path / "reader.py"
    path.write_text(
        "held = []\n"
        "def prepare():\n    held.append(bytearray(2**29))\n"
        "def answer(asked, payload):\n    return b'done'\n"
    )
    assert ask_process(path, {}, b"", LIMITS) == (0, b"done")


def test_the_package_is_not_imported(tmp_path):
    body = "return str(any(name.startswith('gbuq') for name in sys.modules)).encode()"
    assert ask_process(reader(tmp_path, body), {}, b"", LIMITS) == (0, b"False")


def test_packages_are_found_where_this_process_finds_them(tmp_path, monkeypatch):
    folder = tmp_path / "packages"
    folder.mkdir()
    (folder / "only_here.py").write_text("WORD = b'found'\n")
    monkeypatch.syspath_prepend(folder)
    path = reader(tmp_path, "import only_here\nreturn only_here.WORD")
    assert ask_process(path, {}, b"", LIMITS) == (0, b"found")
