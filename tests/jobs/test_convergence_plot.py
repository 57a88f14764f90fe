from dataclasses import replace

from jobs.convergence import HEIGHT, MARGIN, WIDTH, convergence
from optimizer.trial import Phase, Purpose, Trial
from sampler.outcome import TrialState


def trial(number: int, purpose: Purpose = Purpose.CANDIDATE) -> Trial:
    return Trial(
        number=number, phase=Phase.SAMPLE, purpose=purpose, seed=0, configuration={},
        digest=str(number), state=TrialState.DONE,
    )  # fmt: skip


def test_nothing_new_ended_well():
    assert convergence([], {}) is None
    assert convergence([trial(1, Purpose.BASELINE)], {1: 0.0}) is None
    failed = replace(trial(2), state=TrialState.FAILED)
    assert convergence([failed], {2: 1.0}) is None


def test_the_line_is_the_best_so_far():
    fitness = {2: -100.0, 3: 400.0, 4: 100.0, 5: 900.0}
    trials = [trial(1, Purpose.BASELINE), *map(trial, fitness)]
    plot = convergence(trials, {1: 0.0, **fitness})
    assert plot is not None
    assert [(number, value) for _, _, number, value in plot.dots] == list(fitness.items())
    points = [tuple(map(float, point.split(","))) for point in plot.line.split()]
    heights = [y for _, y in points]
    assert heights == sorted(heights, reverse=True)  # up is less in an SVG
    assert [x for x, _ in points] == sorted(x for x, _ in points)
    assert len({y for _, y in points}) == 3
    assert (plot.low, plot.high, plot.hidden, plot.last) == (-100.0, 900.0, 0, 5)
    for x, y, _, _ in plot.dots:
        assert MARGIN <= x <= WIDTH
        assert 0 <= y <= HEIGHT - MARGIN


def test_what_is_very_bad_does_not_squeeze_the_rest():
    plot = convergence([trial(1), trial(2)], {1: -1e6, 2: 50.0})
    assert plot is not None
    assert (plot.low, plot.hidden) == (-2000.0, 1)
    assert [number for _, _, number, _ in plot.dots] == [2]
    assert plot.line.split()[0].split(",")[1] == str(float(HEIGHT - MARGIN))


def test_a_single_trial():
    plot = convergence([trial(1)], {1: 0.0})
    assert plot is not None
    assert len(plot.dots) == 1
    assert plot.zero == plot.dots[0][1]
