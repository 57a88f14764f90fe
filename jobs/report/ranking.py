"""What matters in a job: parameters by importance, and how far to trust their order."""

from collections.abc import Sequence

from jobs.charts.chart import Chart, drawable
from jobs.charts.importance import (
    importance_charts,
    sampling_chart,
    shares_charts,
    stability_chart,
)
from jobs.report.section import Block, Cell, Charts, Column, Items, Section, Table, Text, columns
from jobs.results.figures import figure
from optimizer.budget.power import p_figure
from optimizer.results.ranking import (
    LEAST_R2,
    OTHER,
    TOP,
    EffectTest,
    MetricImportance,
    ParameterImportance,
    ParameterRanking,
)
from sampler.rocksdb.parameters import catalogue

_GOOD_R2 = 0.7
_MOST_TESTS = 30
_UNKNOWN = "Unknown: fewer than 10 trials succeeded, or all measured the same."


def trust_lines(ranking: ParameterRanking) -> list[str]:
    """One line for each metric: which model ranks it, and how reliable that is."""
    lines = []
    for metric, r2 in ranking.ranked_r2.items() if ranking.by_models else ():
        if r2 is None:
            lines.append(f"{metric}: too few trials to judge the order")
            continue
        first = ranking.first(metric)
        other = ranking.r2(OTHER[first], metric)
        beside = "" if other is None else f" ({OTHER[first]} {other:.2f})"
        advice = "the first few are reliable" if r2 >= _GOOD_R2 else "the order is rough"
        if r2 < LEAST_R2:
            advice = "do not rely on the order; add trials"
        lines.append(f"{metric}: by the {first}, R2 {r2:.2f} on unseen trials{beside}: {advice}")
    return lines


def disagreement_lines(ranking: ParameterRanking) -> list[str]:
    """One line for each metric of which forest and process have another top five."""
    lines = []
    for metric in ranking.shown_first:
        forest, process = (ranking.top(model, metric) for model in OTHER)
        parts = [
            f"only the {model} has {', '.join(n for n in own if n not in rest)}"
            for model, own, rest in (("forest", forest, process), ("process", process, forest))
            if set(own) - set(rest)
        ]
        if parts:
            both = len(set(forest) & set(process))
            lines.append(f"{metric}: {both} of the top {TOP} in common; {', '.join(parts)}")
    return lines


def anova_line(ranking: ParameterRanking) -> str | None:
    """What the analysis of variance of the draws can detect; None of an earlier version's."""
    power = ranking.anova_power
    if power is None:
        return None
    seen = "too few to detect an effect of any size"
    if power.smallest_share is not None:
        seen = (
            f"minimum detectable effect {power.smallest_share:.0%} of the variance "
            f"(80% power at 0.05, {power.groups} groups)"
        )
    ranks = "" if ranking.ranks_anova else f"; with fewer than {power.least} nothing is ranked"
    return f"Analysis of variance of the {power.draws} random configurations alone: {seen}{ranks}"


def brief_section(ranking: ParameterRanking, metric: str | None = None) -> Section:
    """The parameters in the order that they have; ``metric``: that one by everything known."""
    if metric and ranking.models:
        table = _metric_table(ranking, metric)
    else:
        table = shares_table(ranking, [metric] if metric else list(ranking.forest))
    if ranking.models:
        lines = ["Share of the variance over the whole space, and p-value of no effect (Holm)."]
        lines += [f"{line}." for line in trust_lines(ranking)]
        apart = disagreement_lines(ranking)
        lines += [f"Forest and process disagree on {line}." for line in apart]
        lines += [f"{line}." for line in filter(None, [anova_line(ranking)])]
        unknown = any(each.r2_cross_validated is None for each in ranking.models.values())
    else:
        r2 = {name: each.r2 for name, each in ranking.forest.items()}
        told = {name: "unknown" if value is None else f"{value:.2f}" for name, value in r2.items()}
        shown = ", ".join(f"{name} {words}" for name, words in told.items())
        lines = [
            f"Permutation importance, and p-value by analysis of variance (Holm). R2: {shown}."
        ]
        unknown = None in r2.values()
    lines += [_UNKNOWN] if unknown else []
    return Section("ranking", "Parameter importance", [table, *(Text(line) for line in lines)])


def shares_table(
    ranking: ParameterRanking, metrics: Sequence[str], most: int | None = None
) -> Table:
    """The first parameters, ``most`` at most, with the figure that ranks them by each metric."""
    tested = [Column(name, figures=True, under="p") for name in metrics]
    rows: list[Sequence[str | Cell]] = [
        (str(place), _named(row), *(_brief(ranking, row, name) for name in metrics))
        for place, row in enumerate(ranking.parameters[:most], start=1)
    ]
    return Table([Column("rank", figures=True), Column("parameter"), *tested], rows)


def _brief(ranking: ParameterRanking, row: ParameterImportance, metric: str) -> Cell:
    if ranking.models:
        found = row.by(ranking.first(metric), metric) or MetricImportance()
        return Cell(_percent(found.total), _p(row.model.get(metric)))
    found = row.importance.get(metric) or MetricImportance()
    return Cell(_number(found.permutation, 3), _p(row.anova.get(metric)))


def _metric_table(ranking: ParameterRanking, metric: str) -> Table:
    """A metric by everything that ranks it, in the order of what is shown first."""
    forests = [row.importance.get(metric) or MetricImportance() for row in ranking.parameters]
    # Forests of earlier versions have shares of the variance, too.
    by_forest = any(each.total is not None for each in forests)
    tested = ("F", "p of F") if ranking.ranks_anova else ()
    models = ("forest", "process") if by_forest else ("process",)
    shares = [Column(model, figures=True, under="95%") for model in models]
    figures = [Column(name, figures=True) for name in ("p", "permutation", "impurity", *tested)]
    rows: list[Sequence[str | Cell]] = []
    for place, (row, forest) in enumerate(zip(ranking.parameters, forests, strict=True), 1):
        process = row.model.get(metric) or MetricImportance()
        test = row.anova.get(metric) or EffectTest()
        shown = (forest, process) if by_forest else (process,)
        cells = (_p(process), _number(forest.permutation, 3), _number(forest.mdi, 3))
        of_test = (_number(test.f, 1), _p(test)) if tested else ()
        rows.append((str(place), _named(row), *map(_interval_cell, shown), *cells, *of_test))
    return Table([Column("rank", figures=True), Column("parameter"), *shares, *figures], rows)


def _interval_cell(found: MetricImportance) -> Cell:
    if found.low is None or found.high is None:
        return Cell("-", "-")
    return Cell(_percent(found.total), f"{100 * found.low:.0f} to {100 * found.high:.0f}")


def ranking_sections(
    ranking: ParameterRanking, *, metric: str | None = None, most: int | None = None
) -> list[Section]:
    """The whole ranking: shares, the forests' own measures, reliability and tests.

    ``metric``: parameters are sorted by it; ``most``: the number of parameters in tables.
    """
    return [
        _ranking_section(ranking, metric, most),
        _forests_section(ranking, most),
        _reliability_section(ranking),
        _anova_section(ranking, metric),
    ]


_BY_MODELS = (
    "An additive Gaussian process per metric learns from all new configurations, random and "
    "searched, and ranks the parameters. A share is the parameter's part of the metric's variance "
    "over the whole space, pairs included, regardless of where the search went. A random forest "
    "per metric stands beside it."
)
_BY_EITHER_MODEL = (  # results of earlier versions
    "Two models per metric learn from all new configurations, random and searched: a random "
    "forest, decomposed by functional analysis of variance, and an additive Gaussian process. A "
    "share is the parameter's part of the metric's variance over the whole space, pairs included, "
    "regardless of where the search went. The Gaussian process comes first, unless the forest "
    "predicts unseen trials clearly better."
)
_BY_FORESTS = (
    "One random forest per metric learns from the random configurations. Impurity is the "
    "parameter's share of the forest's decrease in impurity. Permutation is the R2 lost when the "
    "parameter's values are shuffled, with one standard deviation."
)
_BEST_VALUE = (
    "Best value: the setting with the best expected fitness, averaged over all other parameters, "
    "and its gain over the baseline's setting. p is the p-value for “no effect”, alone or in any "
    "pair, corrected for all parameters and metrics (Holm)."
)
_SHARES = (
    "above, the share and its interval; below, {}the p-value for “no effect” by the Gaussian "
    "process (Holm)"
)


def _ranking_section(ranking: ParameterRanking, metric: str | None, most: int | None) -> Section:
    by_models, learned = ranking.by_models, ranking.forests_learned
    sampled = (ranking.sampling.why if ranking.sampling else "") or ""
    blocks: list[Block] = []
    if by_models:
        about = _BY_EITHER_MODEL if ranking.by_either_model else _BY_MODELS
        blocks = [Text(about), Items([f"{line}." for line in trust_lines(ranking)])]
        if apart := disagreement_lines(ranking):
            blocks.append(Text("The two models disagree on the most important parameters:"))
            blocks.append(Items([f"{line}." for line in apart]))
    elif learned:
        blocks = [Text(_BY_FORESTS)]
    else:
        why = f" {sampled}." if sampled else ""
        blocks = [
            Text("Nothing could be learned from the random configurations.", "strong"),
            Text(
                f"At least 10 must succeed and differ.{why} For a one-parameter-at-a-time search, "
                "the result shows each parameter's contribution.",
                "dim",
            ),
        ]
    if ranking.unsure:
        blocks.append(
            Text(
                f"R2 is below {LEAST_R2} for {', '.join(ranking.unsure)}: do not rely on the "
                "order of the parameters for these metrics.",
                "warn",
            )
        )
    rows = ranking.sorted_by(metric)
    drawn = shares_charts(ranking) if by_models else importance_charts(ranking)
    blocks.append(Charts(drawn if by_models or learned else []))
    cell = _shares_cell if by_models else _forest_cell
    other = "the share by the other model, and " if ranking.by_either_model else ""
    told = (
        _SHARES.format(other)
        if by_models
        else "above, impurity; below, permutation ± its standard deviation"
    )
    told = told if by_models or learned else "nothing could be learned"
    first = f"the most important {f'for {metric} ' if metric else ''}first"
    caption = f"{_counted(rows, most)}, {first}. Metric columns: {told}."
    best = ("best value",) if by_models else ()
    titles = columns(("parameter",), ("rank", "share", *ranking.forest), best)
    table = [
        (
            _parameter_cell(row, by_models=by_models),
            str(row.rank),
            _percent(row.share),
            *(cell(ranking, row, name) for name in ranking.forest),
            *([_best_value(row)] if by_models else []),
        )
        for row in rows[:most]
    ]
    blocks.append(Table(titles, table, caption))
    if by_models:
        blocks.append(Text(_BEST_VALUE, "dim"))
        if idle := [row.name for row in rows if row.model and not row.matters]:
            what = "Not shown to explain 1% of the variance of any metric"
            blocks.append(Text(f"{what}: {', '.join(idle)}."))
    return Section("ranking", "Parameter importance", blocks)


def _counted(rows: Sequence[ParameterImportance], most: int | None) -> str:
    if most is None or len(rows) <= most:
        return f"{len(rows)} parameters"
    return f"The first {most} of {len(rows)} parameters (the rest are in result.json)"


def _named(row: ParameterImportance) -> str:
    return f"{row.name} (property of the load)" if row.workload_factor else row.name


def _parameter_cell(row: ParameterImportance, *, by_models: bool) -> Cell:
    known, told = catalogue().get(row.name), []
    if row.workload_factor:
        told.append("property of the load" + ("" if row.searched else ", never searched"))
    elif by_models and not row.model:
        told.append("not searched")
    told += [known.help] if known and known.help else []
    return Cell(row.name, ". ".join(told), anchor=f"parameter-{row.name}")


def _shares_cell(ranking: ParameterRanking, row: ParameterImportance, metric: str) -> str | Cell:
    tested = row.model.get(metric)
    found = row.by(ranking.first(metric), metric)
    if tested is None or found is None or found.low is None or found.high is None:
        return "-"
    other = row.by(OTHER[ranking.first(metric)], metric)
    beside = f"{_percent(other.total)}; " if other and other.total is not None else ""
    interval = f"{100 * found.low:.1f} to {100 * found.high:.1f}"
    return Cell(f"{_percent(found.total)} ({interval})", f"{beside}{_p(tested)}")


def _forest_cell(_: ParameterRanking, row: ParameterImportance, metric: str) -> str | Cell:
    found = row.importance.get(metric)
    if found is None:
        return "-"
    spread = _number(found.permutation_std, 3)
    return Cell(_number(found.mdi, 3), f"{_number(found.permutation, 3)} ± {spread}")


def _best_value(row: ParameterImportance) -> str | Cell:
    return "-" if row.gain is None else Cell(str(row.better), f"fitness {row.gain:+.0f}")


def _forests_section(ranking: ParameterRanking, most: int | None) -> Section:
    """What the forests say beside the models."""
    title = "Impurity and permutation"
    if not ranking.of_all:
        title = "Importance from the random configurations alone"
    if not ranking.by_models:
        return Section("forests", title, [])
    if not ranking.forests_learned:
        draws = ranking.sampling.draws if ranking.sampling else None
        r2 = ", ".join(f"{m} {figure(each.held_out)}" for m, each in ranking.forest.items())
        line = (
            "Too few trials for a forest: at least 10 must succeed and differ."
            if ranking.of_all
            else f"{draws or 'The few'} random configurations are too few for them: R2 {r2}. "
            "Their figures are in result.json."
        )
        return Section("forests", title, [Text(line)])
    what = (
        "By random forests of all new configurations. Impurity, the paper's measure, is biased "
        "towards the regions that the search visited."
        if ranking.of_all
        else "A cross-check. One random forest per metric learns from the random configurations; "
        "time and rate as logarithms."
    )
    rows = ranking.sorted_by(None)
    figures = [Column(name, figures=True) for name in ranking.forest]
    table = Table(
        [Column("parameter"), *figures],
        [(row.name, *(_forest_cell(ranking, row, name) for name in ranking.forest))
         for row in rows[:most]],
        f"{_counted(rows, most)}: above, impurity; below, permutation ± its standard deviation.",
    )  # fmt: skip
    bars = "Bars: impurity. Diamonds: permutation, with one standard deviation."
    text = Text(f"{what} {bars}", "dim")
    return Section("forests", title, [text, Charts(importance_charts(ranking)), table])


def _reliability_section(ranking: ParameterRanking) -> Section:
    """How well the models predict, and how stable the order is."""
    by_models, rows = ranking.by_models, ranking.sorted_by(None)
    process_titles = ("process R2", "its trials", "noise share") if by_models else ()
    of = "its trials" if ranking.of_all else "random configurations"
    titles = columns(
        ("metric", *(("listed first",) if by_models else ())),
        (*process_titles, "forest R2", of, "Kendall's tau"),
        ("reliably in the top five",),
    )
    table = []
    for metric, forest in ranking.forest.items():
        steady = [row.name for row in rows if row.is_reliable(metric)]
        process = ranking.models.get(metric)
        spread, tau = forest.r2_cross_validated_std, process.kendall_tau if process else None
        r2 = _number(forest.r2_cross_validated) + ("" if spread is None else f" ± {spread:.2f}")
        of_process = (
            _number(process.r2_cross_validated if process else None),
            f"{process.trials:,}" if process else "-",
            _number(process.noise if process else None),
        )
        table.append(
            (
                metric,
                *((ranking.first(metric), *of_process) if by_models else ()),
                r2,
                f"{forest.trials:,}",
                _number(forest.kendall_tau if tau is None else tau),
                ", ".join(steady) or "none",
            )
        )
    others = "that of resampled trials" if ranking.by_either_model else "equally likely ones"
    caption = (
        "R2 on unseen trials, by five-fold cross-validation: 1 is perfect, 0 no better than the "
        f"mean. Kendall's tau compares the order with {others}: 1 is the same order."
    )
    by = "by the model that ranks"
    if ranking.by_either_model or not by_models:
        by = "by the forest, over bootstrap resamples of its trials"
    learned = ranking.forests_learned
    stable = stability_chart(rows, list(ranking.forest), by) if learned else None
    blocks: list[Block] = [Table(titles, table, caption)]
    blocks.append(Charts(drawable([stable, sampling_chart(ranking.sampling)])))
    if ranking.sampling and ranking.sampling.why:
        blocks.append(Text(f"Sampling: {ranking.sampling.why}.", "dim"))
    return Section("stable", "Reliability of the order", blocks)


def _anova_section(ranking: ParameterRanking, metric: str | None) -> Section:
    """The tests that could be made, the smallest p first where there are draws enough to rank."""
    tests = [
        (row.name, name, test, test.p)
        for row in ranking.sorted_by(None)
        for name, test in row.anova.items()
        if metric in (None, name) and test.p is not None
    ]
    line = anova_line(ranking)
    blocks: list[Block] = [Text(f"{line}.")] if line else []
    if not tests:
        blocks.append(
            Text(
                "No parameter could be tested: a test needs two groups of at least two random "
                "configurations each."
            )
        )
    elif ranking.ranks_anova:
        if not ranking.forests_learned:
            few = "Few random configurations: an effect that is not shown here may exist."
            blocks.append(Text(few, "dim"))
        figures = ("p", "p (Holm)", "eta squared", "F", "groups")
        titles = columns(("parameter", "metric"), figures)
        rows = [
            (
                Cell(parameter, link="parameter"),
                name,
                p_figure(p),
                _p(test),
                _number(test.eta_squared),
                figure(test.f),
                str(len(test.groups)),
            )
            for parameter, name, test, p in sorted(tests, key=lambda each: each[3])[:_MOST_TESTS]
        ]
        caption = (
            "The random configurations, grouped by each parameter, tested one parameter at a "
            "time, smallest p first. Eta squared is the share of the variance between groups."
        )
        if len(tests) > len(rows):
            caption += f" The first {len(rows)} of {len(tests):,}."
        blocks.append(Table(titles, rows, caption))
    return Section("anova", "Analysis of variance", blocks)


def boxes_section(charts: Sequence[Chart]) -> Section:
    """Box plots of the two most and the two least important parameters."""
    title = "Box plots of the most and least important"
    return Section("boxes", title, [Charts(charts)] if charts else [])


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


def _number(value: float | None, digits: int = 2) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _p(test: MetricImportance | EffectTest | None) -> str:
    p = test.p_holm if test else None
    return "-" if p is None else p_figure(p)
