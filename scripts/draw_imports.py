"""Draws which package imports which: ``python scripts/draw_imports.py OUT.svg [FOLDER]``.

A design structure matrix (Steward 1981): packages stand in the same order in rows and columns,
each layer after those that it may import, and a dot says that the package of the row imports that
of the column. Where imports run one way, all dots are below the diagonal. Red dots are packages
that import each other, at once or by way of others.
"""

import sys
from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from html import escape
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from count_code import ROOMS, arrows_of, reachable, rooms_of

_CELL, _LEFT, _TOP = 11, 190, 190  # px: a cell, the names of rows, the names of columns
_SHADES = ("#eef3f8", "#ffffff")


def ordered(arrows: Mapping[str, set[str]]) -> list[str]:
    """The packages of each layer, those first that the others of it import.

    Packages that import each other stand by name: for them no order is right.
    """
    found: list[str] = []
    for room in ROOMS:
        names = sorted(name for name in arrows if name.split(".")[0] == room)
        inner = {name: sorted(arrows[name] & set(names)) for name in names}
        try:
            found += TopologicalSorter(inner).static_order()
        except CycleError:
            found += names
    return found


def picture(arrows: Mapping[str, set[str]]) -> str:
    """The matrix as SVG."""
    names = ordered(arrows)
    place = {name: number for number, name in enumerate(names)}
    side = _CELL * len(names)
    parts = [*_layers(names)]
    for name, number in place.items():
        middle = (number + 0.5) * _CELL
        label = escape(name.replace(".", "/"))
        parts.append(
            f'<text x="{_LEFT - 4}" y="{_TOP + middle + 3:g}" text-anchor="end">{label}</text>'
            f'<text transform="translate({_LEFT + middle + 3:g} {_TOP - 4}) rotate(-90)">{label}'
            f'</text><rect x="{_LEFT + number * _CELL}" y="{_TOP + number * _CELL}" '
            f'width="{_CELL}" height="{_CELL}" fill="#c5ced8"/>'
        )
        for other in sorted(arrows[name], key=place.__getitem__):
            back = name in reachable(dict(arrows), other)
            parts.append(
                f'<circle cx="{_LEFT + (place[other] + 0.5) * _CELL:g}" cy="{_TOP + middle:g}" '
                f'r="3.4" fill="{"#d0021b" if back else "#2b5c8a"}"/>'
            )
    drawn = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_LEFT + side + 4} '
        f'{_TOP + side + 4}" font-family="sans-serif" font-size="9">\n'
        f'<rect width="100%" height="100%" fill="#fff"/>\n{drawn}\n</svg>\n'
    )


def _layers(names: Sequence[str]) -> list[str]:
    """A square behind the packages of each layer."""
    found = []
    for shade, room in enumerate(dict.fromkeys(name.split(".")[0] for name in names)):
        rows = [n for n, name in enumerate(names) if name.split(".")[0] == room]
        at, size = rows[0] * _CELL, len(rows) * _CELL
        found.append(
            f'<rect x="{_LEFT}" y="{_TOP + at}" width="{at + size}" height="{size}" '
            f'fill="{_SHADES[shade % 2]}" stroke="#9fb0c0"/>'
        )
    return found


if __name__ == "__main__":
    out, root = Path(sys.argv[1]), Path(sys.argv[2] if len(sys.argv) > 2 else ".")
    out.write_text(picture(arrows_of(rooms_of(root))), encoding="utf-8")
