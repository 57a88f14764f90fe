"""The page as text: whole for every kind of job; words of others never become a part of it."""

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from typing import Any

import pytest

from jobs.charts.chart import Chart
from jobs.charts.importance import shares_charts
from jobs.report.artifacts import report_html
from jobs.results.figures import estimate_words, figure
from jobs.results.outcome import JobOutcome
from jobs.results.pages import PLACE, plot_data, policy, whole_page
from optimizer.explained import Estimate
from optimizer.objective.objective import Limit, Objective, Term
from optimizer.results.document import Result
from sampler.space.space_file import space_from_document
from tests.support.jobs.pretended_job import HOSTILE, failing, finished_job, lsm
from tests.support.models.quick_ranking import no_simplified
from tests.support.optimizer.pretend_bench import PretendBench, flat
from tests.support.optimizer.pretend_hosts import PretendHost, PretendHosts

_VOID = {"meta", "br"}


class Reader(HTMLParser):
    """Reads a page as a browser does, and refuses tags that do not close each other."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.scripts: list[tuple[Mapping[str, str | None], str]] = []
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in _VOID:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append((dict(attrs), ""))

    def handle_endtag(self, tag: str) -> None:
        # Rows, cells and items may be left open; here they never are.
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            attributes, before = self.scripts[-1]
            self.scripts[-1] = (attributes, before + data)
        else:
            self.text += data


def read(finished: JobOutcome) -> Reader:
    reader = Reader()
    reader.feed(report_html(finished))
    reader.close()
    assert reader.open == []
    return reader


def plots(page: Reader) -> list[Any]:
    found = [json.loads(text) for kind, text in page.scripts if kind]
    assert len(page.scripts) == len(found) + 1  # and the place of the library
    return found


class TestAWholeJob:
    def test_says_all_that_is_known(self, finished: JobOutcome):
        page = read(finished)
        for title in (
            "Baseline versus best", "options changed", "Fitness by metric",
            "Fitness versus memory", "Convergence", "Parameter importance",
            "Box plots of the most and least important", "Parallel coordinates", "Pareto front",
            "Phases of the job", "Failures by cause", "Noise and drift of the baseline",
            "Environment", "How to use the file",
        ):  # fmt: skip
            assert title in page.text, title
        shares = len(shares_charts(Result.read(finished.result)))  # by both models, by metric
        assert page.tags.count("figure") == len(plots(page)) == 19 + shares
        assert 4 <= shares <= 8
        best = finished.result["best"]
        assert f"Proof: trial {best['trial']}, fitness " in page.text
        assert "built with assertions" in page.text
        assert (
            "rocksdb::LoadOptionsFromFile" in page.text
            and "which has loaded this file" in page.text
        )

    def test_what_decides_stands_before_the_appendix(self, finished: JobOutcome):
        front, appendix = report_html(finished).split('<h2 id="appendix">')
        assert re.findall(r'<(?:section|h2) id="(\w+)">', front) == [
            "trade", "changed", "beside", "next", "importance",
        ]  # fmt: skip
        for change in finished.result["best"]["changes"]:
            assert f'<th scope="row" class="word">{change["name"]}</th>' in front
            gain = change["gain"]
            shown = estimate_words(Estimate(**gain)) if gain else change["reason"]
            assert shown in unescape(front)
        assert finished.result["parameters"][0]["name"] in front.partition('id="importance"')[2]
        assert "<figure>" not in front and "<figure>" in appendix

    def test_every_link_leads_to_a_part_of_the_page(self, finished: JobOutcome):
        page = report_html(finished)
        ids = re.findall(r' id="([\w-]+)"', page)
        assert len(set(ids)) == len(ids) > 15
        front = {"trade", "changed", "beside", "next", "importance", "appendix"}
        rows = {name for name in ids if name.startswith("parameter-")}
        assert set(re.findall(r'href="#([\w-]+)"', page)) == {*ids} - front - rows

    def test_every_plot_says_what_it_shows(self, finished: JobOutcome):
        page = report_html(finished)
        labels = re.findall(r'role="img" aria-label="([^"]{40,})"', page)
        assert len(labels) == page.count("<figure>") == page.count("<figcaption>")
        for plot in plots(read(finished)):
            shown = [axis for name, axis in plot["layout"].items() if name.endswith("axis")]
            assert any("title" in axis for axis in shown) or not shown[0].get("visible", True)
            assert {each["type"] for each in plot["data"]} <= {"scatter", "bar", "box"}  # no WebGL

    def test_words_of_others_are_only_words(self, finished: JobOutcome):
        page = read(finished)
        assert page.tags.count("b") == report_html(finished).count("<b>")
        assert "</script><script>alert(1)</script>" in page.text
        assert "\x00" not in page.text and "\x1b" not in page.text
        assert all("alert" not in text for _, text in page.scripts)


@pytest.mark.slow
def test_choices_of_ones_own_are_only_words():
    """In texts, in data, and in what Plotly would take for markup."""
    name, choice = "codec", "<a>&lt;</script>"
    document = {
        "name": HOSTILE.replace("\x00", ""),
        "parameter": [
            {"name": name, "type": "cat", "choices": [choice, "plain"]},
            {"name": "x", "type": "float", "low": 0.0, "high": 1.0, "default": 0.9},
        ],
    }

    def halves(configuration: Mapping[str, Any]) -> dict[str, float]:
        better = configuration[name] == "plain"
        time = 8.0 - better + configuration["x"]
        return {"waf": 3.0 - better, "sa": 1.2, "time": time, "rate": 1e5 / time}

    bench = PretendBench(halves, noise=0.01)
    job = finished_job(
        40, bench=bench, space=space_from_document(document), space_document=document
    )
    html = report_html(job)
    page = read(job)
    assert html.count("</script>") == len(page.scripts)
    texts = json.dumps(plots(page))
    assert "<a>" not in texts and "</script>" not in texts
    assert "&lt;a&gt;&amp;lt;&lt;/script&gt;" in texts


def test_no_text_can_end_the_data():
    """Even one that no plot has made harmless."""
    chart = Chart("x", "", "", [{"name": "</script><!--&"}], {"title": float("nan")}, {})
    text = plot_data(chart.figure)
    assert not set("<>&") & set(text)
    assert json.loads(text) == {
        "data": [{"name": "</script><!--&"}],
        "layout": {"xaxis": {"title": None}, "yaxis": {}, "shapes": [], "height": 340},
    }


@pytest.fixture(scope="module")
def on_three_hosts() -> JobOutcome:
    odd = PretendHost("odd-<b>", jump=250, jumps=2.0)
    machines = [PretendHost("a"), PretendHost("b", slow=2.0), odd]
    hosts = PretendHosts(machines, function=lsm_slow)
    with no_simplified():
        return finished_job(100, hosts=hosts, strategy="random")


@pytest.mark.slow
class TestManyHosts:
    def test_the_result_tells_them_apart(self, on_three_hosts: JobOutcome):
        job = on_three_hosts
        told = {host["name"]: host for host in job.result["hosts"]}
        assert sum(host["trials"] for host in told.values()) == 100
        level = {name: host["baseline"]["metrics"]["time"] for name, host in told.items()}
        assert level["b"] / level["a"] == pytest.approx(2, rel=0.1)
        assert [name for name, host in told.items() if host["set_aside"]] == ["odd-<b>"]

    def test_the_page_shows_them(self, on_three_hosts: JobOutcome):
        page = read(on_three_hosts)
        assert "odd-<b>" in page.text
        assert "excluded: its baseline's" in page.text

    def test_a_job_on_one_host_says_nothing_of_hosts(self, finished: JobOutcome):
        assert "are compared with its own baseline" not in read(finished).text


def lsm_slow(configuration: Mapping[str, Any]) -> dict[str, float]:
    """The same load, ten times as long: a host has time to change."""
    return {
        name: value * {"time": 10, "rate": 0.1}.get(name, 1)
        for name, value in lsm(configuration).items()
    }


class TestOtherJobs:
    @pytest.mark.slow
    def test_nothing_was_better(self):
        job = finished_job(24, bench=PretendBench(flat, noise=0.01), strategy="random")
        assert job.result["best"] is None and job.options is None
        page = read(job)
        assert "Nothing was proven better than the baseline" in page.text
        assert "Baseline versus best candidate" in page.text
        assert "How to use the file" not in page.text

    @pytest.mark.slow
    def test_all_measured_the_same(self):
        page = read(finished_job(24, bench=PretendBench(flat), strategy="random"))
        assert plots(page)

    def test_nothing_could_be_measured(self):
        def fails(trial: Any) -> str | None:
            return None if trial.is_baseline else "refused: \n by the second line"

        job = finished_job(12, bench=PretendBench(flat, fails=fails), strategy="random")
        assert job.result["verdict"] is None
        page = read(job)
        assert "No candidate could be measured against the baseline." in page.text
        assert "unknown, too few random configurations" in page.text
        assert "refused:" in page.text and "second line" not in page.text

    def test_one_metric_alone(self):
        page = report_html(finished_job(24, objective="waf"))
        assert ">Pareto front</h2>" not in page
        assert ">Throughput, latency and CPU use</h2>" in page  # whatever the objective
        assert "waf" in page

    def test_a_result_of_an_earlier_version(self, finished: JobOutcome):
        """Without what was added since, and with a term that had no weight."""
        result = json.loads(json.dumps(finished.result))
        for name in ("power", "sampling", "explanation"):
            result.pop(name, None)
        for row in result["job"]["objective"]["metric"]:
            row.pop("weight", None)
        for name in ("search", "memory"):
            result["job"].pop(name, None)
        page = read(replace(finished, result=result))
        # What the proof could have shown follows from the spread.
        assert re.search(r"change \(80% power, \d+ pairs\): WAF \d+(\.\d)?%", page.text)

    def test_what_later_versions_know_is_shown(self, finished: JobOutcome):
        power = {"level": 0.9, "pairs": 5, "smallest_change": {"waf": 1.25, "sa": None}}
        curve = [{"draws": n, "top_k_overlap": n / 100, "kendall_tau": 0.5} for n in (20, 40)]
        sampling = {"draws": 40, "planned": 50, "why": "it was steady", "curve": curve}
        result = {**finished.result, "power": power, "sampling": sampling}
        page = read(replace(finished, result=result))
        assert re.search(r"change \(90% power, \d+ pairs\): WAF 1\.2%\.", page.text)
        assert "it was steady" in page.text
        assert any("random" in str(p["layout"]["xaxis"].get("title")) for p in plots(page))

    def test_figures_that_are_no_numbers(self, finished: JobOutcome):
        fitness = {**finished.fitness, 10: float("inf"), 11: float("nan")}
        assert plots(read(replace(finished, fitness=fitness)))


class TestWhatDrawsIt:
    def test_it_goes_in_once_and_is_let_run_by_its_digest(self, finished: JobOutcome):
        page = whole_page(report_html(finished)).decode()
        assert PLACE not in page
        reader = Reader()
        reader.feed(page)
        scripts = [text.encode() for kind, text in reader.scripts if not kind]
        assert len(scripts) == 2 and len(scripts[0]) > 4_000_000
        digests = [base64.b64encode(hashlib.sha256(s).digest()).decode() for s in scripts]
        allowed = re.findall(r"script-src ('[^;]*');", policy())
        assert allowed == [" ".join(f"'sha256-{digest}'" for digest in digests)]
        assert f'content="{policy()}"' in page
        assert page.index("Content-Security-Policy") < page.index("<script")
        for word in ("unsafe-eval", "http", "*", "connect-src"):
            assert word not in policy()
        assert policy().startswith("default-src 'none'; ")

    def test_a_page_without_a_place_is_none(self):
        with pytest.raises(ValueError, match="no place"):
            whole_page("<html></html>")

    def test_words_of_others_are_not_taken_for_its_place(self, finished: JobOutcome):
        page = whole_page(report_html(failing(finished, PLACE)))
        assert page.count(b"plotly.js v") == whole_page(report_html(finished)).count(
            b"plotly.js v"
        )


class TestLimits:
    OBJECTIVE = Objective(
        "o",
        (Term("waf", "min"),),
        (Limit("rate", at_least_baseline=0.5), Limit("write_p99", at_most=1.0)),
    )

    def limited(self, *limits: Limit) -> JobOutcome:
        return finished_job(24, objective=replace(self.OBJECTIVE, limits=limits))

    @pytest.mark.slow
    def test_are_listed_with_bound_value_and_runs(self):
        finished = self.limited(*self.OBJECTIVE.limits)
        page = " ".join(read(finished).text.split())
        kept, broken = finished.result["verdict"]["limits"]
        assert (kept["kept"], broken["kept"]) == (True, False)
        runs = kept["runs"]
        assert (
            f"rate >= 0.5 baseline at least {figure(kept['at_least'])} ops/s 0.0% "
            f"{figure(kept['value'])} ops/s "
            f"{runs} of {runs} kept"
        ) in page
        margin = f"{broken['margin']:.1f}%"
        assert f"at most 1 us {margin} {figure(broken['value'])} us 0 of {runs} broken" in page
        assert "the limit write_p99 <= 1 us is broken" in page

    def test_where_nothing_was_judged_are_listed_all_the_same(self):
        """An earlier version judged them, and did not keep what it saw."""
        finished = self.limited(self.OBJECTIVE.limits[0])
        verdict = {k: v for k, v in finished.result["verdict"].items() if k != "limits"}
        old = replace(finished, result={**finished.result, "verdict": verdict})
        assert "rate >= 0.5 baseline - n/a not judged" in " ".join(read(old).text.split())

    def test_without_any_there_is_no_such_section(self, finished: JobOutcome):
        assert "Limits" not in read(finished).text
