"""The trials of one job, kept in the database: ``optimizer.run.ports.TrialLog``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Engine, Table, bindparam, insert, select, update

from db.connection.engine import insert_into, moment_of, reading, writing
from db.leases import Lease, change_held, fence
from db.schema.tables import document, trial
from db.schema.types import storable
from db.trials.trial_rows import outcome, proposal, read_trials, withdrawn
from db.webhooks import tell_job
from optimizer.run.ports import HOSTS_EXCLUDED, TrialLog
from optimizer.trials.trial import Phase, Trial
from sampler.bench.outcome import TrialState

if TYPE_CHECKING:
    from optimizer.run.planning import RunProgress

WITHDRAWN = "withdrawn"
"""The document of measurements that were taken back, with why."""

WAITS_FOR = "waits_for"
"""The document of a job that says who uses the host that it waits for, as ``holder``."""

_LARGEST_SEED = 2**63 - 1  # a column's largest integer, on both databases

_attempt = update(trial).where(
    trial.c.job_id == bindparam("in_job"),
    trial.c.number == bindparam("of_number"),
    trial.c.attempt == bindparam("of_attempt"),
)
_finish = _attempt.where(trial.c.state == TrialState.RUNNING)
_withdraw = _attempt.where(trial.c.state.not_in([TrialState.RUNNING, TrialState.LOST]))


class StoredTrialLog:
    """A job's history in the hands of the controller that holds its lease.

    Each write is one short transaction that proves the lease first, and raises LeaseLost where
    another controller has taken the job over. It may be used from several threads. Non-finite
    metrics, counters and effective values are left out.
    """

    def __init__(self, engine: Engine, lease: Lease) -> None:
        self._engine = engine
        self._lease = lease
        self._about = {"job_id": lease.job_id, "lease_epoch": lease.epoch}
        self._propose = _upsert(engine, trial, "job_id", "number").returning(trial.c.number)
        self._remember = _upsert(engine, document, "job_id", "name")

    def trials(self) -> Sequence[Trial]:
        """All trials of the job by number, those in flight included."""
        with reading(self._engine) as connection:
            return read_trials(connection, self._lease.job_id)

    def propose(self, trial: Trial) -> None:
        """Keeps a proposal before it is run, in place of a lost or running one of its number.

        Raises:
            ValueError: It is not running, one of its number has ended, its seed has more than
                63 bits, or a value of its configuration or point is not finite.
        """
        if trial.state is not TrialState.RUNNING:
            raise ValueError(f"trial {trial.number} is {trial.state}; a proposal must be running")
        if not 0 <= trial.seed <= _LARGEST_SEED:
            raise ValueError(f"the seed {trial.seed} of trial {trial.number} exceeds 63 bits")
        with writing(self._engine) as connection:
            fence(connection, self._lease)
            if connection.execute(self._propose, self._about | proposal(trial)).first() is None:
                raise ValueError(f"trial {trial.number} has already ended; it cannot run again")

    def finish(self, *trials: Trial, progress: RunProgress | None = None) -> None:
        """Keeps outcomes, all or none, and with them how the job stands.

        Of each given trial there must be no row yet; the others were proposed.

        Raises:
            KeyError: A trial was never proposed.
            ValueError: One has ended already, or another attempt of it is in flight, or it is
                still running.
        """
        for each in trials:
            if each.state is TrialState.RUNNING:
                raise ValueError(f"trial {each.number} has no outcome yet")
        given = [self._about | proposal(each) for each in trials if each.given]
        with writing(self._engine) as connection:
            self._stand(connection, progress)
            if given:
                connection.execute(insert(trial), given)
            for each in trials:
                if not each.given:
                    self._end(connection, each)

    def withdraw(self, trials: Sequence[Trial], why: str) -> None:
        """Takes ended trials back, all or none; what they had measured is kept beside them.

        Raises:
            ValueError: One has not ended, or is another attempt.
        """
        rows = [withdrawn(each, why) for each in trials]
        with writing(self._engine) as connection:
            fence(connection, self._lease)
            kept = recall_document(connection, self._lease.job_id, WITHDRAWN) or {"trials": []}
            self._keep(connection, WITHDRAWN, {"trials": [*kept["trials"], *rows]})
            for each in trials:
                lost = outcome(each.lost(why, at=datetime.now(UTC)))
                if not connection.execute(_withdraw, self._which(each) | lost).rowcount:
                    told = f"trial {each.number} has no outcome of attempt {each.attempt}"
                    raise ValueError(f"{told} to take back")

    def _which(self, trial: Trial) -> dict[str, int]:
        job_id = self._lease.job_id
        return {"in_job": job_id, "of_number": trial.number, "of_attempt": trial.attempt}

    def _end(self, connection: Connection, trial: Trial) -> None:
        ended = outcome(trial) | {"lease_epoch": self._lease.epoch}
        if not connection.execute(_finish, self._which(trial) | ended).rowcount:
            self._explain(connection, trial)

    def _stand(self, connection: Connection, standing: RunProgress | None) -> None:
        """Proves the lease; by changing the job's row where there is something to change."""
        if standing is None:
            fence(connection, self._lease)
        else:
            self._change(connection, standing=storable(standing.document()))

    def _change(self, connection: Connection, **values: Any) -> None:
        change_held(connection, self._lease, updated_at=moment_of(self._engine), **values)

    def enter(self, phase: Phase, why: str) -> None:
        """Keeps which phase the job is in and why."""
        with writing(self._engine) as connection:
            self._change(connection, phase=phase, why=why)

    def stand(self, standing: Mapping[str, Any], why: str) -> None:
        """Keeps how an experiment stands, see ``JobRow``, and what it is at."""
        with writing(self._engine) as connection:
            self._change(connection, standing=storable(standing, "standing"), why=why)

    def wait_for(self, holder: str | None) -> None:
        """Keeps who uses the host that the job waits for; None: it waits for nobody any more."""
        with writing(self._engine) as connection:
            self._change(connection)
            self._keep(connection, WAITS_FOR, {"holder": holder})

    def remember(self, name: str, document: Mapping[str, Any]) -> None:
        """Keeps a document of the job by name, in place of an earlier one.

        Raises:
            ValueError: A number in it is not finite.
        """
        with writing(self._engine) as connection:
            fence(connection, self._lease)
            self._keep(connection, name, document)
            if name == HOSTS_EXCLUDED:
                tell_job(connection, self._lease.job_id, document["hosts"])

    def recall(self, name: str) -> Mapping[str, Any] | None:
        """A document kept earlier, or None."""
        with reading(self._engine) as connection:
            return recall_document(connection, self._lease.job_id, name)

    def _keep(self, connection: Connection, name: str, body: Mapping[str, Any]) -> None:
        values = {"name": name, "body": storable(body, name), "updated_at": datetime.now(UTC)}
        connection.execute(self._remember, {"job_id": self._lease.job_id, **values})

    def _explain(self, connection: Connection, ended: Trial) -> None:
        number, mine = ended.number, trial.c.job_id == self._lease.job_id
        which = select(trial.c.state, trial.c.attempt).where(mine, trial.c.number == number)
        found = connection.execute(which).one_or_none()
        if found is None:
            raise KeyError(f"trial {number} was never proposed")
        if found.state is TrialState.RUNNING:
            told = f"attempt {found.attempt} is in flight, not {ended.attempt}"
            raise ValueError(f"trial {number}: {told}")
        raise ValueError(f"trial {number} has already ended: {found.state}")


def lose_in_flight(log: TrialLog, failure: str) -> None:
    """Marks what was begun and has no outcome as lost, so that it is run again one day."""
    for each in log.trials():
        if each.state is TrialState.RUNNING:
            log.finish(each.lost(failure, at=datetime.now(UTC)))


def recall_document(connection: Connection, job_id: int, name: str) -> Mapping[str, Any] | None:
    """A job's document by name, or None."""
    mine = (document.c.job_id == job_id, document.c.name == name)
    found: Mapping[str, Any] | None
    found = connection.execute(select(document.c.body).where(*mine)).scalar_one_or_none()
    return found


def _upsert(engine: Engine, table: Table, *keys: str) -> Any:
    """An insert that stands instead of the row of the same keys; of a trial unless it has ended.

    The row count of an upsert means nothing on PostgreSQL.
    """
    new = insert_into(engine, table)
    values = {each.name: new.excluded[each.name] for each in table.c if each.name != "id"}
    going = trial.c.state.in_([TrialState.LOST, TrialState.RUNNING]) if table is trial else None
    return new.on_conflict_do_update(index_elements=keys, set_=values, where=going)
