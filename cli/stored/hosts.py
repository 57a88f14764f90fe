"""`rocktune hosts`: what each bench host is, how steady it is, and what changed on it."""

from collections.abc import Mapping
from typing import Annotated, Any

from typer import Argument

from cli.client.client_errors import understanding
from cli.client.remote import Json, Remote, asking
from cli.options.exits import Exit
from cli.render.screen import bare_table, print_json, say, screen
from sampler.common.errors import InputError

EXAMPLES = """
Examples:
  rocktune hosts                                 all hosts, and what changed on them
  rocktune hosts bench-1                         one host, with its noise and speed
  rocktune hosts --url http://bench:8080 || mail -s "a host drifts" me
"""
_FINGERPRINT = ("cpu", "cores", "governor", "disk", "file_system", "kernel", "rocksdb")


@asking()
def hosts_command(
    remote: Remote,
    name: Annotated[
        str | None, Argument(metavar="[NAME]", help="Host. Default: all hosts.")
    ] = None,
    as_json: Json = False,
) -> int:
    """Shows the bench hosts: state, noise, speed and drift.

    Noise and speed come from a host's runs of the baseline in its last 100 jobs.

    Exit status: 0 all hosts are well, 3 the newest job of a host shows a change for the
    worse, or a running job has excluded a host, 2 bad input.
    """
    with understanding():
        names = [each["name"] for each in remote.get("hosts")]
    if name is not None and name not in names:
        raise InputError("NAME", f"there is no host {name!r}; choose one of {', '.join(names)}")
    hosts = [remote.get(f"hosts/{each}") for each in ([name] if name else names)]
    with understanding():
        if as_json:
            print_json(hosts)
        elif not hosts:
            screen(stderr=True).print("no hosts")
        for host in () if as_json else hosts:
            _show(host, whole=name is not None)
        wrong = [h["worsened"] or (h["excluded"] and h["excluded"]["live"]) for h in hosts]
    return Exit.ANSWER_IS_NO if any(wrong) else Exit.DONE


def _show(host: Mapping[str, Any], *, whole: bool) -> None:
    console, known = screen(), host["environment"]
    does = f"measures for job {host['job_id']}" if host["job_id"] else "idle"
    say(console, f"{host['name']}: {does if host['alive'] else 'not seen in the last minute'}")
    told = [f"{each} {known[each]}" for each in _FINGERPRINT if known.get(each) is not None]
    say(console, f"  {', '.join(told) or 'no fingerprint'}")
    if out := host["excluded"]:
        verb, since = "excluded" if out["live"] else "was excluded", out["since"][:16]
        say(console, f"  {verb} from job {out['job_id']} since {since}: {out['why']}")
    table = bare_table(("  of", "figure"), ("newest",), ("",))
    for row in host["series"]:
        if whole or row["state"] in ("worse", "better"):
            verdict = f"{row['state']} {row['verdict']}"
            table.add_row(f"  {row['item']}", row["title"], row["newest"], verdict)
    if table.rows:
        console.print(table)
