"""What a webhook is sent: as docs/webhook.schema.json says, signed, and harmless in a chat."""

import base64
import json
from datetime import UTC, datetime
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from db.webhooks import EVENTS, TEST, Delivery, Webhook
from jobs.webhooks import event_text, message, new_secret, signed_headers
from tests.support import ROOT

SCHEMA = json.loads((ROOT / "docs" / "webhook.schema.json").read_text())
AT = datetime(2026, 11, 27, 2, 30, tzinfo=UTC)
HOOK = Webhook(1, "https://chat.example.com/x", EVENTS, "whsec_AAAA", None, AT)
VERDICT: dict[str, Any] = {
    "trade": "Better: WAF -43%", "why": "it is", "fitness": 644.0, "low": 1.0, "high": 2.0,
    "p": 0.003, "pairs": 7,
}  # fmt: skip
JOB: dict[str, Any] = {
    "id": 12, "kind": "tune", "run": 1, "state": "done", "why": "all trials are done",
    "error": None, "submitter": "ci", "batch_id": 3, "batch_item": "load/default",
    "workload": "load", "space": "default", "strategy": "guided", "title": None, "proven": False,
    "verdict": dict.fromkeys(VERDICT),
}  # fmt: skip
EXPERIMENT = {
    **JOB, "kind": "compare", "title": "default with zstd", "workload": None, "space": None,
    "strategy": None, "verdict": {**dict.fromkeys(VERDICT), "why": "B is better."},
}  # fmt: skip
FINDING: dict[str, Any] = {
    "item": "load/default", "of": "default", "metric": "waf", "since": AT.isoformat(),
    "batch": 3, "worse": True, "unit": "percent", "change": 12.0, "low": 9.0, "high": 15.0,
    "p": 0.0001, "environment": [], "text": "load/default: since 2026-11-12 WAF +12%, p < 0.001",
}  # fmt: skip
NIGHT = {"batch": {"id": 3, "name": "nightly", "began_at": AT.isoformat()}, "findings": [FINDING]}
MISSED = {"name": "nightly", "at": AT.isoformat(), "why": "nothing ran", "batch": None}
ABOUT: dict[str, dict[str, Any]] = {
    "job_ended": {"job": JOB},
    "winner_proven": {"job": {**JOB, "proven": True, "verdict": VERDICT}},
    "regression_found": NIGHT,
    "regression_gone": NIGHT,
    "host_excluded": {"host": {"name": "h2", "why": "its noise"}, "job": JOB},
    "schedule_missed": {"schedule": MISSED},
    TEST: {},
}
TEXTS = {
    "job_ended": "Job 12 (load) is done: all trials are done",
    "winner_proven": "Job 12 (load) has proven a better configuration. Better: WAF -43%",
    "regression_found": "Batch nightly, night of 2026-11-27: a regression was found\n"
    "- load/default: since 2026-11-12 WAF +12%, p &lt; 0.001",
    "regression_gone": "Batch nightly, night of 2026-11-27: a regression has disappeared\n"
    "- load/default: since 2026-11-12 WAF +12%, p &lt; 0.001",
    "host_excluded": "Job 12 (load) continues without host h2: its noise",
    "schedule_missed": "Schedule nightly, 2026-11-27T02:30 UTC: nothing ran",
    TEST: "This is a test message of Rocktune.",
}
LINKS = {
    "regression_found": "/nights/nightly", "regression_gone": "/nights/nightly",
    "schedule_missed": "/schedules", TEST: "/webhooks",
}  # fmt: skip


def sent(event: str, about: dict[str, Any] | None = None) -> Delivery:
    known = ABOUT[event] if about is None else about
    return Delivery(7, 1, event, "s", known, "waiting", 0, None, None, AT, None, AT)


@pytest.mark.parametrize("event", [*EVENTS, TEST])
def test_each_event_is_as_the_schema_says(event: str) -> None:
    plain, linked = (message(HOOK, sent(event), url) for url in ("", "https://bench.example/r/"))
    jsonschema.validate(plain, SCHEMA)
    jsonschema.validate(linked, SCHEMA)
    assert plain["link"] is None and plain["text"] == TEXTS[event]
    assert linked["link"] == "https://bench.example/r" + LINKS.get(event, "/jobs/12")
    assert linked["text"] == f"{TEXTS[event]}\n{linked['link']}"
    assert message(HOOK, sent(event), "") == plain, "the same in every attempt"
    for lacking in plain:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({k: v for k, v in plain.items() if k != lacking}, SCHEMA)


def test_no_name_of_a_field_means_something_to_a_chat_but_text() -> None:
    known = {
        "channel", "username", "icon_url", "icon_emoji", "attachments", "blocks", "props", "type",
        "priority", "mrkdwn", "parse", "metadata", "thread_ts", "link_names",
    }  # fmt: skip
    assert not known & SCHEMA["properties"].keys()


def test_why_a_job_ended_is_its_error_or_its_trade() -> None:
    failed = {**JOB, "state": "failed", "error": "the disk is full"}
    assert event_text("job_ended", {"job": failed}).endswith("is failed: the disk is full")
    cancelled = {**JOB, "state": "cancelled", "why": "cancelled"}
    assert event_text("job_ended", {"job": cancelled}) == "Job 12 (load) is cancelled"
    trade = "Nothing was proven better than the baseline; costs: none significant"
    unproven = {**JOB, "verdict": {**VERDICT, "trade": trade}}
    assert trade in event_text("job_ended", {"job": unproven})


def test_of_many_findings_the_first_are_told_in_the_text() -> None:
    text = event_text("regression_found", {**NIGHT, "findings": [FINDING] * 14})
    assert text.splitlines()[-1] == "- and 4 more" and len(text.splitlines()) == 12
    long = {**FINDING, "text": "x" * 5000}
    assert len(event_text("regression_found", {**NIGHT, "findings": [long]})) < 3100


@given(st.text() | st.sampled_from([
    "<!channel> @here @all", "<http://evil.example|log in>", "[log in](http://evil.example)",
    "a\nSchedule b is fine", "\x1b]8;;x\x07", "https://evil.example",
]))  # fmt: skip
def test_what_others_wrote_mentions_nobody_links_nowhere_and_stays_in_its_line(text: str) -> None:
    said = event_text("job_ended", {"job": {**JOB, "state": "failed", "error": text}})
    assert said.replace("\N{ZERO WIDTH SPACE}", "").isprintable(), "in one line"
    assert "<" not in said and ">" not in said
    assert not any(each in said for each in ("@here", "@all", "@channel", "://", "]("))


def test_the_signature_is_that_of_standard_webhooks() -> None:
    """Their published example."""
    body = b'{"test": 2432232314}'
    headers = signed_headers(
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body
    )
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    assert headers["webhook-id"] == headers["Idempotency-Key"] == "msg_p5jXN8AQM9LWM0D4loKWxJek"
    assert headers["webhook-timestamp"] == "1614265330"
    assert len(base64.b64decode(new_secret().removeprefix("whsec_"))) == 32


def test_an_experiment_says_what_it_asked_and_found():
    said = event_text("job_ended", {"job": EXPERIMENT})
    assert said == "Job 12 (default with zstd) is done: B is better."
    jsonschema.validate(message(HOOK, sent("job_ended", {"job": EXPERIMENT}), ""), SCHEMA)
