"""Runs beside the idle ends of others: never two work at once, and nothing else changes."""

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace

import pytest

from optimizer.strategies.registry import find_strategy
from sampler.common.errors import InputError
from sampler.runner.outcome import Outcome, TrialState
from sampler.runner.process import EndedProcess, Ending
from studies.methods.beside_check import missing_blocks, page_of
from studies.methods.cases import Case
from studies.methods.page import write_page
from studies.methods.together import run_together
from studies.real_search.book import Book
from studies.real_search.course import run_seed
from studies.real_search.idle_end import IdleEnd
from studies.real_search.place import Closed, Place
from studies.tests.measured.toy_study import ToyBench, toy_study

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
            while len(place._waiting) < 3:
                pass
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
    is_settled = False

    def settled(self, _folder):
        return self.is_settled

    def harvest(self, _configuration, _folder, ended, _began):
        return Outcome(state=TrialState.DONE, bench_seconds=ended.wall_seconds)


def ended(seconds):
    return EndedProcess(ending=Ending.EXIT, status=0, wall_seconds=seconds, cpu_seconds=1.0,
                 peak_rss=0, device_bytes=0)  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "db").mkdir()
    (tmp_path / "stdout").write_text("")
    return tmp_path


IDLE_END = "studies.real_search.idle_end"


@pytest.fixture
def held():
    """A place that the trial has."""
    place = Place()
    place.take()
    return place


class TestIdleEnd:
    @pytest.fixture(autouse=True)
    def children(self, monkeypatch):
        """What the process does at each look: ticks, and whether it works."""
        looks = []
        monkeypatch.setattr(f"{IDLE_END}._children", lambda: looks.pop(0) if looks else (7, False))
        return looks

    def end(self, held, *, gives_up=True):
        inner = Pretended()
        return inner, IdleEnd(inner, ["fillrandom"], held, gives_up=gives_up)

    def test_it_works_while_the_load_is_not_over(self, folder, held):
        _, end = self.end(held)
        assert not end.settled(folder) and end.has_place
        (folder / "stdout").write_text(LOADED)
        assert not end.settled(folder) and not end.has_place
        with held.held():  # free for others
            pass

    @pytest.mark.parametrize(
        ("looks", "keeps"),
        [
            ([(100, False), (103, False)], True),  # three ticks: it computes
            ([(100, False), (102, False)], False),
            ([(100, False), (100, True)], True),  # a thread waits for the disk
        ],
    )
    def test_what_works_keeps_it(self, folder, held, children, looks, keeps):
        children += looks
        (folder / "stdout").write_text(LOADED)
        _, end = self.end(held)
        assert not end.settled(folder) and end.has_place is keeps

    def test_what_must_be_alone_never_gives_it_up(self, folder, held):
        (folder / "stdout").write_text(LOADED)
        inner, end = self.end(held, gives_up=False)
        assert not end.settled(folder) and end.has_place
        inner.is_settled = True
        assert end.settled(folder) and end.has_place

    def test_what_it_waits_for_the_place_is_not_its_time(self, folder, held, monkeypatch):
        (folder / "stdout").write_text(LOADED)
        inner, end = self.end(held)
        assert not end.settled(folder)
        inner.is_settled = True
        assert not end.settled(folder)  # its LOG has not grown: it was not asked
        (folder / "db" / "LOG").write_text("grown")
        clock = iter([100.0, 100.0, 103.0])
        now = SimpleNamespace(monotonic=lambda: next(clock), sleep=time.sleep, time=time.time)
        monkeypatch.setattr(f"{IDLE_END}.time", now)
        assert end.settled(folder) and end.has_place
        assert end.harvest({}, folder, ended(8.5), 0.0).bench_seconds == 5.5
        assert not end.worked_on

    @pytest.mark.parametrize(("at", "worked_on"), [(999.0, False), (1001.0, True)])
    def test_who_worked_on_is_found_out(self, folder, held, monkeypatch, at, worked_on):
        (folder / "stdout").write_text(LOADED)
        _, end = self.end(held)
        now = SimpleNamespace(monotonic=time.monotonic, sleep=time.sleep, time=lambda: 1000.0)
        monkeypatch.setattr(f"{IDLE_END}.time", now)
        assert not end.settled(folder)
        event = {"time_micros": int(at * 1e6), "job": 3, "event": "compaction_finished"}
        (folder / "db" / "LOG").write_text(
            f"1970/01/01-00:16:40.000000 1 EVENT_LOG_v1 {json.dumps(event)}\n"
        )
        end.harvest({}, folder, ended(5.0), 0.0)
        assert end.worked_on is worked_on and end.has_place

    def test_of_what_was_cut_off_at_its_end_nobody_knows(self, folder, held):
        (folder / "stdout").write_text(LOADED)
        _, end = self.end(held)
        assert not end.settled(folder)
        end.harvest({}, folder, replace(ended(9.0), ending=Ending.CUTOFF), 0.0)
        assert end.worked_on


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
        "studies.methods.together.methods_of",
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
    page = page_of(rows, "make prove-beside", "raw.jsonl")
    assert "| waf | +10.0% | +10.0% to +10.0% | 0.0% | 0.0% |" in page
    assert "6 runs of the defaults in 3 blocks" in page
    with pytest.raises(InputError, match="nothing was measured"):
        page_of([], "make prove-beside", "raw.jsonl")


def test_a_block_that_was_torn_off_is_measured_anew():
    def rows(block, runs):
        return [
            {"block": block, "way": way, "workload": "w"} for way in ("alone", "beside")
        ] * runs

    assert list(missing_blocks([], 2)) == [0, 1]
    torn = [*rows(0, 4), *rows(1, 3)]
    assert list(missing_blocks(torn, 3)) == [2, 3]
    assert list(missing_blocks([*torn, *rows(2, 4), *rows(3, 4)], 3)) == []
