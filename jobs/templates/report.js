"use strict";
// Draws each plot from the data beside it, in the colours of the page, and again when these change.
(() => {
  const root = document.documentElement;
  const PAPER_WIDTH = 690; // pixels across a printed page, A4 or Letter, within its margins
  let plots = [];

  // Only fields that hold colours are looked at: a parameter may be called "@accent".
  const coloured = (value, palette, field = "") => {
    if (typeof value === "string")
      return /color$/.test(field) && value[0] === "@"
        ? palette.getPropertyValue("--" + value.slice(1)).trim() : value;
    if (Array.isArray(value)) return value.map((each) => coloured(each, palette, field));
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [name, coloured(each, palette, name)]));
  };

  const framed = (axis, still) => ({
    automargin: true, gridcolor: "@line", zerolinecolor: "@line", linecolor: "@line",
    ...axis, title: { standoff: 8, font: { size: 12, color: "@dim" }, ...(axis?.title ?? {}) },
    fixedrange: still,
  });

  const layoutOf = (given, width) => {
    const touch = matchMedia("(pointer: coarse)").matches;
    const narrow = (width ?? innerWidth) < 560;
    const legend = given.showlegend === false ? {}
      : { legend: { orientation: "h", x: 0, xanchor: "left", y: 1, yanchor: "bottom",
                    bgcolor: "@clear" } };
    return {
      paper_bgcolor: "@clear", plot_bgcolor: "@clear", hovermode: "closest", dragmode: false,
      font: { family: "system-ui, sans-serif", size: narrow ? 11 : 13, color: "@ink" },
      hoverlabel: { bgcolor: "@paper", bordercolor: "@line", font: { color: "@ink" } },
      margin: { l: 8, r: 14, t: 40, b: 8 }, ...legend, ...given,
      xaxis: framed(given.xaxis, touch), yaxis: framed(given.yaxis, touch),
      ...(width ? { width, height: Math.round(0.85 * given.height), autosize: false }
        : { autosize: true }),
    };
  };

  const draw = (width) => {
    const palette = getComputedStyle(root);
    return Promise.all(plots.map(({ place, figure }) => Plotly.react(
      place, coloured(figure.data, palette), coloured(layoutOf(figure.layout, width), palette),
      { responsive: true, displayModeBar: false })));
  };

  const printed = () => {
    root.classList.add("paper");
    draw(PAPER_WIDTH);
    draw(PAPER_WIDTH); // a legend finds its place only once the margins are those of the paper
  };
  const shown = () => {
    root.classList.remove("paper");
    draw();
  };

  // Every plot of the page as it is now; a page that gets others by and by says so with "plots".
  const gather = () => {
    plots = [...document.querySelectorAll("figure")].map((frame) => ({
      place: frame.querySelector(".plot"),
      figure: JSON.parse(frame.querySelector("script").textContent),
    }));
    return draw().then(() => { root.dataset.drawn = plots.length; });
  };

  addEventListener("DOMContentLoaded", () => {
    gather();
    document.addEventListener("plots", gather);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => draw());
    addEventListener("beforeprint", printed);
    addEventListener("afterprint", shown);
  });
})();
