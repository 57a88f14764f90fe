"""What `rocktune --help` says of commands that it does not import is what they say themselves."""

from pathlib import Path

import pytest
import typer
from typer.main import get_command

from cli.main import COMMANDS, LazyCommand, main


@pytest.mark.parametrize("name", COMMANDS)
def test_the_line_of_a_command_is_the_first_paragraph_of_its_own_help(name: str) -> None:
    own = COMMANDS[name].load(name)
    assert own.name == name
    assert " ".join(own.help.split("\n\n")[0].split()) == COMMANDS[name].help


def test_the_list_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert [name for name in COMMANDS if f" {name} " not in shown] == []
    groups = list(dict.fromkeys(each.group for each in COMMANDS.values()))
    assert groups[0] == "Tune and measure"
    assert [shown.index(f"─ {group} ─") for group in groups] == sorted(
        shown.index(f"─ {group} ─") for group in groups
    )


def test_examples_end_the_help_of_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    for name in (
        "tune", "bench", "space", "workloads", "contributions", "parameters", "host", "submit",
        "jobs", "show", "options", "cancel", "resume", "schedule add",
    ):  # fmt: skip
        assert main([*name.split(), "--help"]) == 0
        usage, _, examples = capsys.readouterr().out.partition("Example")
        assert f"Usage: rocktune {name} " in usage
        assert f"rocktune {name}" in examples


def test_an_interrupted_command_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    alone = typer.Typer(add_completion=False)
    alone.command("jobs")(interrupted)
    monkeypatch.setattr(LazyCommand, "load", lambda *_: get_command(alone))
    assert main(["jobs"]) == 130
    assert capsys.readouterr().err == "rocktune: interrupted\n"


def test_a_command_that_is_mistyped_is_guessed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tuen"]) == 2
    assert "Did you mean 'tune'" in capsys.readouterr().err


def test_alone_it_says_what_to_do_next_in_this_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([]) == 0
    assert "Nothing is tuned in this folder yet" in capsys.readouterr().out
    (tmp_path / "rocktune-out").mkdir()
    result = tmp_path / "rocktune-out" / "result.json"
    result.write_text('{"verdict": {"trade": "Better: WAF -43%"}}')
    assert main([]) == 0
    shown = capsys.readouterr().out
    assert "Better: WAF -43%" in shown and "OPTIONS.ini" not in shown
    (tmp_path / "rocktune-out" / "OPTIONS.ini").touch()
    assert main([]) == 0
    assert "rocktune-out/OPTIONS.ini" in capsys.readouterr().out
    result.write_text('{"verdict": null}')
    assert main([]) == 0
    assert "nothing was proven better" in capsys.readouterr().out
    for other in ("half a do", "[]", '{"verdict": ["that of a comparison"]}'):
        result.write_text(other)
        assert main([]) == 0
        assert "Nothing is tuned" in capsys.readouterr().out


def test_a_shell_completes_commands_and_options(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("_ROCKTUNE_COMPLETE", "complete_bash")
    for words, found in (("rocktune upgr", "upgrade-check"), ("rocktune tune --tri", "--trials")):
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
        main([])
        assert found in capsys.readouterr().out.split()
