"""Coordinates for pgfplots: a file that a LaTeX document takes in by ``input``."""

from __future__ import annotations

from collections.abc import Sequence

from jobs.charts.curves import Curve, Curves

_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "%": r"\%", "_": r"\_", "#": r"\#",
    "&": r"\&", "$": r"\$", "^": r"\^{}", "~": r"\~{}",
}  # fmt: skip


def pgfplots_axis(plot: Curves) -> str:
    """One ``axis`` with an ``addplot`` for each curve, shaded spans first, and its legend.

    It needs the package ``pgfplots`` and stands within a ``tikzpicture``.
    """
    highest = max((y for each in plot.curves for _, y in each.points if y is not None), default=1)
    lines = [
        r"\begin{axis}[",
        f"  title={{{_tex(plot.title)}}},",
        f"  xlabel={{{_tex(plot.x_title)}}},",
        f"  ylabel={{{_tex(plot.y_title)}}},",
        "  xmin=0, ymin=0, ymajorgrids=true, grid style=dashed, unbounded coords=jump,",
        r"  legend style={at={(0.5,-0.2)}, anchor=north, legend columns=2},",
        "]",
    ]
    lines += [
        rf"\draw[draw=none, fill=black!12] (axis cs:{span.begin:.6g},0) "
        rf"rectangle (axis cs:{span.end:.6g},{highest:.6g});"
        for span in plot.shaded
    ]
    for curve in plot.curves:
        style = "[dashed]" if curve.dashed else ""
        lines += [rf"\addplot{style}", f"  coordinates {{ {_coordinates(curve)} }};"]
    legend = ", ".join(_tex(curve.name) for curve in plot.curves)
    return "\n".join([*lines, rf"\legend{{{legend}}}", r"\end{axis}", ""])


def _coordinates(curve: Curve) -> str:
    return " ".join(f"({x:.6g},{'nan' if y is None else f'{y:.6g}'})" for x, y in curve.points)


def pgfplots_file(plots: Sequence[Curves]) -> str:
    """A ``tikzpicture`` for each plot."""
    begin, end = "\\begin{tikzpicture}\n", "\\end{tikzpicture}\n"
    return "\n".join(begin + pgfplots_axis(plot) + end for plot in plots)


def _tex(text: str) -> str:
    return "".join(_SPECIAL.get(letter, letter) for letter in text)
