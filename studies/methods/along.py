"""How far each method had come within a part of its seconds, by what it had measured itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from optimizer.evaluation.evaluation import Evaluation
from optimizer.trials.history import History
from optimizer.trials.problem import Problem
from optimizer.trials.trial import Purpose
from studies.real_search.book import Book
from studies.real_search.study import Study
from studies.real_search.summary import Winner
from studies.real_search.tables import along_table

_PARTS = (1 / 8, 1 / 4, 1 / 2, 1)
Along = dict[str, list[list[float | None]]]
_HOW = (
    "Along the way, the best fitness that each had measured within so many seconds (of single "
    "runs, so the best of many is partly luck):"
)


def along(study: Study, book: Book, winners: Sequence[Winner]) -> Along:
    """By method that searches: for each seed with a winner its best so far, at each of the parts.

    Args:
        study: What was compared; it has seconds.
        book: Its raw results.
        winners: Of whichever seeds shall be told of.
    """
    assert study.seconds is not None
    parts = [part * study.seconds for part in _PARTS]
    found: Along = {}
    for winner in winners:
        problem = study.seeded(winner.seed)
        history = book.history(problem, winner.strategy)
        if len(history.numbers(Purpose.CANDIDATE)) > 1:
            best = best_so_far(problem, history, parts)
            found.setdefault(winner.strategy, []).append(best)
    return found


def together(ways: Iterable[Along]) -> Along:
    """The seeds of several cases."""
    found: Along = {}
    for way in ways:
        for name, seeds in way.items():
            found.setdefault(name, []).extend(seeds)
    return found


def along_section(study: Study, found: Along) -> list[str]:
    """Its paragraphs on the page; none where no method searched."""
    assert study.seconds is not None
    marks = [f"{part * study.seconds:,.0f} s" for part in _PARTS]
    return [_HOW, along_table(found, marks)] if found else []


def best_so_far(
    problem: Problem, history: History, seconds: Sequence[float]
) -> list[float | None]:
    """The best fitness of a configuration whose run began within so many seconds of the bench.

    A run is one measurement, so the best of many is partly luck, and the more so the more there
    are. All are compared with the baseline over all its runs, the later ones too.

    Args:
        problem: What was searched.
        history: A method's trials under one seed.
        seconds: Of the bench, runs of the baseline included.

    Returns:
        For each of the seconds the best; None where no configuration had ended well.
    """
    began = _spent_before(history)
    whole = [trial for trial in history.of(Purpose.CANDIDATE) if trial.done]
    ranked = Evaluation(problem, history).best_first(whole)
    return [
        next((value for value, trial in ranked if began[trial.number] < most), None)
        for most in seconds
    ]


def _spent_before(history: History) -> dict[int, float]:
    """By trial: what its method had used of the bench when it began."""
    spent, before = 0.0, {}
    for trial in sorted(history, key=lambda trial: trial.number):
        before[trial.number] = spent
        spent += trial.bench_seconds
    return before
