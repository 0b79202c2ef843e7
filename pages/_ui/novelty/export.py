"""Novelty's page to take away."""

from __future__ import annotations

from collections.abc import Sequence

from gbuq_core.experiments.claims import Claim, claim_table
from gbuq_core.experiments.novelty.experiment import (
    novelty_code,
    place_section,
    score_section,
)
from gbuq_core.experiments.novelty.picture import novelty_sheet, tree_sheet
from gbuq_core.experiments.novelty.scores import describe_change
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.figures.standalone import Section
from pages._ui.novelty.change import Changed, change_sheet_of
from pages._ui.novelty.picture import ShownMaps, scores_of_maps
from pages._ui.novelty.scorecard import about_claims


def novelty_sections(
    found: ShownMaps,
    changed: Changed | None,
    claims: Sequence[Claim],
    knobs: Sequence[LiveKnob] = (),
) -> list[Section]:
    """Maps, the last edit, the place, its trees, scores, the paper's statements and code."""
    maps = novelty_sheet(found.run, look=found.look, bar=found.bar, knobs=knobs, alt=found.words)
    sheet, tables = (maps, [scores_of_maps(found)]) if maps.panels else (None, [])
    sections = [Section(sheet=sheet, caption=found.words, tables=tables)]
    if changed is not None:
        told = [describe_change(changed.change), *(one.text for one in changed.judgements)]
        sections.append(
            Section(
                heading="What the last edit changed",
                sheet=change_sheet_of(found, changed),
                caption=" ".join(told),
            )
        )
    trees = tree_sheet(found.look)
    return [
        *sections,
        place_section(found.run.fit, found.look),
        Section(heading="Tree by tree", sheet=trees, caption=trees.alt),
        score_section(found.run.fit, found.run.scores),
        Section(
            heading="The paper and this picture",
            text=" ".join(about_claims(found)),
            table=claim_table(claims) if claims else (),
        ),
        Section(heading="Python", code=novelty_code(found.run.settings)),
    ]
