"""Runs beside the idle ends of others: never two work at once, and nothing else changes."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from toy_study import ToyBench, toy_study

from benchmarks.methods.beside_check import page_of
from benchmarks.methods.cases import Case
from benchmarks.methods.page import write_page
from benchmarks.methods.together import run_together
from benchmarks.real_search.beside import BesideBench, whole_host
from benchmarks.real_search.book import Book
from benchmarks.real_search.course import run_seed
from benchmarks.real_search.idle_end import IdleEnd
from benchmarks.real_search.measure import measured
from benchmarks.real_search.place import Closed, Place
from benchmarks.real_search.study import study_of
from benchmarks.search.asking import baseline_trial
from jobs.specify import specify
from optimizer.history import History
from optimizer.strategies import find_strategy
from optimizer.trial import Phase
from sampler.errors import InputError
from sampler.outcome import Outcome, TrialState
from sampler.process import Ended, Ending

LOADED = "fillrandom   :       1.0 micros/op 1000000 ops/sec 0.1 seconds 100 operations;\n"
NAMES = {"paper": "genetic", "forest": "forest", "greedy": "greedy"}


class TestPlace:
    def test_who_asks_first_gets_it_first(self):
        place, order = Place(), []
        place.take()

        def visit(number):
            with place.held():
                order.append(number)

        threads = []
        for number in range(5):
            threads.append(threading.Thread(target=visit, args=(number,)))
            threads[-1].start()
            while len(place._waiting) <= number:
                pass
        assert order == []
        place.leave()
        for thread in threads:
            thread.join()
        assert order == [0, 1, 2, 3, 4]

    def test_when_it_closes_nobody_waits_any_more(self):
        place = Place()
        place.take()
        with ThreadPoolExecutor(3) as threads:
            waiting = [threads.submit(place.take) for _ in range(3)]
            place.close()
            for future in waiting:
                with pytest.raises(Closed):
                    future.result()
        place.leave()
        with pytest.raises(Closed):
            place.take()


class Pretended:
    """A benchmark that is settled when it is told to be; its processes do not exist."""

    timeout_seconds, space_bytes = 10.0, 0
    is_settled, work_ended = False, None

    def settled(self, _folder):
        return self.is_settled

    def harvest(self, _configuration, _folder, ended, _began):
        return Outcome(state=TrialState.DONE, bench_seconds=ended.wall_seconds)


def ended(seconds):
    return Ended(ending=Ending.SETTLED, status=0, wall_seconds=seconds, cpu_seconds=1.0,
                 peak_rss=0, device_bytes=0)  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "db").mkdir()
    (tmp_path / "stdout").write_text("")
    return tmp_path


class TestIdleEnd:
    def end(self, *, gives_up=True):
        place = Place()
        place.take()
        return place, Pretended(), gives_up

    def test_it_works_while_the_load_is_not_over(self, folder):
        place, inner, _ = self.end()
        end = IdleEnd(inner, ["fillrandom"], place, gives_up=True)
        assert not end.settled(folder) and end.has_place
        (folder / "stdout").write_text(LOADED)
        assert not end.settled(folder) and not end.has_place
        with place.held():  # free for others
            pass

    def test_what_computes_keeps_it(self, folder, monkeypatch):
        place, inner, _ = self.end()
        used = iter([1.0, 1.1])  # 0.1 s in 0.12 s
        monkeypatch.setattr(
            "benchmarks.real_search.idle_end._children_seconds", lambda: next(used)
        )
        (folder / "stdout").write_text(LOADED)
        end = IdleEnd(inner, ["fillrandom"], place, gives_up=True)
        assert not end.settled(folder) and end.has_place

    def test_what_must_be_alone_never_gives_it_up(self, folder):
        place, inner, _ = self.end()
        (folder / "stdout").write_text(LOADED)
        end = IdleEnd(inner, ["fillrandom"], place, gives_up=False)
        assert not end.settled(folder) and end.has_place
        inner.is_settled = True
        assert end.settled(folder) and end.has_place

    def test_what_it_waits_for_the_place_is_not_its_time(self, folder, monkeypatch):
        place, inner, _ = self.end()
        (folder / "stdout").write_text(LOADED)
        end = IdleEnd(inner, ["fillrandom"], place, gives_up=True)
        assert not end.settled(folder)
        inner.is_settled = True
        assert not end.settled(folder)  # its LOG has not grown: it was not asked
        (folder / "db" / "LOG").write_text("grown")
        clock = iter([100.0, 100.0, 103.0])
        monkeypatch.setattr("benchmarks.real_search.idle_end.time.monotonic", lambda: next(clock))
        assert end.settled(folder) and end.has_place
        assert end.harvest({}, folder, ended(8.5), 0.0).bench_seconds == 5.5
        assert not end.worked_on

    def test_who_worked_on_is_found_out(self, folder, monkeypatch):
        place, inner, _ = self.end()
        (folder / "stdout").write_text(LOADED)
        end = IdleEnd(inner, ["fillrandom"], place, gives_up=True)
        monkeypatch.setattr("benchmarks.real_search.idle_end.time.time", lambda: 1000.0)
        assert not end.settled(folder)
        stamp = "2026/11/24-00:00:00.000000"  # long after the second 1000 of the epoch
        (folder / "db" / "LOG").write_text(
            f'{stamp} 1 EVENT_LOG_v1 {{"time_micros": 1795478400000000, "job": 3, '
            '"event": "compaction_finished"}\n'
        )
        end.harvest({}, folder, ended(5.0), 0.0)
        assert end.worked_on and end.has_place


class ThreadBench:
    """A toy bench in each thread."""

    name = "toy"

    def __init__(self):
        self._mine, self.most = threading.local(), 10**6

    def start(self, trial, *, cutoff_seconds):
        self._mine.bench = ToyBench(most=self.most)
        self._mine.bench.start(trial, cutoff_seconds=cutoff_seconds)

    def wait(self, timeout):
        return self._mine.bench.wait(timeout)

    def cancel(self):
        self._mine.bench.cancel()


def timeless(path):
    took = ("started_at", "wall", "processor", "beside")
    rows = map(json.loads, path.read_text().splitlines())
    return sorted(str({k: v for k, v in row.items() if k not in took}) for row in rows)


def toy_case(path, place=None, bench=None):
    study = replace(toy_study(bench or ThreadBench(), evaluations=15), seconds=24.0, place=place)
    return Case("toy", 1), study, Book(path, study.digest)


@pytest.fixture
def by_name(monkeypatch):
    monkeypatch.setattr(
        "benchmarks.methods.together.methods_of",
        lambda _problem, names: {name: find_strategy(NAMES[name]) for name in names},
    )


@pytest.mark.usefixtures("by_name")
def test_together_every_method_measures_what_it_measures_in_turn(tmp_path):
    _, study, book = toy_case(tmp_path / "turns.jsonl")
    run_seed(study, book, {name: find_strategy(kind) for name, kind in NAMES.items()}, 1)
    place = Place()
    case = toy_case(tmp_path / "together.jsonl", place)
    run_together([case], 1, NAMES, 0, place)
    assert timeless(tmp_path / "together.jsonl") == timeless(tmp_path / "turns.jsonl")
    run_together([case], 1, NAMES, 2, place)  # goes on: winners alone are missing
    again = list(case[2].rows("again"))
    assert len(again) == 2 * (len(NAMES) + 1)
    page = write_page(tmp_path / "together", "make it", [case], 2)
    assert "those of 1 of 1 seeds of a case in whatever order" in page


@pytest.mark.usefixtures("by_name")
def test_when_one_fails_all_end_and_what_was_measured_stays(tmp_path):
    class Broken(ThreadBench):
        def wait(self, timeout):
            outcome = super().wait(timeout)
            trial = self._mine.bench.asked[-1][0]
            broken = trial.is_baseline and trial.number > 1
            return replace(outcome, state=TrialState.FAILED) if broken else outcome

    place = Place()
    case = toy_case(tmp_path / "r.jsonl", place, Broken())
    with pytest.raises(InputError, match="baseline"):
        run_together([case], 1, NAMES, 2, place)
    rows = list(case[2].rows("trial"))
    assert rows and all(row["number"] == 1 for row in rows)
    with pytest.raises(Closed):
        place.take()


def test_the_page_compares_blocks():
    def row(block, way, waf):
        machine = {"cpu": "a CPU", "cores": 2, "system": "Debian", "rocksdb": "7.8.3"}
        metrics = {"waf": waf, "sa": 1.0, "time": 1.0, "rate": 1.0, "write_p99": 1.0}
        return {"block": block, "way": way, "workload": "w", "machine": machine,
                "metrics": metrics, "started_at": "2026-11-24T00:00:00"}  # fmt: skip

    rows = [row(b, way, waf) for b in (1, 2, 3) for way, waf in (("alone", 2), ("beside", 2.2))]
    page = page_of(rows, "make prove-beside")
    assert "| waf | +10.0% | +10.0% to +10.0% | 0.0% | 0.0% |" in page
    assert "6 runs of the defaults in 3 blocks" in page
    with pytest.raises(InputError, match="nothing was measured"):
        page_of([], "make prove-beside")


TINY = """
name = "tiny"
benchmarks = ["fillrandom"]
num = 20_000
key_size = 16
value_size = 1024
settle = "wait"
scale = 64
timeout_seconds = 60
"""


@pytest.mark.db_bench
def test_the_next_run_begins_while_this_one_waits(tmp_path, settings):
    """On the real db_bench: each run's process is there to its end, and they work in turn."""
    (tmp_path / "tiny.toml").write_text(TINY)
    specification = specify(
        workload=str(tmp_path / "tiny.toml"), space="paper", strategy="random", seed=0
    )

    class Watched(Place):
        working, most, taken = 0, 0, 0

        def take(self):
            super().take()
            self.working += 1
            self.taken += 1
            self.most = max(self.most, self.working)

        def leave(self):
            self.working -= 1
            super().leave()

    place = Watched()
    study = study_of(specification, settings, evaluations=0, place=place)
    assert isinstance(study.bench, BesideBench)
    trial = baseline_trial(study.problem, History())
    begun = threading.Barrier(2)

    def run(_):
        begun.wait()
        return measured(study.bench, study.problem, trial)

    with whole_host(settings), ThreadPoolExecutor(2) as threads:
        first, second = sorted(threads.map(run, range(2)), key=lambda over: over.started_at)
        assert place.taken == 4 and place.most == 1 and place.working == 0
        proof = replace(trial, phase=Phase.CONFIRM)
        assert measured(study.bench, study.problem, proof).done
        assert place.taken == 5  # it kept its place
    assert first.done and second.done
    assert not list(settings.bench_dir.glob("beside-*"))
