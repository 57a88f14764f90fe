"""What `rocktune --help` says of commands that it does not import is what they say themselves."""

import pytest

from cli.main import COMMANDS, main


@pytest.mark.parametrize("name", COMMANDS)
def test_the_line_of_a_command_is_the_first_paragraph_of_its_own_help(name: str) -> None:
    own = COMMANDS[name].load(name)
    assert own.name == name
    assert " ".join(own.help.split("\n\n")[0].split()) == COMMANDS[name].help


def test_the_list_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert [name for name in COMMANDS if f" {name} " not in shown] == []


def test_examples_end_the_help_of_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["tune"], ["contributions"], ["parameters"], ["schedule", "add"], ["host"]):
        assert main([*arguments, "--help"]) == 0
        assert f"rocktune {' '.join(arguments)} " in capsys.readouterr().out.split("Example", 1)[1]


def test_a_command_that_is_mistyped_is_guessed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tuen"]) == 2
    assert "Did you mean 'tune'" in capsys.readouterr().err
