"""Figures in Jupyter, marimo and VS Code: widgets that hold the JavaScript of the app.

A widget needs the package anywidget (the extra ``notebook``), which is imported when the first
figure is shown.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from gbuq_core.errors import InvalidParameter, MissingPackage
from gbuq_core.figures.canvas.encoding import encode_sheet
from gbuq_core.figures.canvas.live import encode_members
from gbuq_core.figures.canvas.panels import PanelSheet
from gbuq_core.figures.canvas.renderer import renderer_source, renderer_styles
from gbuq_core.figures.curves import Curves, curves_source, curves_styles, pack_curves
from gbuq_core.figures.handles import LiveKnob, read_live_knobs
from gbuq_core.figures.sources import join_scripts
from gbuq_core.presentation import short

if TYPE_CHECKING:
    from anywidget import AnyWidget

Kind = Literal["sheet", "curves"]

_ENTRY = Path(__file__).parent / "notebook.js"
_APP_ENTRY = "export default "
_VEGA = "application/vnd.vegalite.v5+json"
_VEGA_SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
_VEGA_PARTS = {"mark", "layer", "facet", "concat", "hconcat", "vconcat"}
_INK = "#777777"  # legible on white and on black


class VegaLite(NamedTuple):
    """A Vega-Lite chart that notebooks draw themselves."""

    spec: dict[str, Any]

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return {_VEGA: self.spec, "text/plain": "A Vega-Lite chart."}


def show(figure: Any) -> Any:
    """Show a figure of this project in a notebook (Jupyter, marimo or VS Code).

    The JavaScript is that of the app and of the downloaded pages: pointer, keys, player and the
    knobs in the picture's bar work without a server. The colours follow the notebook's theme.
    """
    if isinstance(figure, PanelSheet | Curves):
        scripts = figure.scripts if isinstance(figure, Curves) else ()
        kind: Kind = "sheet" if isinstance(figure, PanelSheet) else "curves"
        return _widget_class(kind, scripts)(figure)
    if isinstance(figure, Mapping) and _VEGA_PARTS & {*figure}:
        return VegaLite(_dressed(figure))
    if hasattr(figure, "to_plotly_json"):
        return _bare(figure)
    raise InvalidParameter(
        "show takes a PanelSheet, Curves, a Vega-Lite specification or a plotly figure; "
        f"got {type(figure).__name__}."
    )


@cache
def notebook_source(kind: Kind, scripts: tuple[Path, ...] = ()) -> str:
    """Return a renderer as the text of one ES module with the default export of anywidget.

    ``scripts`` are those that a drawing of its own brings along.
    """
    if kind == "sheet":
        source, styles = renderer_source(), renderer_styles()
        read, keep = "(data) => data", "keepMembers"
    else:
        source, styles = curves_source(scripts), curves_styles(scripts)
        read, keep = "unpackCurves", "null"
    # The module has one entry: the notebook's, which mounts figures itself.
    parts = source[: source.index(_APP_ENTRY)]
    names = f"const READ = {read};\nconst KEEP = {keep};\nconst STYLES = {json.dumps(styles)};\n"
    return parts + names + join_scripts((_ENTRY,))


def notebook_bundle(figure: PanelSheet | Curves) -> dict[str, Any]:
    """Return what a notebook shows of a figure that is the last line of a cell.

    Without anywidget it is one sentence that says what to install.
    """
    try:
        widget = show(figure)
    except MissingPackage as missing:
        return {"text/plain": f"{figure.alt or 'A picture.'}\n{missing}"}
    bundle: Any = widget._repr_mimebundle_()
    # anywidget returns data, or data with their metadata.
    return bundle[0] if isinstance(bundle, tuple) else bundle


def _knobs_of(figure: PanelSheet | Curves) -> tuple[LiveKnob, ...]:
    """The knobs of the figure's bar, or its two sliders and their switch."""
    dials = figure.spec.get("dials") if isinstance(figure, Curves) else None
    if dials is None:
        return tuple(figure.knobs)
    trees = tuple(dials["trees"])
    texts = tuple(short(n) for n in trees)
    stages = ((name, dials["labels"][name], dials[name]) for name in ("mean", "scale"))
    return (
        *(LiveKnob(name, label, "slide", int(at), trees, texts) for name, label, at in stages),
        LiveKnob("factor", "Factor", "switch", bool(dials["factor"]), (False, True), ()),
    )


def _placed(knobs: Sequence[LiveKnob], values: Mapping[str, Any]) -> dict[str, int | bool]:
    """Where knobs stand that have these values."""
    places: dict[str, int | bool] = {}
    for knob in knobs:
        value = values[knob.key]
        if value not in knob.choices:
            raise InvalidParameter(
                f"{knob.key} must be one of {', '.join(map(repr, knob.choices))}; got {value!r}."
            )
        place = knob.choices.index(value)
        places[knob.key] = bool(place) if knob.kind == "switch" else place
    return places


def _dressed(spec: Mapping[str, Any]) -> dict[str, Any]:
    """A specification whose words are legible in light and dark notebooks."""
    axis = {"labelColor": _INK, "titleColor": _INK, "gridColor": f"{_INK}55"}
    words = {"axis": axis, "legend": axis, "title": {"color": _INK}, "view": {"stroke": None}}
    config = {**words, **spec.get("config", {})}
    return {"$schema": _VEGA_SCHEMA, "background": None, **spec, "config": config}


def _bare(figure: Any) -> Any:
    """A copy of a plotly figure on the notebook's own background, in words legible on any."""
    clear = "rgba(0,0,0,0)"
    axis = {"color": _INK, "gridcolor": f"{_INK}55"}
    words = {"tickfont": {"color": _INK}, "title": {"font": {"color": _INK}}}
    copy = type(figure)(figure)
    copy.update_layout(paper_bgcolor=clear, plot_bgcolor=clear, font_color=_INK)
    copy.update_xaxes(axis).update_yaxes(axis)
    copy.update_scenes({"xaxis": axis, "yaxis": axis, "zaxis": axis, "bgcolor": clear})
    return copy.for_each_trace(
        lambda trace: trace.update(colorbar=words), selector={"type": "surface"}
    )


@cache
def _widget_class(kind: Kind, scripts: tuple[Path, ...] = ()) -> type[AnyWidget]:
    """The widget of one renderer."""
    try:
        import anywidget
        import traitlets
    except ImportError as error:
        raise MissingPackage(
            "A picture in a notebook needs anywidget: pip install anywidget."
        ) from error

    class FigureWidget(anywidget.AnyWidget):  # type: ignore[misc,unused-ignore]
        """A figure in a notebook; ``knobs`` says where those of its bar stand."""

        _esm = traitlets.Unicode(notebook_source(kind, scripts)).tag(sync=True)
        _data = traitlets.Bytes().tag(sync=True)
        _members = traitlets.Bytes().tag(sync=True)
        _places = traitlets.Dict().tag(sync=True)
        knobs = traitlets.Dict()

        def __init__(self, figure: PanelSheet | Curves) -> None:
            self.figure = figure
            self._live = _knobs_of(figure)
            # A switch has no list of choices: its value is its place.
            at = {knob.key: int(knob.value) for knob in self._live}
            members = b""
            if isinstance(figure, PanelSheet):
                data = encode_sheet(figure)
                if figure.live is not None and figure.live.ensembles:
                    members = encode_members(figure.live)
            else:
                data = pack_curves(figure.only_read)
            super().__init__(_data=data, _members=members)
            self.knobs = {knob.key: knob.choices[at[knob.key]] for knob in self._live}

        def __repr__(self) -> str:
            return self.figure.alt or "A picture."

        @traitlets.validate("knobs")
        def _check_knobs(self, proposal: Any) -> dict[str, Any]:
            unknown = proposal["value"].keys() - {knob.key for knob in self._live}
            if unknown:
                raise InvalidParameter(f"The picture has no knob called {sorted(unknown)[0]!r}.")
            values = {**self.knobs, **proposal["value"]}
            _placed(self._live, values)
            return values

        @traitlets.observe("knobs")
        def _tell(self, change: Any) -> None:
            self._places = _placed(self._live, change["new"])

        @traitlets.observe("_places")
        def _hear(self, change: Any) -> None:
            values = read_live_knobs(change["new"], self._live)
            if values is not None:
                self.knobs = values

    return FigureWidget
