"""Projects that are damaged, foreign or made to do harm: one sentence, before anything is read.

`benchmarks.hostile_projects` opens 500 of them.
"""

import hashlib
import io
import json
import os
import re
import struct
import zipfile
import zlib

import pytest

from benchmarks.hostile_projects import judge, mutations, valid_project
from gbuq_core.errors import ProjectError
from gbuq_core.projects import container, open_project, restore_project
from gbuq_core.projects.tables import TABLE

FOREIGN = "This is not a gbuq project"


@pytest.fixture(scope="module")
def valid():
    return valid_project()


def zipped(members, **about):
    """An archive of members as they are, with what ``about`` says of each."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, part in members:
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            for attribute, value in about.items():
                setattr(info, attribute, value)
            archive.writestr(info, part)
    return file.getvalue()


def members_of(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def refused(content, sentence):
    with pytest.raises(ProjectError, match=sentence) as refusal:
        open_project(content)
    assert str(refusal.value).endswith(".")
    assert "\n" not in str(refusal.value)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_few_changed_projects_are_refused_or_the_same(valid):
    for kind, changed in mutations(valid, 36, seed=1):
        outcome, sentence = judge(valid, changed)
        assert outcome in ("refused", "equal", "another project"), (kind, sentence)
        if outcome == "another project":
            assert kind.endswith("digests right")


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("method", ["macau_linear", "knn"])
def test_changed_models_of_other_methods_are_refused_or_the_same(method):
    listed = valid_project(method)
    for kind, changed in mutations(listed, 33, seed=2):
        outcome, sentence = judge(listed, changed)
        assert outcome in ("refused", "equal", "another project"), (kind, sentence)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", FOREIGN),
        (b"a,b\n1,2\n", FOREIGN),
        (b"PK\x03\x04", "cut off"),
        (zipped([("word/document.xml", b"<x/>"), ("x", b"")]), FOREIGN),
        (zipped([("project.json", b"{}")]), "must have 2 to 204 parts, but it says 1"),
    ],
)
def test_foreign_files(content, sentence):
    refused(content, sentence)


@pytest.mark.parametrize("name", ["../out", "/etc/passwd", "models/../x.npz", "models/0000.npz"])
def test_names_that_lead_elsewhere(valid, name):
    parts = [*members_of(valid).items(), (name, b"x")]
    refused(zipped(parts), "no part of a project is called")


def test_parts_that_are_no_plain_bytes(valid, recwarn):
    parts = list(members_of(valid).items())
    refused(zipped(parts, create_system=3, external_attr=0o120777 << 16), "a part is a link")
    refused(zipped(parts, compress_type=zipfile.ZIP_DEFLATED), "compressed")
    refused(zipped(parts, comment=b"x"), "a comment or further fields")
    refused(zipped([*parts, parts[-1]]), "a part twice")
    refused(zipped(parts[:-1]), "a part is missing or not named")
    encrypted = bytearray(valid)
    start = struct.unpack("<L", valid[-6:-2])[0]
    encrypted[start + 8] |= 1
    refused(bytes(encrypted), "encrypted")


def test_a_bomb_is_refused_before_it_is_unpacked(valid, monkeypatch):
    parts = {**members_of(valid), "state.npz": bytes(2**26)}
    bomb = zipped(parts.items(), compress_type=zipfile.ZIP_DEFLATED)
    monkeypatch.setattr(zipfile.ZipFile, "read", None)  # must not be called
    refused(bomb, "compressed, but projects never are")


def test_lies_about_sizes(valid):
    start, end = struct.unpack("<L", valid[-6:-2])[0], len(valid) - 22
    for place, form, value, sentence in (
        (end + 12, "<L", 2**31, "at most 65,536 bytes, but it says 2,147,483,648"),
        (end + 10, "<H", 60_000, "one zip archive"),
        (end + 16, "<L", 2**32 - 1, "must end the file"),
        (end + 20, "<H", 7, "without a comment"),
        (start + 20, "<L", 2**32 - 1, "broken|compressed"),
        (start + 24, "<L", 2**32 - 2, "compressed"),
        (start + 42, "<L", 5, "overlap|broken"),
    ):
        changed = bytearray(valid)
        struct.pack_into(form, changed, place, value)
        refused(bytes(changed), sentence)
    both = bytearray(valid)
    for place in (start + 20, start + 24):
        struct.pack_into("<L", both, place, 2**31)
    refused(bytes(both), "larger than the file|overlap")
    # As zip64 says it: the real directory would be elsewhere.
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, 2**40, 1)
    refused(valid[:-22] + locator + valid[-22:], "must end the file")


def test_a_table_that_unpacks_to_more_than_it_says(valid):
    about, members = container.read_container(valid)
    settings = {name: about[name] for name in ("project", "table_notices", "written_by")}
    for n_bytes, packed, sentence in (
        (100, zlib.compress(bytes(2**24)), "another size than it says"),
        (2**40, zlib.compress(b"x"), "too large"),
        (3, b"no zlib", "contradicts"),
    ):
        changed = {**members, TABLE: n_bytes.to_bytes(8, "little") + packed}
        refused(container.write_container(settings, changed), sentence)


@pytest.mark.parametrize(
    ("version", "more", "sentence"),
    [
        ([3, 0], {}, r"has format version 3\.0, but this gbuq reads version 2: update gbuq\."),
        ([1, 2], {}, r"has format version 1\.2, but this gbuq reads version 2: train again\."),
        ([2, 0], {"novel": 1}, r"project\.json must not hold \"novel\""),
        ([2, 7], {"novel": 1}, ""),
        ("1", {}, "it has no version"),
        ([0, 1], {}, "it has no version"),
    ],
)
def test_versions(valid, version, more, sentence):
    about, members = container.read_container(valid)
    head = json.dumps({**about, **more, "version": version}).encode()
    digest = hashlib.sha256(head).hexdigest().encode()
    parts = [("project.json", head), ("digest", digest), *members.items()]
    content = zipped(parts, create_system=3, external_attr=0o600 << 16)
    if sentence:
        refused(content, sentence)
    else:
        assert open_project(content).target.name == "y"


@pytest.mark.parametrize(
    ("path", "value", "sentence"),
    [
        (
            ("n_rows",),
            "x",
            'project.n_rows must be a whole number from 1 to 1,000,000,000, but it is "x"',
        ),
        (
            ("plan", "depth"),
            True,
            "project.plan.depth must be a whole number from 1 to 12, but it is true",
        ),
        (("plan", "method"), "gp2", 'but it is "gp2"'),
        (("plan", "seed"), None, "project.plan.seed must be a whole number from 0"),
        (
            ("plan", "knobs"),
            [["a"]],
            "project.plan.knobs[0] must be a list of 2, but it is a list of 1",
        ),
        (("columns", 1, "kind"), "pet", "project.columns[1].kind must be one of"),
        (
            ("columns", 0, "name"),
            "y",
            "project.columns must hold one or more columns of different names",
        ),
        (("source", "digest"), "ab", 'must be a SHA-256 of 64 hexadecimal digits, but it is "ab"'),
        (("kinds",), {"z": "numeric"}, "project.kinds must name columns of the table"),
        (("used",), {"x": 1}, 'project.used["x"] must be true or false, but it is 1'),
        (("level",), 1, "project.level must be a number above 0 and below 1, but it is 1"),
        (("task",), [], "project.task must be one of"),
    ],
)
def test_the_sentence_tells_the_place_what_must_be_there_and_what_is(valid, path, value, sentence):
    about, members = container.read_container(valid)
    part = about["project"]
    for name in path[:-1]:
        part = part[name]
    part[path[-1]] = value
    settings = {name: about[name] for name in ("project", "table_notices", "written_by")}
    refused(container.write_container(settings, members), re.escape(sentence))


def test_sizes_are_checked_before_a_file_is_read(tmp_path):
    path = tmp_path / "large.gbuq"
    with path.open("wb") as file:
        os.truncate(file.fileno(), container.MAX_PROJECT_BYTES + 1)
    refused(path, "larger than 1 GiB")


def test_another_model_is_refused(valid):
    """Right in itself, and not the one whose scores the project keeps."""
    about, members = container.read_container(valid)
    settings = {name: about[name] for name in ("project", "table_notices", "written_by")}
    names = sorted(name for name in members if name.startswith("models/"))
    swapped = {**members, names[0]: members[names[1]], names[1]: members[names[0]]}
    project = open_project(container.write_container(settings, swapped))
    with pytest.raises(ProjectError, match="do not give the scores that were saved with them"):
        restore_project(project, None, project.data)
