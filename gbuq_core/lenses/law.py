"""The law of the open row, for the method that has voices."""

from __future__ import annotations

from gbuq_core.figures.standalone import Section
from gbuq_core.figures.table.row_law import law_figure
from gbuq_core.lenses.lens import WHY, Lens, Seen
from gbuq_core.presentation import counted, enumerated, percent, share_word, short, shown
from gbuq_core.tables import LAW_MEANING, RowLaw, ScoredTable, row_law, why_no_law

_LISTED = 10
_SHARE = 0.01  # a voice with less is not in the sentence
_LIKELY = 0.05  # a whole number that is worth a word
_LOUDER = 0.1  # by so much more weight the trend speaks beyond the rows


def describe_law(scored: ScoredTable, law: RowLaw) -> str:
    """What a row's law says, and where it comes from. Plain text that holds the user's words."""
    voices = [voice for voice in law.voices if voice.weight >= _SHARE]
    near = counted(max(1, round(law.n_near)), "row")
    from_what = {
        "trees": "the trees",
        "process": "the smooth trend",
        "targets": f"{near} like it",
        "residuals": f"how the trees missed {near} like it",
        "shares": "the shares of all rows",
    }
    parts = [
        f"{share_word(voice.weight)}{' of this comes' if not k else ''} from "
        f"{from_what[voice.voice]}"
        for k, voice in enumerate(voices)
    ]
    sentences = [_say_values(scored, law), enumerated(parts).capitalize() + "."]
    if law.neighbors and {"targets", "residuals"} & {voice.voice for voice in voices}:
        sentences.append(_say_near(scored, law))
    trend = next((voice for voice in voices if voice.voice in ("process", "shares")), None)
    if trend is not None and trend.weight > trend.usual + _LOUDER:
        usual = f"; elsewhere {share_word(trend.usual)} comes from it" if trend.usual else ""
        counts = f"{from_what[trend.voice]} {'count' if trend.voice == 'shares' else 'counts'}"
        sentences.append(f"It lies beyond the training rows, where {counts} for more{usual}.")
    return " ".join(sentences)


def _say_values(scored: ScoredTable, law: RowLaw) -> str:
    """What is likely, and how likely."""
    best = int(law.values.argmax())
    if law.kind == "classes":
        name = shown(scored.training.target.classes[best])
        return f"{name} has a probability of {percent(law.values[best], 0)}."
    spikes = [
        f"It is exactly {at:g} with a probability of {percent(chance, 0)}."
        for at, chance in law.spikes
        if chance >= 0.005
    ]
    if law.kind == "masses" and law.values[best] >= _LIKELY:
        likely = f"{law.points[best]:g} is likeliest ({percent(law.values[best], 0)})"
        _, low, high = law.intervals[-1]
        return f"{likely}, and 90 % of what is possible lies from {low:g} to {high:g}."
    half, most = (f"{short(low, 4)} to {short(high, 4)}" for _, low, high in law.intervals)
    return " ".join([*spikes, f"Half of what is possible lies from {half}, 90 % from {most}."])


def _say_near(scored: ScoredTable, law: RowLaw) -> str:
    targets = [near.target for near in law.neighbors]
    first = scored.training.row_numbers[law.neighbors[0].row]
    if scored.training.target.classes:
        sums: dict[str, float] = {}
        for near in law.neighbors:
            sums[str(near.target)] = sums.get(str(near.target), 0.0) + near.weight
        best = max(sums, key=lambda name: sums[name])
        share = percent(sums[best] / sum(sums.values()), 0)
        return f"Of the rows like it, such as training row {first:,}, {share} are {best[:60]}."
    low, high = (short(float(end), 4) for end in (min(targets), max(targets)))
    return (
        f"The targets of the rows like it, such as training row {first:,}, go from {low} to {high}."
    )


def say_law(scored: ScoredTable, row: int) -> str:
    """`describe_law` of a row; empty for a method without voices."""
    return "" if why_no_law(scored) else describe_law(scored, row_law(scored, row))


def _sections(seen: Seen, law: RowLaw) -> list[Section]:
    """The picture, the words and the voices, then the training rows in it."""
    scored = seen.scored
    target = scored.training.target
    words = describe_law(scored, law)
    truth = float("nan") if target.classes else float(scored.scored.y[seen.row])
    figure = law_figure(
        law.points,
        law.values,
        [(voice.voice, voice.weight, voice.values) for voice in law.voices],
        law.spikes,
        law.kind,
        target.name,
        truth,
        words,
        target.classes,
    )
    sections = [Section(curves=figure, text=[words, law.support] if law.support else words)]
    if law.neighbors:
        lines = [("Row", "Weight", "Target")]
        for near in law.neighbors[:_LISTED]:
            cell = near.target if isinstance(near.target, str) else short(near.target, 4)
            number = f"{scored.training.row_numbers[near.row]:,}"
            lines.append((number, f"{100 * near.weight:.1f} %", cell))
        rest = sum(near.weight for near in law.neighbors[_LISTED:])
        more = f" {len(law.neighbors) - _LISTED} more have {percent(rest, 0)}." if rest else ""
        sections.append(Section(table=lines, caption=f"The training rows in it.{more}"))
    return sections


LENSES = (
    Lens(
        key="law",
        place=WHY,
        title="What is possible in this row, and who says so?",
        meaning=LAW_MEANING,
        of_row=True,
        concerns=lambda seen: not why_no_law(seen.scored),
        refuse=lambda seen: why_no_law(seen.scored),
        compute=lambda seen: row_law(seen.scored, seen.row),
        sections=_sections,
    ),
)
