"""A host that was set aside, or on which the baseline fails, when no other host is left."""

from __future__ import annotations

import math

import pytest

from optimizer.evaluation.evaluation import Evaluation
from optimizer.results import result
from optimizer.results.ranking import ParameterRanking
from optimizer.results.result import Conclusion, job_result
from optimizer.run.driver import ALONE_SECONDS
from optimizer.run.ports import HOSTS_EXCLUDED, ControllerStops, LeaseLost, NoHostCanMeasure
from optimizer.trials.trial import Purpose, Trial
from tests.support.models.quick_ranking import no_ranking, no_simplified
from tests.support.optimizer.pretend_bench import ListLog, Watcher, bowl, problem_of
from tests.support.optimizer.pretend_hosts import PretendHost, PretendHosts, machines, tuned

pytestmark = [
    pytest.mark.usefixtures("quick_ranking", "unranked", "unsimplified"),
    pytest.mark.slow,
]

LEAVES = 1600
DOCUMENTS = {"job": {}, "environment": {}}


class Patient(Watcher):
    """Ends a job that waits for longer than any wait that is documented."""

    def __init__(self, most: float = 4 * ALONE_SECONDS) -> None:
        super().__init__()
        self.most, self.waited = most, 0

    def trial_started(self, trial: Trial) -> None:
        super().trial_started(trial)
        self.waited = 0

    def tick(self) -> None:
        super().tick()
        self.waited += 1
        assert self.waited < self.most / 0.25, "it waits for ever"


def leaving(**odd: float) -> PretendHosts:
    """One host jumps and is set aside; then the other leaves."""
    jumping = PretendHost("odd", jump=700, jumps=2.0, **odd)
    return PretendHosts([PretendHost("good", there=(0, LEAVES)), jumping])


@pytest.fixture(scope="module")
def left_alone() -> tuple[Conclusion, ListLog, Patient]:
    log, watcher = ListLog(), Patient()
    with no_ranking(), no_simplified():
        return tuned(problem_of("random"), 400, leaving(), log=log, watcher=watcher), log, watcher


class TestSetAsideAndAlone:
    def test_it_is_taken_back_after_the_documented_time_and_the_job_says_so(
        self, left_alone, monkeypatch: pytest.MonkeyPatch
    ):
        conclusion, log, watcher = left_alone
        assert (watcher.aside, watcher.back) == (["odd"], ["odd"])
        assert len(conclusion.history) == 400
        document = log.documents[HOSTS_EXCLUDED]
        assert document["hosts"] == {} and "jumped" in document["taken_back"]["odd"]
        monkeypatch.setattr(
            result, "parameter_ranking", lambda _: ParameterRanking(parameters=[], forest={})
        )
        hosts = job_result(conclusion, **DOCUMENTS).document()["hosts"]
        said = next(host["set_aside"] for host in hosts if host["name"] == "odd")
        assert "used again, as no other host was left" in said

    def test_what_it_measures_then_compares_with_its_own_baseline(self, left_alone):
        problem, conclusion = problem_of("random"), left_alone[0]
        evaluation = Evaluation(problem, conclusion.history)
        later = [
            trial
            for trial in conclusion.history.of(Purpose.CANDIDATE)
            if trial.host == "odd"
            and trial.metrics["time"] > 1.9 * bowl(trial.configuration)["time"]
        ]
        assert len(later) > 50
        truth = bowl({**problem.space.start})
        for value, trial in evaluation.comparable(later):
            fair = problem.objective.fitness(bowl(trial.configuration), truth)
            assert value == pytest.approx(fair, abs=200)

    @pytest.mark.parametrize(
        ("away", "trials", "back"),
        [((1000, 1000 + ALONE_SECONDS - 60), 200, []), ((LEAVES, LEAVES + 1000), 400, ["odd"])],
    )
    def test_a_short_absence_of_the_other_changes_nothing_after_a_long_one_it_stays(
        self, away: tuple[float, float], trials: int, back: list[str]
    ):
        jumping, watcher = PretendHost("odd", jump=700, jumps=2.0), Patient()
        hosts = PretendHosts([PretendHost("good", away=away), jumping])
        tuned(problem_of("random"), trials, hosts, watcher=watcher)
        assert (watcher.aside, watcher.back) == (["odd"], back)

    def test_a_job_that_is_resumed_goes_on_with_it_too(self):
        log, hosts = ListLog(), leaving()
        with pytest.raises(ControllerStops):
            tuned(problem_of("random"), 400, hosts, log=log, watcher=StopsWhenAlone(hosts))
        assert "odd" in log.documents[HOSTS_EXCLUDED]["hosts"]
        watcher = Patient()
        conclusion = tuned(problem_of("random"), 400, hosts, log=log, watcher=watcher)
        assert watcher.back == ["odd"] and len(conclusion.history) == 400
        again = Patient()
        cut = log.cut(390)
        cut.documents = dict(log.documents)
        tuned(problem_of("random"), 400, PretendHosts(hosts.machines, seconds=hosts.seconds),
              log=cut, watcher=again)  # fmt: skip
        assert again.ticks * 0.25 < ALONE_SECONDS, "it remembers that it was taken back"


class StopsWhenAlone(Watcher):
    def __init__(self, hosts: PretendHosts) -> None:
        super().__init__()
        self.hosts = hosts

    def tick(self) -> None:
        if self.hosts.seconds > LEAVES + 100:
            raise ControllerStops


class TestTheBaselineFailsThere:
    def broken(self, until: float = math.inf) -> PretendHosts:
        made: dict[str, PretendHosts] = {}

        def fails(_trial: Trial) -> str | None:
            return "disk error" if made["hosts"].seconds < until else None

        bad = PretendHost("bad", fails=fails, there=(900, math.inf))
        made["hosts"] = PretendHosts([PretendHost("good", there=(0, 1000)), bad])
        return made["hosts"]

    def test_the_job_ends_and_says_what_to_do(self):
        with pytest.raises(NoHostCanMeasure, match=r"disk error.*then resume the job"):
            tuned(problem_of("random"), 400, self.broken(), watcher=Patient())

    def test_a_mended_host_goes_on_with_it(self):
        log, hosts = ListLog(), self.broken(until=5000)
        with pytest.raises(NoHostCanMeasure):
            tuned(problem_of("random"), 400, hosts, log=log, watcher=Patient())
        hosts.seconds = 6000
        conclusion = tuned(problem_of("random"), 400, hosts, log=log, watcher=Patient())
        assert len(conclusion.history) == 400

    def test_one_that_mends_itself_while_it_is_waited_for_is_used(self):
        watcher = Patient()
        conclusion = tuned(problem_of("random"), 400, self.broken(until=1100), watcher=watcher)
        assert watcher.back == ["bad"] and len(conclusion.history) == 400


class TestKilledWhileAHostIsSetAside:
    """What is taken back from the host is taken back, whenever the controller ends."""

    def test_between_the_decision_and_its_consequence(self):
        log, hosts = ListLog(), PretendHosts(
            [*machines(2), PretendHost("odd", jump=700, jumps=2.0)]
        )  # fmt: skip
        log.withdraw = lost_lease  # type: ignore[method-assign]
        with pytest.raises(LeaseLost):
            tuned(problem_of("random"), 400, hosts, log=log)
        del log.withdraw
        conclusion = tuned(problem_of("random"), 400, hosts, log=log)
        wrong = [
            trial
            for trial in conclusion.history.of(Purpose.CANDIDATE)
            if trial.host == "odd"
            and trial.metrics["time"] > 1.9 * bowl(trial.configuration)["time"]
        ]
        assert not wrong

    def test_with_a_trial_in_flight_there(self):
        log, hosts = ListLog(), PretendHosts(
            [*machines(2), PretendHost("odd", jump=700, jumps=2.0)]
        )  # fmt: skip
        with pytest.raises(ControllerStops):
            tuned(problem_of("random"), 400, hosts, log=log, watcher=StopsOn(hosts))
        flying = next(t for t in log.trials() if t.host == "odd" and not t.has_outcome)
        since = max(t.number for t in log.trials() if t.host == "odd" and t.has_outcome
                    and t.purpose is Purpose.BASELINE)  # fmt: skip
        log.documents[HOSTS_EXCLUDED] = {"hosts": {"odd": "it jumped"}, "since": {"odd": since}}
        conclusion = tuned(problem_of("random"), 400, hosts, log=log)
        assert conclusion.history[flying.number].host != "odd"


def lost_lease(_trials: object, why: str) -> None:
    raise LeaseLost(why)


class StopsOn(Watcher):
    """Ends the controller when the host that jumped measures a candidate."""

    def __init__(self, hosts: PretendHosts) -> None:
        super().__init__()
        self.hosts, self.at = hosts, -1

    def trial_started(self, trial: Trial) -> None:
        odd = trial.host == "odd" and trial.purpose is Purpose.CANDIDATE
        if odd and self.hosts.seconds > 600:
            self.at = trial.number

    def tick(self) -> None:
        if self.at > 0:
            raise ControllerStops
