"""Changed projects: 500 mutations of a valid one are opened, and what happens is counted.

    python -m benchmarks.hostile_projects [--mutations 500] [--seed 0] [--method macau_linear]

Bytes are flipped, cut, doubled and swapped; members are renamed to paths, made links, packed,
encrypted, doubled, left out and lied about; and settings, states, models and the table are changed
with all digests right again, as somebody would who means harm. Each file must be refused by one
sentence, or be equal to the valid one, or (with right digests only) be another project that stays
as it is when it is saved and opened again. Projects that open must also score rows, or refuse in
one sentence. The files are opened in a process of their own: one that ends it is a crash.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import multiprocessing
import struct
import time
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, NamedTuple

import numpy as np

from gbuq_core.errors import GbuqError
from gbuq_core.methods import METHODS
from gbuq_core.model_files.archive import read_archive, write_archive
from gbuq_core.presentation import markdown_table
from gbuq_core.projects import (
    fit_project,
    open_project,
    project_bytes,
    restore_project,
    score_project,
)
from gbuq_core.projects.container import DIGEST, SETTINGS, read_container, write_container
from gbuq_core.projects.tables import TABLE
from gbuq_core.tables import ScorePlan, read_table

OUTCOMES = ("refused", "equal", "another project", "odd", "crashed")
_ODD_VALUES: tuple[Any, ...] = (
    *(None, True, -1, 0, 1, 2**31, 10**30, -0.5, 1e300, 0.1, "", "x", "../../etc/passwd", "\x00"),
    *("\ud800", "x" * 5000, [], {}, [[]], ["a", "a"], {"a": None}, [1] * 3000),
)
_MOST_BYTES = 2**20


class Mutation(NamedTuple):
    """A changed file, and what was done to it."""

    kind: str
    content: bytes


def valid_project(method: str = "sglb") -> bytes:
    """A small project with everything in it."""
    rng = np.random.default_rng(0)
    x, kind = rng.uniform(0, 1, 48), rng.choice(list("abc"), 48)
    y = x + rng.normal(0, 0.1, 48)
    rows = (f"{a:.3f},{b},{c:.3f}" for a, b, c in zip(x, kind, y, strict=True))
    table = read_table(("x,kind,y\n" + "\n".join(rows)).encode(), "small.csv")
    plan = ScorePlan(n_trees=8, ensemble="virtual", depth=2, max_bins=16)
    if method != plan.method:
        trees = [("n_trees", 8)] if "n_trees" in {k.key for k in METHODS[method].knobs} else []
        plan = ScorePlan(method=method, knobs=tuple(trees))
    content = project_bytes(fit_project(table, "y", plan=plan, with_data=True))
    return project_bytes(open_project(content))  # as a library writes what it has read


def mutations(content: bytes, number: int, seed: int) -> Iterator[Mutation]:
    """So many changed files, every kind in turn."""
    for k in range(number):
        rng = np.random.default_rng((seed, k))
        kind = list(_KINDS)[k % len(_KINDS)]
        yield Mutation(kind, _KINDS[kind](content, rng))


def judge(valid: bytes, changed: bytes) -> tuple[str, str]:
    """One of the outcomes, and the sentence or what is odd."""
    try:
        project = open_project(changed)
        again = project_bytes(project)
    except GbuqError as error:
        return _of_sentence(str(error))
    try:
        if project.models is not None and project.data is not None:
            restore_project(project, None, project.data)
            score_project(project, project.data)
    except GbuqError as error:
        outcome, sentence = _of_sentence(str(error))
        if outcome == "odd":
            return outcome, sentence
    if again == valid:
        return "equal", ""
    if project_bytes(open_project(again)) == again:
        return "another project", ""
    return "odd", "saved again, it is another file"


def _of_sentence(sentence: str) -> tuple[str, str]:
    is_sentence = sentence.endswith(".") and "\n" not in sentence and len(sentence) < 600
    return ("refused" if is_sentence else "odd"), sentence


def _flip(content: bytes, rng: np.random.Generator, start: int = 0) -> bytes:
    changed = bytearray(content)
    for place in rng.integers(start, len(content), int(rng.integers(1, 4))):
        changed[place] ^= int(rng.integers(1, 256))
    return bytes(changed)


def _flip_end(content: bytes, rng: np.random.Generator) -> bytes:
    """Of the directory, which tells names, sizes and places."""
    return _flip(content, rng, struct.unpack("<L", content[-6:-2])[0])


def _cut(content: bytes, rng: np.random.Generator) -> bytes:
    start, stop = np.sort(rng.integers(0, len(content), 2))
    ways = (content[:start], content[start:], content[:start] + content[stop:])
    return ways[int(rng.integers(0, 3))]


def _insert(content: bytes, rng: np.random.Generator) -> bytes:
    place = int(rng.integers(0, len(content) + 1))
    start = int(rng.integers(0, len(content) - 100))
    more = (rng.bytes(int(rng.integers(1, 200))), content[start : start + 100])
    return content[:place] + more[int(rng.integers(0, 2))] + content[place:]


def _zero(content: bytes, rng: np.random.Generator) -> bytes:
    start, stop = np.sort(rng.integers(0, len(content), 2))
    return content[:start] + bytes(int(stop - start)) + content[stop:]


def _members(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def _zipped(parts: list[tuple[zipfile.ZipInfo, bytes]], packed: int = zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for info, part in parts:
            info.compress_type = packed
            archive.writestr(info, part)
    return file.getvalue()


def _infos(members: dict[str, bytes]) -> list[tuple[zipfile.ZipInfo, bytes]]:
    return [(zipfile.ZipInfo(name), part) for name, part in members.items()]


_NAMES = (
    *(
        "../escaped",
        "/etc/passwd",
        "models/../../x.npz",
        "models\\000.npz",
        "C:\\x",
        "project.json/",
    ),
    *("models/0000.npz", "models/００0.npz", "state.npz\x00.txt", "a" * 60_000, "models/"),
)


def _odd_names(content: bytes, rng: np.random.Generator) -> bytes:
    members = _members(content)
    old = list(members)[int(rng.integers(0, len(members)))]
    new = _NAMES[int(rng.integers(0, len(_NAMES)))]
    more = {**members, new: b"x"}
    renamed = {new if name == old else name: part for name, part in members.items()}
    return _zipped(_infos(more if rng.random() < 0.5 else renamed))


def _odd_members(content: bytes, rng: np.random.Generator) -> bytes:
    """Links, copies, members left out, swapped contents, packed members."""
    members = _members(content)
    parts = _infos(members)
    k, other = (int(place) for place in rng.choice(len(parts), 2, replace=False))
    way = int(rng.integers(0, 6))
    if way == 0:
        parts[k][0].create_system, parts[k][0].external_attr = 3, 0o120777 << 16
    elif way == 1:
        parts.append((zipfile.ZipInfo(parts[k][0].filename), parts[other][1]))
    elif way == 2:
        del parts[k]
    elif way == 3:
        parts[k], parts[other] = (parts[k][0], parts[other][1]), (parts[other][0], parts[k][1])
    elif way == 4:
        return _zipped(parts, int(rng.choice([8, 12, 14])))
    else:
        parts[k] = (parts[k][0], bytes(200 * _MOST_BYTES))  # a bomb of zeros
        return _zipped(parts, zipfile.ZIP_DEFLATED)
    return _zipped(parts)


def _lies(content: bytes, rng: np.random.Generator) -> bytes:
    """Sizes, counts, places and flags of the directory that are not so, also as zip64 would."""
    changed = bytearray(content)
    start = struct.unpack("<L", content[-6:-2])[0]
    entries = []
    place = start
    while content[place : place + 4] == b"PK\x01\x02":
        entries.append(place)
        lengths = struct.unpack("<3H", content[place + 28 : place + 34])
        place += 46 + sum(lengths)
    entry = entries[int(rng.integers(0, len(entries)))]
    size = int(rng.choice([0, 1, 2**31, 2**32 - 1, len(content)]))
    fields = [(entry + at, "<L") for at in (16, 20, 24, 38, 42)]
    fields += [(entry + at, "<H") for at in (8, 10)]
    fields += [(place + at, "<H") for at in (8, 10, 20)] + [(place + at, "<L") for at in (12, 16)]
    for at in rng.choice(len(fields), int(rng.integers(1, 3)), replace=False):
        offset, form = fields[at]
        most = 2 ** (8 * struct.calcsize(form)) - 1
        struct.pack_into(form, changed, offset, min(size, most))
    if rng.random() < 0.3:  # a zip64 directory that says it is elsewhere
        end = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, 2**40, 2**40, 2**50, 2**60)
        locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, place, 1)
        return bytes(changed[:place]) + end + locator + bytes(changed[place:])
    return bytes(changed)


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, (*path, key))
    elif isinstance(value, list):
        for k, inner in enumerate(value):
            yield from _leaves(inner, (*path, k))


def _changed_json(about: Any, rng: np.random.Generator, kept: tuple[str, ...]) -> Any:
    """With one value changed, left out or added, but for those in ``kept``."""
    about = json.loads(json.dumps(about))
    paths = [path for path in _leaves(about) if path and path[0] not in kept]
    path = paths[int(rng.integers(0, len(paths)))]
    inner = about
    for key in path[:-1]:
        inner = inner[key]
    way = rng.random()
    if way < 0.15:
        del inner[path[-1]]
    elif way < 0.25 and isinstance(inner, dict):
        inner["more"] = 1
    elif way < 0.35 and isinstance(inner, list):
        inner.append(inner[path[-1]])
    else:
        inner[path[-1]] = _ODD_VALUES[int(rng.integers(0, len(_ODD_VALUES)))]
    return about


def _again(about: dict[str, Any], members: dict[str, bytes]) -> bytes:
    """The file with right digests and sizes everywhere."""
    settings = {name: value for name, value in about.items() if name != "members"}
    content = write_container({}, members)
    described = json.loads(_members(content)[SETTINGS])["members"]
    text = json.dumps({**settings, "members": described}, sort_keys=True, ensure_ascii=False)
    head = text.encode("utf-8", "surrogatepass")
    parts = {SETTINGS: head, DIGEST: hashlib.sha256(head).hexdigest().encode(), **members}
    infos = []
    for name, part in parts.items():
        info = zipfile.ZipInfo(name)
        info.create_system, info.external_attr = 3, 0o600 << 16
        infos.append((info, part))
    return _zipped(infos)


def _settings(content: bytes, rng: np.random.Generator) -> bytes:
    about, members = read_container(content)
    return _again(_changed_json(about, rng, ("members",)), members)


def _changed_archive(
    content: bytes, rng: np.random.Generator, kept: tuple[str, ...] = ("arrays", "format")
) -> bytes:
    """A model archive with a value of its header or of an array changed, and right digests."""
    header, arrays = read_archive(content)
    about = {name: value for name, value in header.items() if name not in kept}
    if rng.random() < 0.5:
        return write_archive(_changed_json(about, rng, ("version",)), arrays)
    name = list(arrays)[int(rng.integers(0, len(arrays)))]
    array = arrays[name].copy()
    way = int(rng.integers(0, 5))
    if way == 0 and array.size:
        odd = [-1, 0, 1, 127] if array.dtype.itemsize < 8 else [-1, 2**40, -(2**62), 0, 1]
        values = odd if array.dtype.kind != "f" else [np.nan, np.inf, -np.inf, -1.0, 0.0, 1e308]
        value = values[int(rng.integers(0, len(values)))]
        array.reshape(-1)[int(rng.integers(0, array.size))] = np.array(value).astype(array.dtype)
    elif way == 1:
        array = array.reshape(-1)[: array.size // 2]
    elif way == 2:
        array = np.concatenate([array.reshape(-1)] * 2)
    elif way == 3:
        array = array.astype(np.float64 if array.dtype != np.float64 else np.int64)
    else:
        arrays[f"{name}_more"] = array
    arrays[name] = array
    return write_archive(about, arrays)


def _state(content: bytes, rng: np.random.Generator) -> bytes:
    about, members = read_container(content)
    members["state.npz"] = _changed_archive(members["state.npz"], rng)
    return _again(about, members)


def _model(content: bytes, rng: np.random.Generator) -> bytes:
    about, members = read_container(content)
    names = [name for name in members if name.startswith("models/")]
    name = names[int(rng.integers(0, len(names)))]
    members[name] = _changed_model(members[name], rng)
    return _again(about, members)


def _changed_model(content: bytes, rng: np.random.Generator) -> bytes:
    """An archive, or one of those that lie within it, changed."""
    header, arrays = read_archive(content)
    inner = [name for name in arrays if f"{name}_digest" in arrays]
    if not inner or rng.random() < 0.3:
        return _changed_archive(content, rng)
    name = inner[int(rng.integers(0, len(inner)))]
    part = arrays[name].tobytes()
    if part.startswith(b"PK"):
        part = _changed_model(part, rng)
    else:  # another library's own file
        ways = (_flip, _cut, _insert, _zero)
        part = ways[int(rng.integers(0, len(ways)))](part, rng)
    about = {key: header[key] for key in header if key not in ("arrays", "format", "version")}
    return write_archive(about, arrays | {name: np.frombuffer(part, np.uint8)})


def _table(content: bytes, rng: np.random.Generator) -> bytes:
    about, members = read_container(content)
    plain = zlib.decompress(members[TABLE][8:])
    ways: tuple[Callable[[bytes, np.random.Generator], bytes], ...] = (_flip, _cut, _insert, _zero)
    way = int(rng.integers(0, 10))
    if way < 4:  # the packed bytes
        members[TABLE] = ways[way](members[TABLE], rng)
        return _again(about, members)
    if way < 6:  # more than it says, or less
        length = int(rng.choice([0, 1, len(plain) - 1, 2**30, 2**40, 2**63]))
        more = bytes(int(rng.integers(0, 2)) * 100 * _MOST_BYTES)
        members[TABLE] = length.to_bytes(8, "little") + zlib.compress(plain + more, 1)
        return _again(about, members)
    changed = _changed_archive(plain, rng)
    members[TABLE] = len(changed).to_bytes(8, "little") + zlib.compress(changed, 1)
    return _again(about, members)


_KINDS: dict[str, Callable[[bytes, np.random.Generator], bytes]] = {
    "bytes flipped": _flip,
    "directory flipped": _flip_end,
    "cut": _cut,
    "inserted": _insert,
    "zeroed": _zero,
    "odd names": _odd_names,
    "links, copies, bombs": _odd_members,
    "lies about sizes": _lies,
    "settings, digests right": _settings,
    "state, digests right": _state,
    "models, digests right": _model,
    "table, digests right": _table,
}


def _judged(valid: bytes, changed: bytes) -> tuple[str, str]:
    """The outcome; an error that is no sentence is what we look for."""
    try:
        return judge(valid, changed)
    except Exception as error:
        return "odd", f"{type(error).__name__}: {error}"


def main(number: int, seed: int, method: str) -> None:
    """Open the changed files and print what happened."""
    warnings.simplefilter("ignore", UserWarning)  # of doubled names, which are made on purpose
    valid = valid_project(method)
    context = multiprocessing.get_context("spawn")
    process = ProcessPoolExecutor(1, context)
    process.submit(_judged, valid, valid).result()  # compiles and warms up
    counts: dict[str, Counter[str]] = {kind: Counter() for kind in _KINDS}
    slowest, odd = 0.0, []
    for k, mutation in enumerate(mutations(valid, number, seed)):
        began = time.perf_counter()
        try:
            outcome, sentence = process.submit(_judged, valid, mutation.content).result()
        except BrokenProcessPool:
            outcome, sentence = "crashed", "the process ended"
            process = ProcessPoolExecutor(1, context)
            process.submit(_judged, valid, valid).result()
        slowest = max(slowest, time.perf_counter() - began)
        counts[mutation.kind][outcome] += 1
        if outcome in ("odd", "crashed"):
            odd.append(f"{mutation.kind} {k}: {outcome}, {sentence}")
    process.shutdown()
    rows = [["change", "files", *OUTCOMES]]
    for kind, seen in counts.items():
        rows.append([kind, str(sum(seen.values())), *(str(seen[key]) for key in OUTCOMES)])
    total: Counter[str] = sum(counts.values(), Counter())
    rows.append(["all", str(number), *(str(total[key]) for key in OUTCOMES)])
    lines = [
        f"The valid project has {len(valid):,} bytes; the slowest file took {slowest:.2f} s.",
        markdown_table(rows),
        *odd,
    ]
    print("\n\n".join(lines))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mutations", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--method", default="sglb", help="of the models in the project")
    options = parser.parse_args()
    main(options.mutations, options.seed, options.method)
