"""The table of levels: how many files each holds, and how many bytes (the guide's Figure 5)."""

from __future__ import annotations

from dataclasses import dataclass

MULTIPLIER = 8  # files in level 1, and how many times larger each level is than the one above


@dataclass(frozen=True)
class Level:
    """A full level: its number, its files and their bytes."""

    number: int
    files: int
    size: int


def levels_for(files: int, file_size: int) -> tuple[Level, ...]:
    """Level 1 and those below it, down to the first with which all files have room.

    Args:
        files: Files of keys that the database needs, at least 1.
        file_size: Bytes of one.
    """
    levels: list[Level] = []
    room = 0
    while room < files:
        number = len(levels) + 1
        levels.append(Level(number, MULTIPLIER**number, MULTIPLIER**number * file_size))
        room += levels[-1].files
    return tuple(levels)


def whole(levels: tuple[Level, ...]) -> tuple[int, int]:
    """Files and bytes of all levels together, when they are full."""
    return sum(level.files for level in levels), sum(level.size for level in levels)
