"""`rocktune webhooks`: who is told what happens, and whether a message arrives."""

import time
from typing import Annotated

from typer import Argument, Option, Typer

from api.schemas.webhook_schemas import DeliveryPublic, WebhookPublic
from cli.client.client_errors import understood
from cli.client.remote import Json, Remote, asking
from cli.options.exits import leave
from cli.render.screen import bare_table, print_json, say, screen

ADD_EXAMPLES = """
Examples:
  rocktune webhooks add https://chat.example.com/hooks/abc       sends all events
  rocktune webhooks add https://chat.example.com/hooks/abc --event winner_proven --event job_ended
"""
TEST_EXAMPLES = """
Example:
  rocktune webhooks test 1 || echo "no messages arrive"
"""
_ROUND_SECONDS = 0.5
_PATIENCE_SECONDS = 60.0  # an attempt takes 35 at most
webhooks_command = Typer(no_args_is_help=True, add_completion=False)
WebhookId = Annotated[int, Argument(metavar="ID", help="Webhook number.", min=1)]


@webhooks_command.command("list")
@asking()
def _list(remote: Remote, as_json: Json = False) -> None:
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


@webhooks_command.command("add", epilog=ADD_EXAMPLES)
@asking("URL")
def _add(
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


@webhooks_command.command("test", epilog=TEST_EXAMPLES)
@asking()
def _test(remote: Remote, webhook_id: WebhookId) -> None:
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
def _delete(remote: Remote, webhook_id: WebhookId) -> None:
    """Deletes a webhook, with the messages that were not sent yet."""
    remote.delete(f"webhooks/{webhook_id}")
    say(screen(), f"webhook {webhook_id} deleted")
