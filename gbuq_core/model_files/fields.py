"""Fitted estimators to files and back, by the fields that their classes declare.

One walker for dataclasses, NamedTuples and estimators. A file names a class, never a module: a
record must be of a class that the field's type names, an estimator of one that a registered package
offers. What is read must be of the declared type, so no other class can stand in its place; ranges
that kernels rely on are checked by ``check_file``, after its parts have been. Objects that several
fields share are in the file once. `libraries` knows the models of other libraries.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import importlib
import inspect
import math
import numbers
import re
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np

from gbuq_core.errors import InvalidParameter, OldModelFile
from gbuq_core.file_bytes import read_limited, write_bytes
from gbuq_core.model_files.archive import read_archive, write_archive
from gbuq_core.model_files.contents import (
    MODEL_FILE,
    PLAIN_TYPES,
    Arrays,
    damaged,
    errors_as_damage,
    has_form,
    is_text,
    library_name,
    newer,
    no_file_format,
    require,
)
from gbuq_core.model_files.sklearn_trees import read_trees, store_trees

LAYOUT = 2  # of the header's ``model``; files of gbuq 0.2 have none
_DEEPEST = 40
_LABELS = re.compile(r"\|b1|[<|>][iuf][1248]|\|O|[<>]U[0-9]{1,5}")
_MOST_LABEL_BYTES = 2**28
# Fields of scikit-learn that an estimator may have without declaring them.
_USUAL: dict[str, Any] = {"n_features_in_": int, "feature_names_in_": np.ndarray}
_OF_SKLEARN = ("_metadata_request", "_sklearn_output_config")  # which are in no file

# Packages whose offered classes a file may hold; `register_models` adds to them.
_PACKAGES = [
    "gbuq_core.boosting", "gbuq_core.baselines", "gbuq_core.calibration", "gbuq_core.ibug",
    "gbuq_core.macau", "gbuq_core.soft_trees", "gbuq_core.stacking", "gbuq_core.unfamiliarity",
]  # fmt: skip


class Savable:
    """An estimator with ``save``.

    Its class declares the fields that `fit` sets, with their types, in its body: these and the
    constructor's parameters are in the file. ``_not_saved`` names fields that are not, and
    ``_may_lack`` those that only some settings have.
    """

    _not_saved: ClassVar[tuple[str, ...]] = ()
    _may_lack: ClassVar[tuple[str, ...]] = ()

    def save(self, target: Any) -> None:
        """Write the fitted estimator to a path or a binary file; `gbuq_core.load` reads it.

        A path is overwritten. Nothing in the file is pickled: models of CatBoost, LightGBM and
        XGBoost are in their library's own form, trees of scikit-learn, NGBoost and stochtree node
        by node. What was an estimator of LightGBM is read as its plain Booster, with the same
        predictions, bit for bit. A ``random_state`` that is a generator is saved as the seed that
        was drawn from it.

        Raises
        ------
        InvalidParameter
            If a model within it, a parameter or a class label cannot be held without pickle.
        """
        writer = Writer()
        node = writer.node(self, type(self).__name__)
        content = write_archive({"layout": LAYOUT, "model": node}, writer.all_arrays())
        write_bytes(content, target)

    def check_file(self) -> None:
        """Refuse what no fit makes, after reading, and make what is not saved.

        Kernels check nothing: every number that indexes an array is checked here.
        """


def register_models(package: str) -> None:
    """Let files hold the `Savable` classes that a package offers (its ``__all__``), by name."""
    if package not in _PACKAGES:
        _PACKAGES.append(package)


def find_class(name: Any) -> type | None:
    """The class of that name which a registered package offers."""
    for package in _PACKAGES:
        module = importlib.import_module(package)
        kind = getattr(module, name) if name in module.__all__ else None
        if isinstance(kind, type) and issubclass(kind, Savable):
            return kind
    return None


def load(source: Any, *, trust: bool = True) -> Any:
    """Read a fitted estimator that its ``save`` has written.

    Parameters
    ----------
    source : path, bytes or binary file
        Nothing in it is ever executed or unpickled. Files with models of CatBoost inside only from
        sources you trust: CatBoost parses them itself.
    trust : bool
        Whether models of CatBoost are read. If False, a file that holds one is refused.

    Returns
    -------
    estimator
        Of the class that was saved, with the same predictions, bit for bit. A `VirtualEnsemble`
        holds its library's plain booster, and so does an `IBUGRegressor` with LightGBM.

    Raises
    ------
    ModelFileError
        If there is no such file, or it is damaged, foreign, or written by another version.
    UntrustedModel
        If it holds a model of CatBoost, and ``trust`` is False.
    MemoryLimitExceeded
        If it does not fit into the free memory.
    MissingPackage
        If the file needs a package that is not installed, such as CatBoost.

    Examples
    --------
    >>> import io
    >>> from gbuq_core import VariationalSoftTreeRegressor, load
    >>> X = [[0.0], [1.0], [2.0]]
    >>> model = VariationalSoftTreeRegressor(depth=1, n_steps=50, random_state=0)
    >>> model = model.fit(X, [0.0, 1.0, 4.0])
    >>> file = io.BytesIO()
    >>> model.save(file)
    >>> bool((load(file.getvalue()).predict(X) == model.predict(X)).all())
    True
    """
    header, arrays = read_archive(read_limited(source, MODEL_FILE)[0])
    with errors_as_damage():
        name, node = model_node(header)[0].__name__, header["model"]
        model = Reader(arrays, trust).value(node, name, Savable)
        require(not _holds_unfitted(model), "its model is not fitted")
        return model


def model_node(header: Mapping[str, Any]) -> tuple[type, Mapping[str, Any]]:
    """The class of a file's estimator, and its fields as the header describes them."""
    layout, node = header.get("layout"), header.get("model", {})
    if "kind" in header and layout is None:
        raise OldModelFile(
            "The model file was written by gbuq 0.2, whose model files this version does not read: "
            "train the model again and save it."
        )
    if type(layout) is int and layout > LAYOUT:
        raise newer(f"has the layout {layout} (this gbuq reads {LAYOUT})")
    described = isinstance(node, dict) and isinstance(node.get("class"), str)
    require(layout == LAYOUT and described, "it does not say what model it holds")
    kind = find_class(node["class"])
    if kind is None:
        raise newer(f"holds a {node['class']!r:.60}")
    return kind, node["fields"]


class _Fields(NamedTuple):
    """The fields of a class."""

    types: dict[str, Any]
    optional: frozenset[str]  # may be missing
    fitted: frozenset[str]  # what `fit` sets
    defaults: dict[str, Any]  # of the constructor of an estimator


@functools.cache
def _fields_of(kind: Any) -> _Fields:
    hints = get_type_hints(kind, include_extras=True)
    parameters = inspect.signature(kind).parameters if issubclass(kind, Savable) else {}
    defaults = {n: p.default for n, p in parameters.items() if p.default is not p.empty}
    optional: set[str] = set()
    if hasattr(kind, "_fields"):
        hints = {name: hints[name] for name in kind._fields}
        optional = set(kind._field_defaults)
    elif dataclasses.is_dataclass(kind):
        hints = {field.name: hints[field.name] for field in dataclasses.fields(kind) if field.init}
    else:
        usual = _USUAL if hasattr(kind, "get_params") else {}
        of_parameters = get_type_hints(kind.__init__)
        hints = {name: of_parameters.get(name, Any) for name in parameters} | usual | hints
        optional = {"feature_names_in_", *defaults, *_named(kind, "_may_lack")}
        optional |= {name for name in hints if hasattr(kind, name)}
    left_out = _named(kind, "_not_saved")
    hints = {
        name: hint
        for name, hint in hints.items()
        if name not in left_out and not {ClassVar, Callable} & {hint, get_origin(hint)}
    }
    return _Fields(hints, frozenset(optional), frozenset(hints) - {*parameters}, defaults)


def _named(kind: type, what: str) -> set[str]:
    """The fields that a class or one of its bases lists."""
    return {name for base in kind.__mro__ for name in vars(base).get(what, ())}


def _is_declared(kind: Any) -> bool:
    """Whether a class is walked by its fields: a record, or one that has a ``_not_saved``."""
    is_record = hasattr(kind, "_fields") or dataclasses.is_dataclass(kind)
    return is_record or hasattr(kind, "_not_saved")


def _choices(hint: Any) -> Iterator[Any]:
    """The types of a union."""
    if hasattr(hint, "__value__"):  # an alias, as NumPy 2.5 has for arrays
        args = get_args(hint)
        yield from _choices(get_origin(hint).__value__[args] if args else hint.__value__)
    elif get_origin(hint) in (Union, types.UnionType):
        for part in get_args(hint):
            yield from _choices(part)
    else:
        yield hint


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value is of a type, its items aside."""
    return any(_is_of(value, choice) for choice in _choices(hint))


# What stands for a number or a flag.
_LIKE: dict[Any, Any] = {bool: bool | np.bool_, int: numbers.Integral, float: numbers.Real}


def _is_of(value: Any, choice: Any) -> bool:
    origin = get_origin(choice)
    if choice is Any:
        return True
    if choice in _LIKE:
        return isinstance(value, _LIKE[choice]) and (choice is bool or not isinstance(value, bool))
    if origin is Annotated:  # classes of other libraries by their names
        return library_name(value) in get_args(choice)[1:]
    if origin is np.ndarray:
        (dtype,) = get_args(get_args(choice)[1])
        is_array = isinstance(value, np.ndarray)
        return is_array and (dtype is Any or np.issubdtype(value.dtype, dtype))
    if origin is Sequence:
        return isinstance(value, list | tuple | np.ndarray)
    if origin is Literal:
        return value in get_args(choice)
    kind = choice if origin is None else origin
    named = origin is not None and hasattr(value, "_fields")  # a record in a tuple's place
    return isinstance(kind, type) and isinstance(value, kind) and not named


def _item_hints(hint: Any, kind: type, n: int) -> list[Any]:
    """The types of the items of a list or tuple of n, or of the keys and values of a dict."""
    for choice in _choices(hint):
        args, origin = get_args(choice), get_origin(choice)
        if isinstance(origin, type) and issubclass(kind, origin):
            if len(args) == 1 or args[-1] is Ellipsis:
                return [args[0]] * n
            if len(args) == n:
                return list(args)
    return [Any] * n


def _codecs() -> Any:
    """How objects of other libraries are written; `libraries` imports what reads their trees."""
    from gbuq_core.model_files.libraries import CODECS

    return CODECS


class Writer:
    """An object as JSON and arrays, those of one type in one row, and scikit-learn's trees."""

    def __init__(self) -> None:
        self._rows: dict[str, list[np.ndarray]] = {}
        self._ends: dict[str, int] = {}
        self._trees: list[Any] = []
        self._numbers: dict[int, int] = {}
        self._written: list[Any] = []  # kept, so that no other object gets its id

    def know(self, values: Sequence[Any]) -> None:
        """Objects that whoever reads has as well, given in this order to `Reader.know`."""
        for value in values:
            self._numbers[id(value)] = len(self._written)
            self._written.append(value)

    def node(self, value: Any, where: str, hint: Any = Any) -> Any:
        """A value of a declared type as the header's JSON."""
        if where.count(".") > _DEEPEST:
            raise InvalidParameter(f"{where} lies too deep to be saved: use plain values.")
        if not _fits(value, hint):
            raise self._refused(value, where)
        if value is None or type(value) in PLAIN_TYPES:
            return value
        if isinstance(value, np.generic) and value.dtype.kind in "biuf":
            return {"number": value.dtype.str, "value": value.item()}
        if type(value) is list:
            return self._items(value, hint, where)
        if type(value) is tuple:
            return {"tuple": self._items(value, hint, where)}
        if id(value) in self._numbers:
            return {"same": self._numbers[id(value)]}
        node = self._object(value, hint, where)
        self.know([value])
        return node

    def array(self, array: np.ndarray) -> dict[str, Any]:
        """An array's place among those of its type, as `Reader.array` finds it."""
        kind = array.dtype.str[1:]
        begin = self._ends.get(kind, 0)
        self._rows.setdefault(kind, []).append(np.ascontiguousarray(array).ravel())
        self._ends[kind] = begin + array.size
        return {"array": kind, "from": begin, "shape": list(array.shape)}

    def content(self, content: bytes, where: str) -> Any:
        """Bytes, as `Reader.content` reads them."""
        array = np.frombuffer(content, np.uint8)
        return {"bytes": self.node(array, where), "sha256": hashlib.sha256(content).hexdigest()}

    def tree(self, tree: Any) -> int:
        """The place of a scikit-learn tree among those of the file."""
        self._trees.append(tree)
        return len(self._trees) - 1

    def all_arrays(self) -> dict[str, np.ndarray]:
        """The arrays, with those of the trees."""
        rows = {kind: np.concatenate(parts) for kind, parts in self._rows.items()}
        return rows | (store_trees(self._trees) if self._trees else {})

    def _items(self, values: Any, hint: Any, where: str) -> list[Any]:
        hints = _item_hints(hint, type(values), len(values))
        return [self.node(item, f"{where}.{k}", hints[k]) for k, item in enumerate(values)]

    def _object(self, value: Any, hint: Any, where: str) -> Any:
        kind = type(value)
        if kind is np.ndarray:
            return self._array(value, where)
        if kind is dict:
            keys, values = _item_hints(hint, dict, 2)
            pairs = [
                [self.node(k, f"{where}.key", keys), self.node(v, f"{where}.{k}", values)]
                for k, v in value.items()
            ]
            return {"dict": pairs}
        own = kind is find_class(kind.__name__) or any(kind is c for c in _choices(hint))
        if own and _is_declared(kind):
            return self._declared(value, where)
        if isinstance(value, Savable):
            raise InvalidParameter(
                f"A {kind.__name__} is of another class than gbuq's own: register the package that "
                "offers it with gbuq_core.model_files.register_models."
            )
        for base in kind.__mro__:
            codec = _codecs().get(library_name(base))
            if codec is not None and (base is kind or codec.subclasses):
                return {"of": library_name(base), "value": codec.write(value, self, where)}
        raise self._refused(value, where)

    def _declared(self, value: Any, where: str) -> Any:
        kind: Any = type(value)
        fields = _fields_of(kind)
        state = vars(value) if hasattr(value, "__dict__") else value._asdict()
        held = {name: state[name] for name in fields.types if name in state}
        missing = [n for n in fields.types if n not in held and n not in fields.optional]
        if missing and ("." not in where or fields.fitted & set(held)):
            from sklearn.utils.validation import check_is_fitted

            check_is_fitted(value, missing)
        if isinstance(value, Savable):
            known = {*fields.types, *_named(kind, "_not_saved"), *_OF_SKLEARN}
            for name in sorted(set(state) - known):  # they would be lost
                if name.startswith("_") or name.endswith("_"):
                    raise InvalidParameter(
                        f"{kind.__name__} does not say what {name} is: declare its type in the "
                        "body of the class, or name it in _not_saved."
                    )
            drawn = not isinstance(held.get("random_state"), int | np.integer | None)
            if drawn and hasattr(value, "seed_"):
                held["random_state"] = value.seed_
        parts = {
            name: self.node(part, f"{where}.{name}", fields.types[name])
            for name, part in held.items()
        }
        return {"class": kind.__name__, "fields": parts}

    def _array(self, value: np.ndarray, where: str) -> Any:
        dtype = value.dtype
        if dtype.kind in "biuf" and dtype.itemsize <= 8 and dtype.str[0] != ">":
            return self.array(value)
        labels = value.tolist()
        known = _LABELS.fullmatch(dtype.str) and value.ndim == 1
        if not known or any(type(label) not in PLAIN_TYPES for label in labels):
            raise self._refused(value, where)
        return {"labels": dtype.str, "values": labels}

    def _refused(self, value: Any, where: str) -> InvalidParameter:
        if hasattr(value, "predict"):
            return no_file_format(value)
        name = where.partition(".")[2] or where
        return InvalidParameter(
            f"{name} holds {value!r:.60}, which cannot be saved: use numbers, text or booleans."
        )


class Reader:
    """An object of JSON and arrays, each part of its declared type."""

    def __init__(self, arrays: Arrays, trust: bool) -> None:
        self.arrays, self.trust = arrays, trust
        self.sources: dict[int, Any] = {}  # leaves of models that an importer has read
        self._trees: list[Any] | None = None
        self._built: list[Any] = []

    def know(self, values: Sequence[Any]) -> None:
        """Objects that the file refers to without holding them."""
        self._built += values

    def value(self, node: Any, where: str, hint: Any = Any) -> Any:
        """The value of a part of the header, which must be of the declared type."""
        require(where.count(".") <= _DEEPEST, "its parts lie too deep in each other")
        value = self._value(node, hint, where)
        require(_fits(value, hint), f"{where} is of another type")
        return value

    def array(self, node: Mapping[str, Any], where: str) -> np.ndarray:
        """The array at a place."""
        row, begin, shape = self.arrays.get(node["array"]), node["from"], node["shape"]
        possible = all(type(n) is int and n >= 0 for n in (begin, *shape))
        if row is None or not possible or row.ndim != 1:
            raise damaged(f"{where} is missing")
        end = begin + math.prod(shape)
        require(end <= len(row), f"{where} is cut off")
        return row[begin:end].reshape(shape)

    def content(self, node: Any, where: str) -> bytes:
        """The bytes that were written, and no others: libraries do not survive every file."""
        array = self.value(node["bytes"], where)
        require(has_form(array, np.uint8, None), f"{where} is of another type")
        content: bytes = array.tobytes()
        require(hashlib.sha256(content).hexdigest() == node["sha256"], f"{where} has changed")
        return content

    def numbers(self, node: Any, where: str, *shape: int | None) -> np.ndarray:
        """Finite float64 numbers of this shape."""
        array: np.ndarray = self.value(node, where)
        fits = has_form(array, np.float64, *shape) and np.isfinite(array).all()
        require(fits, f"{where} is impossible")
        return array

    def tree(self, place: Any) -> Any:
        """The scikit-learn tree at a place."""
        if self._trees is None:
            self._trees = read_trees(self.arrays)
        require(type(place) is int and 0 <= place < len(self._trees), "a tree does not exist")
        return self._trees[place]

    def _value(self, node: Any, hint: Any, where: str) -> Any:
        if node is None or type(node) in PLAIN_TYPES:
            return node
        if type(node) is list:
            return self._items(node, list, hint, where)
        if "tuple" in node:
            require(type(node["tuple"]) is list, f"{where} is of another type")
            return tuple(self._items(node["tuple"], tuple, hint, where))
        if "number" in node:
            dtype, value = np.dtype(node["number"]), node["value"]
            plain = dtype.kind in "biuf" and type(value) in (bool, int, float)
            require(plain, f"{where} is no number")
            return dtype.type(value)
        if "same" in node:
            place = node["same"]
            known = type(place) is int and 0 <= place < len(self._built)
            require(known, f"{where} is a part that does not exist")
            return self._built[place]
        value = self._object(node, hint, where)
        self._built.append(value)
        return value

    def _items(self, nodes: list[Any], kind: type, hint: Any, where: str) -> list[Any]:
        hints = _item_hints(hint, kind, len(nodes))
        return [self.value(item, f"{where}.{k}", hints[k]) for k, item in enumerate(nodes)]

    def _object(self, node: dict[str, Any], hint: Any, where: str) -> Any:
        if "array" in node:
            return self.array(node, where)
        if "labels" in node:
            return _labels(node, where)
        if "dict" in node:
            keys, values = _item_hints(hint, dict, 2)
            return {
                self.value(k, f"{where}.key", keys): self.value(v, f"{where}.value", values)
                for k, v in node["dict"]
            }
        if "of" in node:
            codec = _codecs().get(node["of"])
            require(codec, f"{where} is a model of an unknown kind")
            return codec.read(node["value"], self, where, node["of"])
        name = node["class"]
        kinds = (c for c in _choices(hint) if isinstance(c, type) and c.__name__ == name)
        kind = find_class(name) or next(kinds, None)
        require(_is_declared(kind), f"{where} is of an unknown kind")
        return self._declared(kind, node["fields"], where)

    def _declared(self, kind: Any, nodes: Any, where: str) -> Any:
        fields = _fields_of(kind)
        unknown = sorted(set(nodes) - set(fields.types))
        if unknown:
            raise newer(f"has the unknown field {unknown[0]!r:.60} in a {kind.__name__}")
        held = {
            name: self.value(node, f"{where}.{name}", fields.types[name])
            for name, node in nodes.items()
        }
        for name in fields.fitted & set(held):
            require(not _holds_unfitted(held[name]), f"{where}.{name} is not fitted")
        missing = sorted(set(fields.types) - set(held) - fields.optional)
        if missing:
            unfitted = issubclass(kind, Savable) and not fields.fitted & set(held)
            possible = unfitted and fields.fitted.issuperset(missing)
            require(possible, f"{where} lacks {missing[0]}")
            return kind(**held)
        if hasattr(kind, "_fields") or dataclasses.is_dataclass(kind):
            record: Any = kind(**held)
        else:
            record = kind.__new__(kind)
            record.__dict__.update(fields.defaults | held)
        if isinstance(record, Savable):
            _check_usual(record)
        if hasattr(record, "check_file"):
            record.check_file()
        return record


def _holds_unfitted(value: Any) -> bool:
    """Whether it is, or lists, an estimator of which only the parameters are known."""
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return any(map(_holds_unfitted, value))
    if not isinstance(value, Savable):
        return False
    kind: Any = type(value)
    fields = _fields_of(kind)
    return any(name not in vars(value) for name in fields.fitted - fields.optional)


def _check_usual(model: Any) -> None:
    """Check the fields that estimators have in common."""
    n_features = getattr(model, "n_features_in_", 1)
    require(n_features >= 1, "its number of columns is impossible")
    if hasattr(model, "feature_names_in_"):
        names = model.feature_names_in_.tolist()
        require(is_text(names) and len(names) == n_features, "its columns do not match")
    if hasattr(model, "classes_"):
        from gbuq_core.inputs import MAX_CLASSES

        labels = model.classes_.tolist()
        require(model.classes_.ndim == 1, "its classes are not one list")
        possible = 2 <= len(labels) <= MAX_CLASSES and len(set(labels)) == len(labels)
        require(possible, "the number of its classes is impossible")
    require(0 <= getattr(model, "seed_", 0) < 2**63, "its seed is out of range")
    require(math.isfinite(getattr(model, "fit_seconds_", 0.0)), "its time of training is no number")


def _labels(node: Mapping[str, Any], where: str) -> np.ndarray:
    """Text or other labels, in the type that they had."""
    dtype, labels = node["labels"], node["values"]
    known = isinstance(dtype, str) and _LABELS.fullmatch(dtype) and isinstance(labels, list)
    known = known and all(type(label) in PLAIN_TYPES for label in labels)
    require(known, f"{where} is of another type")
    require(np.dtype(dtype).itemsize * len(labels) <= _MOST_LABEL_BYTES, f"{where} is too large")
    typed = np.array(labels, dtype=object).astype(np.dtype(dtype))
    require(typed.tolist() == labels, f"{where} is of another type")
    return typed
