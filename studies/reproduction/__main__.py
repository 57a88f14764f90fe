"""Writes docs/results/reproduction.md from the archived trials.

Run with ``python -m studies.reproduction [docs]``; it reads ``docs/reproduction/*.jsonl.gz``
and, if it is there, ``docs/reproduction/remarks.md``, and measures nothing.
"""

from __future__ import annotations

import sys
from pathlib import Path

from studies.reproduction.curve import curve
from studies.reproduction.page import page
from studies.reproduction.published import FITNESS, GENERATION
from studies.reproduction.study import Study, read_study


def main(docs: Path) -> None:
    """Writes the page and its pictures."""
    folder = docs / "reproduction"
    studies = {
        name: read_study(folder / f"{name}.jsonl.gz")
        for name in ("paper", "default")
        if (folder / f"{name}.jsonl.gz").exists()
    }
    for name, study in studies.items():
        _draw(study, folder / f"{name}.svg", published=name == "paper")
    if "paper" not in studies:
        raise SystemExit(f"{folder / 'paper.jsonl.gz'} is missing: make reproduction measures it")
    told = folder / "remarks.md"
    remarks = told.read_text(encoding="utf-8") if told.exists() else ""
    text = page(studies["paper"], studies.get("default"), remarks=remarks)
    out = docs / "results" / "reproduction.md"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(text, encoding="utf-8")
    print(f"{out} tells of {sum(len(s.draws) for s in studies.values())} draws")


def _draw(study: Study, path: Path, *, published: bool) -> None:
    if study.generations:
        mark = (GENERATION, float(FITNESS)) if published else None
        title = "Fitness of the genetic algorithm by generation"
        path.write_text(curve(study.generations, mark=mark, title=title), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("docs"))
