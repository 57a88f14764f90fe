"""`rocktune schedule` and `webhooks`: batches that start by themselves, and who hears of them."""

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from rich.table import Table
from typer import Argument, Option, Typer

from api.schemas.schedule_schemas import BatchBrief, DeliveryPublic, SchedulePublic, WebhookPublic
from cli.client.client_errors import understanding, understood
from cli.client.remote import Db, Json, Remote, Url, asking, opened, require_json
from cli.options.connections import open_database
from cli.options.exits import complain, leave
from cli.render.outcome_screen import batch_table
from cli.render.screen import bare_table, print_json, say, screen
from cli.render.submitting import Replace, upload_loads
from jobs.batch.batch_plan import batch_request, read_batch, require_name
from jobs.schedule import ScheduleTaken, keep_schedule, require_sound
from sampler.common.errors import InputError, noting, refuse_noted
from sampler.common.text import cleaned

ADD_EXAMPLES = """
Examples:
  rocktune schedule add nightly.toml --cron "30 2 * * *" --time-zone Europe/Berlin
  rocktune schedule add nightly.toml --cron "0 1 * * sat" --missed skip --url http://bench:8080

`rocktune worker` or `rocktune serve` starts the batch when it is due. The file is read now: to
change the batch, delete the schedule and add it again.
"""
SHOW_EXAMPLES = """
Example:
  rocktune schedule show nightly         its next time and its last nights
"""
RUN_EXAMPLES = """
Example:
  rocktune schedule run nightly          starts the batch now
"""
schedule_command = Typer(no_args_is_help=True, add_completion=False)
Name = Annotated[str, Argument(metavar="NAME", help="Schedule name.")]


@schedule_command.command("add", epilog=ADD_EXAMPLES)
def _add(
    file: Annotated[Path, Argument(metavar="FILE", help="Batch file, such as nightly.toml.")],
    cron: Annotated[str, Option(help="Minute, hour, day, month and weekday: '30 2 * * *'.")],
    time_zone: Annotated[str, Option(help="Time zone of --cron.")] = "UTC",
    missed: Annotated[
        str, Option(help="Reaction to a missed time: late (run once) or skip.")
    ] = "late",
    name: Annotated[str | None, Option(help="Schedule name. Default: the batch's.")] = None,
    replace: Replace = False,
    url: Url = None,
    db: Db = None,
) -> None:
    """Adds a schedule, which starts a batch at the times of a cron expression.

    Exit status: 0 added, 2 bad input.
    """
    about = {"cron": cron, "time_zone": time_zone, "missed": missed}
    with opened(url, db, makes=True, subject="NAME") as remote:
        given = None if name is None else require_name(name, "--name")
        kept = _kept_here(db, file, given, about) if remote.is_local else None
        kept = kept or _sent(remote, file, given, about, replace=replace)
        made = understood(SchedulePublic, remote.get(f"schedules/{kept}"))
    say(screen(), f"schedule {made.name}: {len(made.items)} jobs", _next(made))


def _kept_here(db: str | None, file: Path, name: str | None, about: Mapping[str, str]) -> str:
    """Keeps it in a local database, with workload files of the user's own; returns its name."""
    plan = read_batch(file, complain)
    require_sound(plan)
    found: list[InputError] = []
    given = db if db is not None else os.environ.get("ROCKTUNE_DB")
    with open_database(given) as engine:
        try:
            with noting(found):
                keep_schedule(engine, plan, name=name or plan.name, **about)
        except ScheduleTaken as taken:
            raise InputError("NAME", str(taken)) from None
    refuse_noted(found)
    return name or plan.name


def _sent(
    remote: Remote, file: Path, name: str | None, about: Mapping[str, str], *, replace: bool
) -> str:
    batch = batch_request(file, complain)
    require_json("FILE", batch)
    kept = name or str(batch["name"])
    with remote.unless_refused():
        for row in batch["job"]:
            upload_loads(remote, row, replace=replace)
        remote.post("schedules", {"name": kept, **about, "batch": batch})
    return kept


@schedule_command.command("list")
@asking("NAME")
def _list(remote: Remote, as_json: Json = False) -> None:
    """Lists the schedules, with their next times and the states of their last batches."""
    rows, documents = remote.told(list[SchedulePublic], "schedules")
    if as_json:
        print_json(documents)
    elif rows:
        screen().print(_table(rows))
    else:
        screen(stderr=True).print("no schedules")


@schedule_command.command("show", epilog=SHOW_EXAMPLES)
@asking("NAME")
def _show(remote: Remote, name: Name, as_json: Json = False) -> None:
    """Shows a schedule: its jobs, next time, last batches and newest result."""
    found, document = remote.told(SchedulePublic, f"schedules/{require_name(name, 'NAME')}")
    if as_json:
        print_json(document)
        return
    result = _last_result(remote, found)
    console = screen()
    say(
        console,
        f"schedule {found.name}, missed times: {found.missed}",
        _next(found),
        f"jobs: {', '.join(each.item for each in found.items)}",
        *([f"starts nothing: {found.stopped}"] if found.stopped else ()),
    )
    if found.last:
        console.print(_batches(found.last))
    if result is not None:
        with understanding():
            console.print(batch_table(cleaned(result)))


@schedule_command.command("delete")
@asking("NAME")
def _delete(remote: Remote, name: Name) -> None:
    """Deletes a schedule. Its measurements stay, and a running batch continues."""
    remote.delete(f"schedules/{require_name(name, 'NAME')}")
    say(screen(), f"schedule {name} deleted")


@schedule_command.command("run", epilog=RUN_EXAMPLES)
@asking("NAME")
def _run(remote: Remote, name: Name) -> None:
    """Starts the batch of a schedule now; `rocktune worker` or `serve` runs it.

    Exit status: 0 started, 2 there is no such schedule or its last batch has
    not ended.
    """
    begun = understood(BatchBrief, remote.post(f"schedules/{require_name(name, 'NAME')}/run"))
    say(screen(), f"batch {begun.id} ({begun.name}) is {begun.state.value}")


def _last_result(remote: Remote, schedule: SchedulePublic) -> dict[str, Any] | None:
    """What the newest batch that measured something found."""
    for each in schedule.last:
        if each.state.value in ("done", "failed"):
            document = remote.get(f"batches/{each.id}")
            result = document.get("result") if isinstance(document, dict) else None
            return result if isinstance(result, dict) else None
    return None


def _next(schedule: SchedulePublic) -> str:
    try:
        local = schedule.next_at.astimezone(ZoneInfo(schedule.time_zone))
    except (ZoneInfoNotFoundError, ValueError, OSError):  # not known on this machine
        local = schedule.next_at
    return f"{schedule.cron} in {schedule.time_zone}, next at {local:%Y-%m-%d %H:%M %Z}"


def _table(rows: list[SchedulePublic]) -> Table:
    words = ("schedule", "cron", "time zone", "missed", "next (UTC)")
    table = bare_table(words, ("jobs",), ("last batch",))
    for row in rows:
        last = f"{row.last[0].id} {row.last[0].state.value}" if row.last else ""
        last = f"{last}, stopped".removeprefix(", ") if row.stopped else last
        due = f"{row.next_at:%Y-%m-%d %H:%M}"
        table.add_row(
            row.name, row.cron, row.time_zone, row.missed, due, str(len(row.items)), last
        )
    return table


def _batches(last: list[BatchBrief]) -> Table:
    table = bare_table((), ("batch",), ("for (UTC)", "began (UTC)", "state", "why"))
    for each in last:
        due = f"{each.due_at:%Y-%m-%d %H:%M}" if each.due_at else ""
        began = f"{each.created_at:%Y-%m-%d %H:%M}"
        table.add_row(str(each.id), due, began, each.state.value, each.why)
    return table


ADD_WEBHOOK_EXAMPLES = """
Examples:
  rocktune webhooks add https://chat.example.com/hooks/abc       sends all events
  rocktune webhooks add https://chat.example.com/hooks/abc --event winner_proven --event job_ended
"""
TEST_WEBHOOK_EXAMPLES = """
Example:
  rocktune webhooks test 1 || echo "no messages arrive"
"""
_ROUND_SECONDS = 0.5
_PATIENCE_SECONDS = 60.0  # an attempt takes 35 at most
webhooks_command = Typer(no_args_is_help=True, add_completion=False)
WebhookId = Annotated[int, Argument(metavar="ID", help="Webhook number.", min=1)]


@webhooks_command.command("list")
@asking()
def _list_webhooks(remote: Remote, as_json: Json = False) -> None:
    """Lists the webhooks, with the host and the events of each."""
    rows, documents = remote.told(list[WebhookPublic], "webhooks")
    if as_json:
        print_json(documents)
    elif rows:
        table = bare_table((), ("webhook",), ("URL", "added by", "events"), no_wrap=True)
        for row in rows:
            table.add_row(str(row.id), row.url, row.submitter or "", ", ".join(row.events))
        screen().print(table)
    else:
        screen(stderr=True).print("no webhooks")


@webhooks_command.command("add", epilog=ADD_WEBHOOK_EXAMPLES)
@asking("URL")
def _add_webhook(
    remote: Remote,
    address: Annotated[str, Argument(metavar="URL", help="URL to post messages to.")],
    event: Annotated[
        list[str] | None, Option(help="Event to send; repeatable. Default: all.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Adds a webhook, and shows once the secret that signs its messages."""
    document = remote.post("webhooks", {"url": address, **({"events": event} if event else {})})
    made = understood(WebhookPublic, document)
    if as_json:
        print_json(document)
        return
    say(screen(), f"webhook {made.id} receives {', '.join(made.events)}")
    say(screen(), f"Secret (shown only once): {made.secret}")


@webhooks_command.command("test", epilog=TEST_WEBHOOK_EXAMPLES)
@asking()
def _test_webhook(remote: Remote, webhook_id: WebhookId) -> None:
    """Sends a test message, and shows whether it was acknowledged.

    The worker of the service sends it, like any other message.

    Exit status: 0 acknowledged, 3 not, or not sent within a minute, 2 bad input.
    """
    path = f"webhooks/{webhook_id}"
    sent = understood(DeliveryPublic, remote.post(f"{path}/test"))
    until = time.monotonic() + _PATIENCE_SECONDS
    while sent.state == "waiting" and sent.error is None and time.monotonic() < until:
        time.sleep(_ROUND_SECONDS)
        listed, _ = remote.told(list[DeliveryPublic], f"{path}/deliveries")
        sent = next((each for each in listed if each.id == sent.id), sent)
    if sent.state == "sent":
        say(screen(), f"webhook {webhook_id} acknowledged the message, status {sent.status}")
    elif sent.error is not None:
        again = "a retry follows" if sent.state == "waiting" else "no retry follows"
        leave(f"webhook {webhook_id} did not acknowledge the message: {sent.error}; {again}")
    else:
        leave("the test message is still waiting for a worker; start `rocktune worker` or `serve`")


@webhooks_command.command("delete")
@asking()
def _delete_webhook(remote: Remote, webhook_id: WebhookId) -> None:
    """Deletes a webhook, with the messages that were not sent yet."""
    remote.delete(f"webhooks/{webhook_id}")
    say(screen(), f"webhook {webhook_id} deleted")
