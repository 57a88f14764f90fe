"""PostgreSQL goes away in the middle of a job and comes back."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from db.connection.engine import make_engine
from db.schema.job_row import JobState
from sampler.bench.settings import Settings
from tests.support.cli.launched import ROCKTUNE, forked
from tests.support.db.private_server import PrivateServer, private_server
from tests.support.jobs.instant import left_running, write_space
from tests.support.jobs.service_desk import ServiceDesk, status_of, wait_until
from tests.support.jobs.worker_scene import SCRIPT, Scene
from tests.support.sampler.codec_space import write_command

pytestmark = pytest.mark.postgres

SPACE = {
    "name": "levels",
    "parameter": [{"name": "level", "type": "int", "low": 1, "high": 1_000_000}],
}


@pytest.fixture(scope="module")
def server() -> Iterator[PrivateServer]:
    with private_server() as running:
        yield running


@pytest.fixture
def desk(tmp_path: Path, server: PrivateServer) -> Iterator[ServiceDesk]:
    desk = ServiceDesk(tmp_path, server.url, launch=forked)
    desk.workloads.mkdir()
    script = SCRIPT.format(folder=tmp_path)
    write_command(desk.workloads, script, "held", file="held.toml")
    yield desk
    assert left_running(desk.mark) == []


def scene_of(desk: ServiceDesk) -> Scene:
    settings = Settings(bench_dir=desk.bench)
    return Scene(make_engine(desk.url), desk.url, desk.folder, settings)


def measured(desk: ServiceDesk) -> int:
    return len((desk.folder / "record").read_text().splitlines())


def test_a_job_of_the_service_goes_on_by_itself(desk: ServiceDesk, server: PrivateServer):
    with desk.running("serve", "--port", "0", "--migrate") as service:
        address = service.address()
        scene = scene_of(desk)
        body = {"workload": "held", "space": SPACE, "objective": "waf", "trials": 14}
        job = desk.call("POST", f"{address}/v1/jobs", body)["id"]
        for wanted in (3, 6):  # once while it measures, and once more
            scene.await_trials(job, wanted)
            scene.hold.touch()
            scene.await_held()
            before = scene.store.trials(job)
            assert status_of(f"{address}/readyz") == 200
            server.stop()
            assert status_of(f"{address}/readyz") == 503
            assert status_of(f"{address}/healthz") == 200
            scene.go_on()  # its measurement is held until the server is back
            service.await_said("the database does not answer; finished trials are kept in memory")
            server.start()
            scene.engine.dispose()
            scene.await_trials(job, wanted + 2)
            assert scene.store.trials(job)[: len(before) - 1] == before[:-1]
            wait_until(
                lambda: status_of(f"{address}/readyz") == 200, seconds=20, what="it is ready"
            )
        scene.await_state(job, JobState.DONE)
        scene.check_done(job, 14)
        assert [trial.attempt for trial in scene.store.trials(job)] == [1] * 14
        assert measured(desk) == 14
        # The queue itself has come through as well.
        following = desk.call("POST", f"{address}/v1/jobs", body)["id"]
        scene.await_state(following, JobState.DONE)
        scene.check_done(following, 14)
        assert service.stop() == 0
        assert service.said("the database answers again")
        scene.engine.dispose()


def test_a_service_can_be_stopped_while_the_database_is_away(
    desk: ServiceDesk, server: PrivateServer
):
    with desk.running("serve", "--port", "0", "--migrate") as service:
        address = service.address()
        scene = scene_of(desk)
        scene.hold.touch()
        body = {"workload": "held", "space": SPACE, "objective": "waf", "trials": 12}
        job = desk.call("POST", f"{address}/v1/jobs", body)["id"]
        scene.await_held()
        server.stop()
        try:
            scene.go_on()
            service.await_said("the database does not answer; finished trials are kept in memory")
            assert service.stop(seconds=40) == 0
        finally:
            server.start()
    scene.engine.dispose()
    with desk.running("worker") as worker:
        scene.await_state(job, JobState.DONE)
        assert worker.stop() == 0
    scene.check_done(job)
    assert [trial.attempt for trial in scene.store.trials(job)] == [2] + [1] * 11
    scene.engine.dispose()


def test_a_worker_without_a_job_can_be_stopped_while_the_database_is_away(
    desk: ServiceDesk, server: PrivateServer
):
    with desk.running("worker", "--migrate") as worker:
        worker.await_said("worker is ready")
        server.stop()
        try:
            worker.await_said("the database does not answer")
            assert worker.stop(seconds=40) == 0
        finally:
            server.start()


def test_a_job_of_the_terminal_goes_on_by_itself(desk: ServiceDesk, server: PrivateServer):
    scene = scene_of(desk)
    known = {row.id for row in scene.store.jobs()}
    scene.hold.touch()
    arguments = [
        "tune", "--workload", desk.workloads / "held.toml", "--space", write_space(desk.folder),
        "--objective", "waf", "--strategy", "random", "--trials", 12, "--db", desk.url,
        "--out", desk.folder / "out",
    ]  # fmt: skip
    with (desk.folder / "said").open("w") as said:
        process = subprocess.Popen(
            [str(ROCKTUNE), *map(str, arguments)],
            cwd=desk.folder, env=desk.variables(), stdin=subprocess.DEVNULL,
            stdout=said, stderr=said,
        )  # fmt: skip
    try:
        scene.await_held()
        server.stop()
        scene.go_on()
        wait_until(
            lambda: "does not answer" in (desk.folder / "said").read_text(),
            seconds=20, what="the user is told",
        )  # fmt: skip
        server.start()
        scene.engine.dispose()
        assert process.wait(60) in (0, 3), (desk.folder / "said").read_text()
    finally:
        process.kill()
        process.wait()
    (job,) = {row.id for row in scene.store.jobs()} - known
    scene.check_done(job)
    assert [trial.attempt for trial in scene.store.trials(job)] == [1] * 12
    assert measured(desk) == 12
    scene.engine.dispose()
    assert list(desk.bench.iterdir()) == []
