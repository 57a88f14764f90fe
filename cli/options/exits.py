"""How commands begin and end: imports, exit statuses, signals, one clear line of what is wrong."""

import gc
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from enum import IntEnum, unique
from queue import SimpleQueue
from typing import Any, NoReturn

import typer

from sampler.common.errors import InputError, InputErrors
from sampler.common.text import printable


@unique
class Exit(IntEnum):
    """Exit statuses that scripts rely on; each number has one name, whichever command ends so."""

    DONE = 0
    TOOL_FAILED = 1
    BAD_INPUT = 2
    # All went well, and the answer is no: nothing better was proven (tune, show, options), or this
    # machine is not fit (doctor).
    ANSWER_IS_NO = 3
    INTERRUPTED = 130


def complain(message: str) -> None:
    """Writes one line to standard error, whatever the message holds."""
    line = printable(" ".join(message.split()))
    sys.stderr.write(f"rocktune: {line}\n")


def leave(message: str, status: Exit = Exit.ANSWER_IS_NO) -> NoReturn:
    """Ends the command with one line on standard error."""
    complain(message)
    raise typer.Exit(status)


@contextmanager
def importing() -> Iterator[None]:
    """For imports that stay for good: looking through them for garbage takes a third of the time.

    What was made within is never looked through later either.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def terminate_like_interrupt() -> None:
    """From now on SIGTERM ends what goes on as Ctrl-C does."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


@contextmanager
def interruptible(message: str) -> Iterator[None]:
    """Within, SIGTERM and Ctrl-C end the command with a line that says what is left."""
    terminate_like_interrupt()
    try:
        yield
    except KeyboardInterrupt:
        leave(message, Exit.INTERRUPTED)


def stop_on_signals(stop: Callable[[], None]) -> None:
    """From now on SIGTERM and SIGINT call ``stop``, each time, outside the main thread.

    A handler interrupts the main thread wherever it is, also where it holds a lock that ``stop``
    needs (that of an ``Event`` it is about to wait for), and would wait for it for ever. So the
    handler only hands over: the queue's ``put`` may interrupt itself.
    """
    told: SimpleQueue[None] = SimpleQueue()

    def await_signals() -> None:
        while True:
            told.get()
            stop()

    threading.Thread(target=await_signals, name="signals", daemon=True).start()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: told.put(None))


_FIELD = re.compile(r"([a-z]\w*)(?=[ .\[]|$)")
_PLACE = re.compile(r"^\[\d+\]")
# A file that is named by itself, or before a field of it.
_FILE = re.compile(r"\S+\.(?:toml|ini|json|csv|jsonl)(?=:|$)")
# A setting that a problem names. What was given is repeated in quotation marks, to the letter.
_NAMED = re.compile(r"""(?<!\w)'[^']*'|"[^"]*"|`([a-z]\w*)`""")


def names_typed(parameters: Iterable[Any]) -> dict[str, str]:
    """How the parameters of a command are typed, by the names of the fields that they stand for.

    ``--start-from`` stands for ``start_from``, an argument for the name that its help shows.
    """
    names: dict[str, str] = {}
    arguments: dict[str, str] = {}
    for each in parameters:
        if each.param_type_name == "argument":
            shown = (each.metavar or each.name.upper()).strip("[]")
            arguments |= {each.name: shown, shown.lower(): shown}
        else:
            names |= {option.lstrip("-").replace("-", "_"): option for option in each.opts}
            names[each.name] = each.opts[-1]
    if file := names.get("baseline") or names.get("options"):
        names["baseline_options"] = file
    return names | arguments


def as_typed(text: str, names: Mapping[str, str]) -> str:
    """A text in which settings stand in backticks, with those of ``names`` as they are typed."""
    return _NAMED.sub(lambda found: names.get(found[1], found[0]) if found[1] else found[0], text)


def spelled(error: InputError, names: Mapping[str, str]) -> InputError:
    """The error with fields as they are typed: ``--limit``, ``--space parameter[1].low``.

    ``names`` are of ``names_typed``; a list's field may be that of an option to be given again.
    Several errors are in the order in which their options were typed, others last.
    """
    if isinstance(error, InputErrors):
        return InputErrors(sorted((spelled(each, names) for each in error.errors), key=_typed_at))
    field, found = error.field, _FIELD.match(error.field)
    if found and not _FILE.match(field):
        typed = names.get(found[1]) or names.get(found[1].removesuffix("s"))
        if typed:
            # An option is given once for each of a list: its place in the list says nothing.
            rest = field[found.end() :]
            rest = _PLACE.sub("", rest) if typed.startswith("-") else rest
            field = typed + (f" {rest[1:]}" if rest.startswith(".") else rest)
    return InputError(field, as_typed(error.problem, names))


def _typed_at(error: InputError) -> int:
    """The place on the command line of the option that an error is about."""
    typed = [word.partition("=")[0] for word in sys.argv]
    option = error.field.partition(" ")[0]
    return typed.index(option) if option in typed else len(typed)
