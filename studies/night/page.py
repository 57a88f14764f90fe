"""The page of the night, from what the product told of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

from sampler.bench.installed import build_words

_HOW = (
    "Two bench hosts, each in a network namespace of its own, measure over TLS for "
    "`rocktune worker` and `rocktune serve` on PostgreSQL. A schedule with the cron expression "
    "`* * * * *` begins a batch every minute, or when the last one has ended; each batch counts "
    "as a night. After {before} nights the schedule is deleted, the hosts are started again with "
    "another build, and the schedule is added again. The new build is a newer RocksDB in a shell "
    "script that stops it for half of the time. Both hosts share two cores, so clocks are noisier "
    "than on machines of their own."
)
_CHECK = (
    "The database was copied just before the build changed. Over the copy `rocktune check` "
    "measured the nights after the change itself, with the same hosts."
)
_AGAIN = "The command that the triage gives, run as it stands on this machine:"


def write_page(path: Path, found: Mapping[str, Any]) -> str:
    """Writes the page; returns it."""
    text = "\n".join([*_lines(found), ""])
    path.write_text(text, encoding="utf-8")
    return text


def wrong(found: Mapping[str, Any]) -> list[str]:
    """What did not come out as it should have; nothing: all did."""
    triage, last = found["triage"], found["check"][-1]
    (item,) = triage["items"]
    slower = {each["metric"] for each in triage["moved"] if each["worse"]}
    failed = [
        n for cases in last["junit"].values() for n, c in cases.items() if c["kind"] == "failure"
    ]
    checks = {
        "the triage names another night": triage["night"]["batch"] == found["first_after"],
        "the triage names no other build": item["builds"]["before"]["digest"]
        != item["builds"]["after"]["digest"],
        "TIME is not among what moved": "time" in slower,
        "the chat was told of another batch": found["message"]["batch"]["id"]
        >= found["first_after"],
        "`rocktune check` did not end with 3": last["status"] == 3,
        "JUnit fails by no metric that the triage names": any(
            name.split()[0].lower() in slower for name in failed
        ),
        "the triage's command found no worsening": found["again"]["status"] == 3,
    }
    return [words for words, fine in checks.items() if not fine]


def _lines(found: Mapping[str, Any]) -> Iterator[str]:
    machine, triage, message = found["machine"], found["triage"], found["message"]
    (item,) = triage["items"]
    before = sum(night["id"] <= found["last_before"] for night in found["nights"])
    yield "# A night from cron to chat"
    yield ""
    yield (
        f"`make prove-night`, {found['at'][:10]}, {machine['cpu']}, {machine['cores']} cores, "
        f"{machine['system']}, Python {machine['python']}. All that the product told is in "
        "[night/night.json](night/night.json)."
    )
    yield ""
    yield _HOW.format(before=before)
    yield ""
    if problems := wrong(found):
        yield "**Not as it should be:** " + "; ".join(problems) + "."
        yield ""
    yield "| | |"
    yield "|---|---|"
    yield f"| batch | {_settings(found['settings'])} |"
    took = _seconds(found["nights"][:before])
    yield f"| nights before the change | {before}, of {took:.0f} s in the median |"
    yield f"| first night of the new build | batch {found['first_after']} |"
    yield f"| night that the triage names | batch {triage['night']['batch']} |"
    yield f"| the chat was told in | batch {message['batch']['id']} |"
    for side in ("before", "after"):
        yield f"| build {side} | {build_words(item['builds'][side])} |"
    moved = [f"{each['words']}, found in batch {each['batch']}" for each in triage["moved"]]
    yield f"| what moved | {'; '.join(moved)} |"
    yield f"| measured that night, unmoved | {'; '.join(triage['steady']) or 'nothing'} |"
    yield f"| options whose default differs | {_options(item['options'])} |"
    yield ""
    yield "## The chat"
    yield ""
    yield "```"
    yield message["text"].replace("\N{ZERO WIDTH SPACE}", "")
    yield "```"
    yield ""
    yield "## The CI"
    yield ""
    yield _CHECK
    yield ""
    yield "| night | exit status | JUnit: failures |"
    yield "|--:|--:|---|"
    for number, night in enumerate(found["check"], 1):
        failed = [
            case["words"]
            for cases in night["junit"].values()
            for case in cases.values()
            if case["kind"] == "failure"
        ]
        yield f"| {number} | {night['status']} | {'; '.join(failed) or 'none'} |"
    yield ""
    yield "## Counters of the default's runs"
    yield ""
    yield "| counter | before | after | change | nights apart |"
    yield "|---|--:|--:|--:|---|"
    for row in item["counters"]:
        change = "-" if row["percent"] is None else f"{row['percent']:+.1f}%"
        yield (
            f"| `{row['name']}` | {row['before']:,.4g} | {row['after']:,.4g} | {change} | "
            f"{'yes' if row['apart'] else 'no'} |"
        )
    yield ""
    yield "## Measured again"
    yield ""
    yield _AGAIN
    yield ""
    yield "```"
    yield found["again"]["said"].rstrip()
    yield "```"
    yield ""
    yield f"It ended with {found['again']['status']}."
    yield ""
    yield "## Pictures"
    for name in ("nights", "batch", "triage"):
        yield ""
        yield " ".join(
            f"[{name}, {look}](night/{name}-{look}.png)" for look in ("light", "dark", "narrow")
        )


def _settings(settings: Mapping[str, Any]) -> str:
    return ", ".join(
        f"`{name}` {' '.join(value) if isinstance(value, list) else value}"
        for name, value in settings.items()
    )


def _seconds(nights: Sequence[Mapping[str, str]]) -> float:
    """What a night took, in the median."""
    began, ended = (
        [datetime.fromisoformat(night[name]) for night in nights]
        for name in ("created_at", "ended_at")
    )
    return median((end - begin).total_seconds() for begin, end in zip(began, ended, strict=True))


def _options(options: Sequence[Mapping[str, Any]]) -> str:
    return "; ".join(f"`{o['name']}` {o['before']} to {o['after']}" for o in options) or "none"
