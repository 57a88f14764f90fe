"""The methods of several cases at once: each in a thread, one of them working at a time."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait

from studies.methods.methods import methods_of
from studies.methods.page import Opened
from studies.one_thread import one_thread
from studies.real_search.course import Course, open_courses
from studies.real_search.place import Place
from studies.real_search.side_by_side import run_again


def run_together(
    opened: Sequence[Opened], seed: int, methods: Sequence[str], rounds: int, place: Place
) -> None:
    """Measures what is missing of a seed in several cases; the winners at last, each run alone.

    Args:
        opened: The cases.
        seed: Whose.
        methods: Names of methods.
        rounds: In which the winners of each case are measured.
        place: Where all of them work.

    Raises:
        InputError: The baseline does not end well, or the machine cannot run a trial.
    """
    courses: list[Course] = []
    for _, study, book in opened:
        strategies = methods_of(study.seeded(seed), methods)
        courses += open_courses(study, book, strategies, seed).values()
    if courses:
        _run_all(courses, place)
    for _, study, book in opened:
        run_again(study, book, seed, rounds)


def _run_all(courses: Sequence[Course], place: Place) -> None:
    """Each in a thread of its own; when one fails all end."""
    with ThreadPoolExecutor(len(courses)) as threads, place.closing_on_failure():
        begun = [threads.submit(_run, course) for course in courses]
        for future in wait(begun, return_when=FIRST_EXCEPTION).done:
            future.result()


def _run(course: Course) -> None:
    with one_thread():
        while course.step():
            pass
    print(f"{course.name}: {len(course.history)} runs", flush=True)
