import csv
import gzip
import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from cli.main import main
from cli.tuning.stats import show_openings
from jobs.charts.curves import Curves, Span, TimeCurve, curves_svg, pgfplots_file
from jobs.interval_report.documents import stats_document
from jobs.interval_report.files import write_interval_files
from tests.support import DATA
from tests.support.sampler.read_openings import parse_openings
from tests.support.sampler.written_dumps import Dump, Family, any_file, clock, text

LOG = DATA / "db_bench_outputs" / "sine_wave_intervals.txt"
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


LEVELS = (
    "Level    Files   Size     Score Read(GB) Write(GB) Moved(GB) W-Amp Comp(cnt) KeyIn\n"
    "  L0      5/0   174.83 MB   1.2      0.0       2.3       0.0   1.0        65     0\n"
    "  L1      5/1   648.20 MB   0.5      5.4       4.0       0.1   1.9        10  1081M\n"
    " Sum     10/1   823.03 MB   0.0      5.4       6.2       0.1   2.8        75  1081M\n"
)
TWO_FAMILIES = text(
    Dump(
        at=600,
        seconds=600,
        marker=clock(10),
        stall_percent=40.9,
        families=(
            Family(name="a", written=6.0, levels=LEVELS),
            Family(
                name="[bold]b", written=39.0, flushed=6.0,
                stalls="Stalls(count): 61 level0_slowdown, 60 level0_slowdown_with_compaction, "
                "0 level0_numfiles",
            ),
        ),
    ),
    Dump(at=1200, seconds=600, marker=clock(20), families=(Family(name="a", written=7.0),)),
)  # fmt: skip


def told(tmp_path: Path, log: str) -> str:
    path = tmp_path / "LOG"
    path.write_text(log)
    return str(path)


def test_json_has_families_levels_stalls_and_all_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    assert main(["stats", told(tmp_path, TWO_FAMILIES), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (opening,) = found["openings"]
    assert (opening["compaction_gib"], opening["write_amplification"]) == (46.0, 46.0)
    assert opening["stalls"]["l0_files"] == {
        "delays": 61, "stops": 0, "delays_with_compaction": 60
    }  # fmt: skip
    assert opening["database"]["total_keys_count"] == "704M"  # as the file has it
    first, second = opening["families"]
    assert (first["name"], first["at_s"], first["total_compaction_write_gib"]) == (
        "a",
        1200.0,
        7.0,
    )
    assert (second["name"], second["at_s"], second["write_amplification"]) == (
        "[bold]b",
        600.0,
        6.5,
    )
    assert [row["family"] for row in found["family_intervals"]] == ["a", "[bold]b", "a"]
    assert found["family_intervals"][1]["l0_files_delays"] == 61


def test_the_levels_are_those_of_the_last_dump_that_has_them(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    families = (Family(levels=LEVELS.replace("648.20 MB", "900.00 MB")),)
    log = text(
        Dump(at=600, seconds=600, families=(Family(levels=LEVELS),), marker=clock(10)),
        Dump(at=1200, seconds=600, families=families, marker=clock(20)),
    )
    assert main(["stats", told(tmp_path, log), "--json"]) == 0
    (family,) = json.loads(capsys.readouterr().out)["openings"][0]["families"]
    assert [row["level"] for row in family["levels"]] == ["L0", "L1", "Sum"]
    assert (family["levels"][1]["size"], family["levels"][1]["keys_in"]) == ("900.00 MB", "1081M")
    assert (family["levels"][1]["size_mib"], family["levels"][1]["compacting"]) == (900.0, 1)


def test_the_terminal_answers_why_writes_stall(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    assert main(["stats", told(tmp_path, TWO_FAMILIES)]) == 0
    shown = capsys.readouterr().out
    assert "files arrived in level 0 faster than compactions removed them in [bold]b" in shown
    assert re.search(r"too many files in level 0 +61 +0", shown)
    assert re.search(r"\[bold\]b +6 +39", shown)
    assert "1 of 2 column families are not in the last dump because they were idle" in shown


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "utf-8"])
def test_the_outputs_that_a_windows_shell_keeps_are_read(
    encoding: str, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    path = tmp_path / "LOG"
    path.write_bytes(TWO_FAMILIES.replace("\n", "\r\n").encode(encoding))
    assert main(["stats", str(path), "--json"]) == 0
    (opening,) = json.loads(capsys.readouterr().out)["openings"]
    assert opening["compaction_gib"] == 46.0


def test_names_that_are_no_text_stay_apart(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    names = (Family(name="#1", written=1.0), Family(name="#2", written=2.0))
    log = Dump(at=600, seconds=600, families=names).text().encode()
    path = tmp_path / "LOG"
    path.write_bytes(log.replace(b"#1", b"\x80").replace(b"#2", b"\x1b\n"))
    assert main(["stats", str(path), "--json"]) == 0
    (opening,) = json.loads(capsys.readouterr().out)["openings"]
    assert [each["name"] for each in opening["families"]] == ["\\x80", "\x1b\n"]
    assert main(["stats", str(path)]) == 0
    assert r"\x1b\n" in capsys.readouterr().out


def test_the_files_hold_families_and_levels(tmp_path: Path) -> None:
    assert main(["stats", told(tmp_path, TWO_FAMILIES), "--out", str(tmp_path / "out")]) == 0
    with (tmp_path / "out" / "families.csv").open() as file:
        families = list(csv.DictReader(file))
    assert [(row["interval"], row["family"]) for row in families] == [
        ("1", "a"), ("1", "[bold]b"), ("2", "a")
    ]  # fmt: skip
    assert (tmp_path / "out" / "levels.csv").read_text().startswith("opening,family,at_s,level")
    page = (tmp_path / "out" / "intervals.html").read_text()
    assert "Look at level0_slowdown_writes_trigger" in page
    assert "<caption>Column families</caption>" in page
    assert "<td>write amplification</td><td>46</td>" in page


def test_a_single_interval_is_drawn_from_its_begin_to_its_end(tmp_path: Path) -> None:
    log = told(tmp_path, Dump(at=600, seconds=200).text())
    assert main(["stats", log, "--out", str(tmp_path)]) == 0
    coordinates = (tmp_path / "coordinates.tex").read_text()
    assert "{ (400,1) (600,1) }" in coordinates  # interval writes
    assert "{ (0,1.71) (600,1.71) }" in coordinates  # cumulative writes


@pytest.mark.parametrize(
    ("log", "said"),
    [
        (
            "Compactions\nLevel  Files Size(MB) Time(sec) Read(MB) Write(MB)\n"
            "---\n  0        1        0         0         0         0\n",
            "give a LOG or an output of RocksDB 2.0 or later",
        ),
        ("Uptime(secs): 1.0 total, 1.0 interval\n", "has no interval statistics"),
        ("** Compaction Stats [a] **\nUptime(secs): 1.0 total, 1.0 interval\n"
         "Flush(GB): cumulative 0.001, interval 0.001\n", "has no interval statistics"),
        ("RocksDB:    version 6.8\nfillseq      :       3.5 micros/op 1 ops/sec; 9 MB/s\n",
         "is an output of db_bench 6.8 that has no interval statistics"),
        (f"{clock(1)} 7f [default] Stopping writes because we have 36 level-0 files\n",
         "too many files in level 0 (1 stop)"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_in_one_line(
    log: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    assert main(["stats", told(tmp_path, log)]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


@pytest.mark.slow
@settings(
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(any_file())
def test_whatever_is_read_can_be_shown_and_written(tmp_path: Path, log: str) -> None:
    if openings := parse_openings(log):
        json.dumps(stats_document("LOG", openings), allow_nan=False)
        show_openings(openings)
        write_interval_files(tmp_path / "out", "LOG", openings)


def plot() -> Curves:
    points = [(0.0, 1.0), (1.0, None), (2.0, 4.0)]
    return Curves(
        name="p", title="50% & more", caption="", x_title="s", y_title="MB/s",
        curves=[TimeCurve("a_b", points), TimeCurve("cap", points, dashed=True)],
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


def test_a_packed_log_is_told_to_be_unpacked(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    packed = tmp_path / "LOG.old.gz"
    packed.write_bytes(gzip.compress(LOG.read_bytes()))
    assert main(["stats", str(packed)]) == 2
    assert "is compressed with gzip; decompress it first" in capsys.readouterr().err
