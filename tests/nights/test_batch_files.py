"""A nightly.toml: which jobs it makes, under which names, and all that may be wrong with it."""

from pathlib import Path

import pytest

from jobs.batch.batch_plan import (
    SETTINGS,
    BatchEntry,
    batch_items,
    batch_request,
    plan_from_document,
    read_batch,
)
from sampler.common.errors import InputError, InputErrors, refuse_noted
from tests.support.jobs.instant import write_space, write_workload
from tests.support.jobs.night_scene import ITEMS, NIGHTLY, write_nightly


def asked(**document: object) -> list[BatchEntry]:
    found: list[InputError] = []
    items = batch_items(document, known=SETTINGS, found=found)
    refuse_noted(found)
    return items


def named(**document: object) -> list[str]:
    return [each.name for each in asked(**document)]


def told(error: InputError) -> list[str]:
    errors = error.errors if isinstance(error, InputErrors) else (error,)
    return [str(each) for each in errors]


def test_workloads_and_spaces_and_host_kinds_are_each_with_each() -> None:
    assert named(workloads=["load", "load-quick"], spaces=["default", "mine/own.toml"]) == [
        "load/default", "load/own", "load-quick/default", "load-quick/own",
    ]  # fmt: skip
    assert named(workloads=["load"], host_kinds=["nvme", "hdd"]) == [
        "load/default/nvme", "load/default/hdd",
    ]  # fmt: skip
    assert named(spaces=["paper"], job=[{"workload": "load"}]) == [
        "load-quick/paper", "load/default",
    ]  # fmt: skip


def test_a_job_has_its_own_settings_before_the_common_ones() -> None:
    first, second = asked(trials=50, seed=3, job=[{}, {"minutes": 5, "seed": 4, "name": "own"}])
    usual = {"workload": "load-quick", "space": "default"}
    assert first.settings == {**usual, "trials": 50, "seed": 3}
    assert (second.name, second.settings) == ("own", {**usual, "minutes": 5, "seed": 4})


def test_a_file_is_read_with_the_files_beside_it(tmp_path: Path) -> None:
    plan = read_batch(write_nightly(tmp_path))
    assert [item.name for item in plan.items] == ITEMS
    first, second = (item.specification for item in plan.items)
    assert (first.trials, first.seed, second.seed) == (12, 1, 7)
    assert first.workload["command"]["argv"][1] == str(tmp_path / "bench.sh")
    assert plan_from_document(plan.document()) == plan


def test_the_digest_is_of_what_is_measured_under_which_name(tmp_path: Path) -> None:
    def digest(text: str) -> str:
        return read_batch(write_nightly(tmp_path, text)).digest()

    same = digest(NIGHTLY)
    assert digest("# a remark\n" + NIGHTLY.replace("trials = 12", "trials  =  12")) == same
    changes = [("seed = 7", "seed = 8"), ('"again"', '"anew"'), ('"nightly"', '"other"')]
    assert len({same, *(digest(NIGHTLY.replace(*each)) for each in changes)}) == 4


def test_limits_are_a_list_that_is_added_to_the_objective(tmp_path: Path) -> None:
    asked = 'name = "n"\nworkloads = ["load-quick"]\ntrials = 12\nobjective = "waf"\n'
    limits = 'limits = ["rate >= 95% baseline", "write_p99 <= 0.2ms"]\n'
    (item,) = read_batch(write_nightly(tmp_path, asked + limits)).items
    assert item.specification.objective["limit"] == [
        {"metric": "rate", "at_least_baseline": 0.95}, {"metric": "write_p99", "at_most": 200.0},
    ]  # fmt: skip
    sent = batch_request(write_nightly(tmp_path, asked + limits))
    assert sent["job"][0]["limits"] == ["rate >= 95% baseline", "write_p99 <= 0.2ms"]


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ('"rate >= 1 baseline"', "load-quick/default: limits: write a list of limits"),
        ('["rate"]', "load-quick/default: limits: 'rate' is not a limit"),
        ('["memory <= 1GiB"]', "load-quick/default: limits: memory is a budget"),
    ],
)
def test_limits_that_are_none_are_refused(tmp_path: Path, limits: str, said: str) -> None:
    text = f'name = "n"\nworkloads = ["load-quick"]\ntrials = 12\nlimits = {limits}\n'
    with pytest.raises(InputError) as refused:
        read_batch(write_nightly(tmp_path, text))
    assert str(refused.value).startswith(said)


def test_where_a_search_begins_is_a_list_with_files_beside_the_batch(tmp_path: Path) -> None:
    text = '[DBOptions]\n[CFOptions "default"]\n  num_levels=5\n'
    (tmp_path / "mine.ini").write_text(text)
    asked = (
        'name = "n"\nworkloads = ["load-quick"]\ntrials = 12\nstrategy = "guided"\n'
        'start_from = ["level-style", "mine.ini"]\nwarm_start = "auto"\n'
    )
    (item,) = read_batch(write_nightly(tmp_path, asked)).items
    mine = {"name": "mine.ini", "options": text}
    assert item.specification.start_from == [{"name": "level-style"}, mine]
    assert item.specification.warm_start == "auto"
    sent = batch_request(write_nightly(tmp_path, asked))["job"][0]
    assert (sent["start_from"], sent["warm_start"]) == (["level-style", mine], "auto")
    with pytest.raises(InputError, match="start_from: write a list"):
        read_batch(write_nightly(tmp_path, asked.replace('["level-style", "mine.ini"]', '"all"')))


def test_all_that_is_wrong_is_told_at_once_with_item_and_field(tmp_path: Path) -> None:
    text = """\
name = "nightly"
workloads = ["load-quick", "lod"]
spaces = ["default"]
trials = 3
minuts = 5
[[job]]
name = "own"
trials = "many"
seed = -1
over = "level"
minutes = BEYOND_A_FLOAT
memory = true
[[job]]
host_kind = "a kind"
name = "kinds"
trials = 12
[[job]]
workload = "external"
trials = 12
"""
    with pytest.raises(InputErrors) as refused:
        read_batch(write_nightly(tmp_path, text.replace("BEYOND_A_FLOAT", "1" + "0" * 400)))
    said = told(refused.value)
    for start in (
        "nightly.toml: minuts: is unknown; choose one of ",
        "load-quick/default: trials: 3 are too few",
        "lod/default: workload: 'lod' is not one of",
        "own: trials: 'many' is not a whole number",
        "own: over: write a list",
        "own: minutes: 1000",
        "own: memory: True is neither a number nor a text",
        "kinds: host_kind: 'a kind' is not a kind",
        "external/default: workload: 'external' needs an external runner",
    ):
        assert [each for each in said if each.startswith(start)], (start, said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('workloads = ["load"]', 'name: is missing; write for example name = "nightly"'),
        ('name = "../up"\nworkloads = ["load"]', "name: '../up' is not a name"),
        ('name = "n"', "has no jobs; give workloads, spaces or a [[job]]"),
        ('name = "n"\nworkloads = []', "workloads: write a list of at least one name"),
        ('name = "n"\nworkloads = "load"', "workloads: write a list of at least one name"),
        ('name = "n"\njob = 3', "job: write each job as a table [[job]]"),
        ('name = "n"\n[[job]]\n[[job]]', "load-quick/default: is the name of two jobs"),
        ('name = "n"\n[[job]]\nname = "a/../b"', "job[1].name: '..' is not a name"),
        ('name = "n"\n[[job]]\nname = "/a"', "job[1].name: '' is not a name"),
        ('name = "n"\n[[job]]\nname = "batch.json"', "contains the name of a result file"),
        ('name = "n"\n[[job]]\nsed = 1', "job[1].sed: is unknown"),
        ('name = "n"\nworkloads = [1]', "workload: 1 is not a name"),
        ("name = ", "is not TOML"),
    ],
)
def test_what_is_no_batch_is_refused_with_the_mend(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError) as refused:
        read_batch(write_nightly(tmp_path, text))
    assert said in str(refused.value)


def test_too_many_jobs_are_refused() -> None:
    names = [f"w{number}" for number in range(101)]
    with pytest.raises(InputError, match="has 505 jobs; the limit is 500"):
        named(workloads=names, spaces=["a", "b", "c", "d", "e"])


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"FILE: cannot read .*No such file"):
        read_batch(tmp_path / "nightly.toml")


def test_a_request_holds_what_the_files_hold(tmp_path: Path) -> None:
    write_workload(tmp_path)
    write_space(tmp_path)
    (tmp_path / "OPTIONS").write_text("[DBOptions]\n")
    path = tmp_path / "nightly.toml"
    path.write_text(
        'name = "n"\nworkloads = ["load"]\nspaces = ["space.toml"]\nbaseline = "OPTIONS"\n'
    )
    (row,) = batch_request(path)["job"]
    assert row["space"]["name"] == "codecs"
    assert row["baseline_options"] == "[DBOptions]\n" and "baseline" not in row
    path.write_text('name = "n"\nworkloads = ["workload.toml"]\n')
    (row,) = batch_request(path)["job"]
    assert row["workload"]["name"] == "instant", "as it is uploaded, before jobs name it"


def test_an_experiment_goes_to_a_service_with_its_files_and_no_terminal_runs_it(
    tmp_path: Path,
) -> None:
    (tmp_path / "mine.ini").write_text("[DBOptions]\n")
    (tmp_path / "small.toml").write_text('name = "small"\n')
    (tmp_path / "mine.toml").write_text('name = "mine"\n')
    path = tmp_path / "nightly.toml"
    path.write_text(
        'name = "n"\nworkloads = ["load"]\ntrials = 40\n[[job]]\nkind = "compare"\n'
        'b = "mine.ini"\nworkload = ["load", "small.toml"]\n'
        '[[job]]\nkind = "upgrade-check"\nname = "newer"\nold = "default"\nnew = "11.8.1"\n'
        'space = "mine.toml"\n'
    )
    _, compare, upgrade = batch_request(path)["job"]
    assert compare == {
        "name": "compare", "kind": "compare", "workload": ["load", {"name": "small"}],
        "b": {"name": "mine.ini", "options": "[DBOptions]\n"},
    }  # fmt: skip
    assert upgrade == {
        "name": "newer", "kind": "upgrade-check", "old": "default", "new": "11.8.1",
        "space": {"name": "mine"},
    }  # fmt: skip
    with pytest.raises(InputError) as refused:
        read_batch(path)
    assert "compare: kind: a terminal cannot run compare in a batch" in told(refused.value)[0]
    path.write_text('name = "n"\n[[job]]\nkind = "bench"\n')
    with pytest.raises(InputError, match=r"job\[1\]\.kind: 'bench' is not one of tune, compare"):
        batch_request(path)
