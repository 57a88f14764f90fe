import csv
import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from cli.main import main
from jobs.charts.curves import Curve, Curves, Span
from jobs.charts.curves_svg import curves_svg
from jobs.interval_report.pgfplots import pgfplots_file

LOG = Path(__file__).parents[1] / "data" / "db_bench_outputs" / "sine_wave_intervals.txt"
SVG = "{http://www.w3.org/2000/svg}"


def test_the_folder_holds_table_plots_and_coordinates(tmp_path: Path) -> None:
    assert main(["stats", str(LOG), "--out", str(tmp_path)]) == 0
    with (tmp_path / "intervals.csv").open() as file:
        table = list(csv.DictReader(file))
    assert len(table) == 16
    assert table[-1]["cumulative_compaction_mib_s"] == "128.14"
    coordinates = (tmp_path / "coordinates.tex").read_text()
    assert coordinates.count(r"\addplot") == 6  # four rates, two stalls
    assert "(20.2,128.14)" in coordinates
    page = (tmp_path / "intervals.html").read_text()
    assert page.count("<figure>") == 2
    assert "default-src 'none'" in page  # so it asks nobody for anything
    rates = ET.parse(tmp_path / "rates-1.svg").getroot()
    assert len(rates.findall(f"{SVG}polyline")) == 4
    assert len((rates.find(f"{SVG}polyline").get("points") or "").split()) == 16


def test_json_holds_every_interval_and_what_they_come_to(capsys: pytest.CaptureFixture) -> None:
    assert main(["stats", str(LOG), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["intervals"]) == 16
    (opening,) = found["openings"]
    tickers = (451506097 + 2262108439) / 451429968  # 2.53 / 0.42 in the dump: 6.02
    assert opening["write_amplification"] == pytest.approx(tickers)
    assert opening["write_amplification_from"] == "tickers"
    assert (opening["stall_percent"], opening["highest_compaction_mib_s"]) == (41.5, 247.05)


def test_the_terminal_shows_the_summary(capsys: pytest.CaptureFixture) -> None:
    assert main(["stats", str(LOG)]) == 0
    assert re.search(r"flushed and compacted, MiB/s +128.14", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("name", "said"),
    [("fails_unknown_flag.txt", "stats_per_interval"), ("missing.txt", "is not a file")],
)
def test_a_log_without_statistics_is_refused_with_the_mend(
    name: str, said: str, capsys: pytest.CaptureFixture
) -> None:
    assert main(["stats", str(LOG.with_name(name))]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def plot() -> Curves:
    points = [(0.0, 1.0), (1.0, None), (2.0, 4.0)]
    return Curves(
        name="p", title="50% & more", caption="", x_title="s", y_title="MB/s",
        curves=[Curve("a_b", points), Curve("cap", points, dashed=True)],
        shaded=[Span(0.5, 1.5)],
    )  # fmt: skip


def test_shaded_spans_and_gaps_are_drawn() -> None:
    root = ET.fromstring(curves_svg(plot()))
    (shaded,) = root.findall(f"{SVG}rect[@class='shaded']")
    assert float(shaded.get("width") or 0) == pytest.approx(640 / 2, abs=0.2)
    assert len(root.findall(f"{SVG}polyline")) == 4  # two curves in two pieces each
    assert plot().chart.layout["shapes"][0]["x1"] == 1.5


def test_texts_are_escaped_for_latex() -> None:
    text = pgfplots_file([plot()])
    assert r"title={50\% \& more}" in text
    assert r"\legend{a\_b, cap}" in text
    assert "(1,nan)" in text
    assert "(axis cs:0.5,0) rectangle (axis cs:1.5,4)" in text
