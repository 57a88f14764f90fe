"use strict";
// Keeps a job's page as the job stands: told by its events, read again from the server.
(() => {
  const PARTS = ["standing", "metrics", "latest", "failures", "environment"];
  const LEAST_SECONDS = 2;
  const AGAIN_SECONDS = 10;
  const page = () => document.getElementById("live");

  const figureOf = (chart) => {
    const frame = document.createElement("figure");
    const [title, plot, data, caption] = ["h3", "div", "script", "figcaption"].map(
      (name) => frame.appendChild(document.createElement(name)));
    frame.id = `chart-${chart.name}`;
    plot.className = "plot";
    plot.setAttribute("role", "img");
    data.type = "application/json";
    return [frame, title, plot, data, caption];
  };

  const showCharts = async () => {
    const place = document.getElementById("charts");
    const answer = await fetch(place.dataset.address);
    if (!answer.ok) return;
    const { charts } = await answer.json();
    for (const chart of charts) {
      let parts = [...(document.getElementById(`chart-${chart.name}`)?.children ?? [])];
      if (!parts.length) {
        const [frame, ...made] = figureOf(chart);
        const wide = chart.name === "convergence" || chart.name === "drift";
        let group = place;
        if (!wide) {
          group = place.querySelector(".pair") ?? place.appendChild(document.createElement("div"));
          group.className = "pair";
        }
        group.appendChild(frame);
        parts = made;
      }
      const [title, plot, data, caption] = parts;
      title.textContent = chart.title;
      plot.setAttribute("aria-label", `${chart.title}. ${chart.caption}`);
      data.textContent = JSON.stringify(chart.figure);
      caption.textContent = chart.caption;
    }
    document.dispatchEvent(new Event("plots"));
  };

  // Only what a reader waits for is said aloud: another phase, another best, the end.
  let said = "";
  const announce = (job) => {
    const best = job.best ? `, best so far trial ${job.best.trial}` : "";
    const now = `${job.state}${job.phase ? `, phase ${job.phase}` : ""}${best}`;
    if (said && now !== said)
      document.getElementById("announced").textContent = `Job ${job.id}: ${now}`;
    said = now;
  };

  let due = null;
  let tookSeconds = 0;
  const refresh = async () => {
    const began = performance.now();
    await rocktune.readAgain(PARTS);
    await showCharts();
    tookSeconds = (performance.now() - began) / 1000;
  };
  const refreshSoon = () => {
    if (due !== null || document.hidden) return;
    // What takes long to read is read less often.
    due = setTimeout(() => {
      refresh().catch(() => {}).finally(() => { due = null; });
    }, 1000 * Math.max(LEAST_SECONDS, 5 * tookSeconds));
  };

  const follow = () => {
    const events = new EventSource(page().dataset.events);
    events.addEventListener("job", (event) => {
      const first = !said; // what the page shows already
      announce(JSON.parse(event.data));
      if (!first) refreshSoon();
    });
    events.addEventListener("trial", refreshSoon);
    // Refused, as where too many pages are open: a browser gives up then.
    events.addEventListener("error", () => {
      if (events.readyState === EventSource.CLOSED) setTimeout(follow, 1000 * AGAIN_SECONDS);
    });
    events.addEventListener("end", (event) => {
      events.close();
      announce(JSON.parse(event.data));
      clearTimeout(due);
      location.reload(); // what can be done with the job, and what came of it, are others now
    });
  };

  addEventListener("DOMContentLoaded", () => {
    showCharts().catch(() => {});
    if (!("live" in page().dataset)) return;
    follow();
    document.addEventListener("visibilitychange", () => { if (!document.hidden) refreshSoon(); });
  });
})();
