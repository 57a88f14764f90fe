"""Other tests for the regression watch, with limits made alike, and how each bears bad nights."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from models.change_points import between_sums
from studies.watch.simulation import LAWS, draw

Floats = NDArray[np.float64]
Test = Callable[[Floats], Floats]  # (series, nights) -> how striking each night is
HAZARD = 1 / (100 * 16)  # one false alarm in 100 nights of 16 series
FIRST, _NIGHTS = 5, 60
_MAD = 1.4826


def cut_test(clip: float, least_after: int) -> Test:
    """Largest two-sample t over all cuts (Hawkins, Qiu, Kang 2003), of values clipped or not."""

    def walk(values: Floats) -> Floats:
        found = np.zeros(values.shape)
        for n in range(FIRST, values.shape[1] + 1):
            seen = values[:, :n] - np.median(values[:, :n], axis=1, keepdims=True)
            if np.isfinite(clip):
                reach = clip * _MAD * np.median(np.abs(seen), axis=1, keepdims=True)
                seen = np.clip(seen, -reach, reach)
            seen = seen - seen.mean(axis=1, keepdims=True)
            gain = between_sums(seen)[:, 2 : n - least_after].max(axis=1)
            t_squared = gain * (n - 2) / (np.square(seen).sum(axis=1) - gain)
            found[:, n - 1] = -stats.t.logsf(np.sqrt(t_squared), n - 2)
        return found

    return walk


def rank_test(values: Floats) -> Floats:
    """Largest standardised Mann-Whitney statistic over all cuts (Hawkins, Deng 2010)."""
    found = np.zeros(values.shape)
    for n in range(FIRST, values.shape[1] + 1):
        ranks = values[:, :n].argsort(axis=1).argsort(axis=1).astype(np.float64) - (n - 1) / 2
        gain = between_sums(ranks)[:, 2 : n - 2].max(axis=1)
        found[:, n - 1] = np.sqrt(gain / (n * (n + 1) / 12))
    return found


def cusum_test(reference: float) -> Test:
    """Self-starting CUSUM (Hawkins 1987), its scores held within 2.5."""

    def walk(values: Floats) -> Floats:
        up = down = np.zeros(len(values))
        found = np.zeros(values.shape)
        for n in range(3, values.shape[1] + 1):
            old = values[:, : n - 1]
            far = (values[:, n - 1] - old.mean(axis=1)) / old.std(axis=1, ddof=1)
            tail = stats.t.cdf(far * np.sqrt((n - 1) / n), n - 2)
            score = np.clip(stats.norm.ppf(np.clip(tail, 1e-12, 1 - 1e-12)), -2.5, 2.5)
            up = np.maximum(0, up + score - reference)
            down = np.maximum(0, down - score - reference)
            if n >= FIRST:
                found[:, n - 1] = np.maximum(up, down)
        return found

    return walk


RIVALS: dict[str, Test] = {
    "largest t, any cut": cut_test(np.inf, 1),
    "largest t, 2 nights after": cut_test(np.inf, 2),
    "the same, clipped at 3": cut_test(3.0, 2),
    "the same, clipped at 2.5 (taken)": cut_test(2.5, 2),
    "the same, clipped at 2": cut_test(2.0, 2),
    "Mann-Whitney, 2 nights after": rank_test,
    "self-starting CUSUM, k = 0.5": cusum_test(0.5),
    "self-starting CUSUM, k = 1": cusum_test(1.0),
}


def limits(test: Test, *, series: int, seed: int) -> Floats:
    """A limit for each night, so that of those silent so far one in 1 / HAZARD alarms."""
    rng = np.random.default_rng(seed)
    walked = test(draw("normal", (1, series, _NIGHTS), rng)[0])
    found = np.full(_NIGHTS, np.inf)
    silent = np.ones(series, dtype=bool)
    for night in range(FIRST - 1, _NIGHTS):
        found[night] = np.quantile(walked[silent, night], 1 - HAZARD, method="higher")
        silent &= ~(walked[:, night] > found[night])
    return found


def alarms_over_stated(test: Test, limit: Floats, law: str, *, series: int, seed: int) -> float:
    """False alarms over those that the limits are made for."""
    rng = np.random.default_rng(seed)
    over = test(draw(law, (1, series, _NIGHTS), rng)[0]) > limit
    before: NDArray[np.intp] = np.cumsum(over, axis=1) - over
    at_risk = np.count_nonzero(before[:, FIRST - 1 :] == 0)
    return float(np.count_nonzero(over & (before == 0)) / at_risk / HAZARD)


def found_within(
    test: Test, limit: Floats, *, sigmas: float, before: int, nights: int, series: int, seed: int
) -> float:
    """The share of changes that are reported so soon, of those silent before."""
    rng = np.random.default_rng(seed)
    values = draw("normal", (1, series, before + nights), rng)[0]
    values[:, before:] += sigmas
    over = test(values) > limit[: before + nights]
    silent = ~over[:, :before].any(axis=1)
    return float(over[silent, before:].any(axis=1).mean())


CASES = [(before, sigmas) for before in (10, 30) for sigmas in (2.0, 3.0, 5.0)]


def rivals_head() -> list[str]:
    """The head of the table of all tests."""
    cases = " | ".join(f"{sigmas:g} sigma after {before}" for before, sigmas in CASES)
    return [
        f"| test | {' | '.join(LAWS)} | {cases} |",
        "|---|" + "--:|" * (len(LAWS) + len(CASES)),
    ]


def rival_row(name: str, *, series: int, seed: int = 0) -> str:
    """A test's row: false alarms by law, and changes found within 3 and 7 nights."""
    test = RIVALS[name]
    limit = limits(test, series=series, seed=seed)
    cells = [
        f"{alarms_over_stated(test, limit, law, series=series // 2, seed=seed + 1):.1f}"
        for law in LAWS
    ]
    for before, sigmas in CASES:
        shares = [
            found_within(test, limit, sigmas=sigmas, before=before, nights=nights, series=1000,
                         seed=seed + 2)
            for nights in (3, 7)
        ]  # fmt: skip
        cells.append(", ".join(f"{100 * share:.0f}%" for share in shares))
    return f"| {name} | {' | '.join(cells)} |"
