from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from db.connection.engine import default_database, redacted, shown_url, url_of_database
from sampler.common.errors import InputError


def test_the_default_is_in_the_users_data_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_database().name == "rocktune.db"
    assert default_database().parent.name == "rocktune"
    assert url_of_database(None).database == str(default_database())


@pytest.mark.parametrize(
    "given", ["/data/tuning.db", Path("/data/tuning.db"), "sqlite:////data/tuning.db"]
)
def test_a_file_may_be_given_as_a_path_or_a_url(given: str | Path):
    url = url_of_database(given)
    assert (url.drivername, url.database) == ("sqlite", "/data/tuning.db")


def test_a_relative_file_is_in_the_current_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.chdir(tmp_path)
    assert url_of_database("mine.db").database == str(tmp_path / "mine.db")
    assert url_of_database("sqlite:///mine.db").database == str(tmp_path / "mine.db")


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+psycopg"])
def test_a_server_is_reached_by_psycopg(scheme: str):
    url = url_of_database(f"{scheme}://ann:secret@db.example:5433/tuning")
    assert url.drivername == "postgresql+psycopg"
    assert (url.username, url.password, url.host, url.port) == (
        "ann",
        "secret",
        "db.example",
        5433,
    )


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("", "does not name a file"),
        (":memory:", "does not name a file"),
        ("sqlite://", "takes only the path of a file"),
        ("sqlite:///:memory:", "takes only the path of a file"),
        ("sqlite:///x.db?mode=ro", "takes only the path of a file"),
        ("mysql://ann:secret@h/d", "mysql:// is not supported"),
        ("postgresql:ann:secret@h/d", "two slashes"),
        ("sqlite:/x.db", "two slashes"),
        ("postgresql://ann:secret@h:port/d", "cannot be read"),
        ("postgresql://ann:sec@ret@h/d", "%40"),
    ],
)
def test_what_cannot_be_a_database_is_refused_without_the_password(given: str, told: str):
    with pytest.raises(InputError, match=told) as refused:
        url_of_database(given)
    assert refused.value.field == "db"
    assert "\n" not in str(refused.value)
    assert "sec" not in str(refused.value)
    assert "ret@" not in str(refused.value)


def test_a_place_is_named_without_its_secrets():
    url = make_url("postgresql+psycopg://ann:secret@h:5433/d?sslpassword=hidden")
    assert shown_url(url) == "postgresql://ann@h:5433/d"
    message = "\n  cannot log in with secret or hidden\n  second line"
    assert redacted(message, url) == "cannot log in with *** or ***"
    assert redacted("", url) == "no reason given"
