"use strict";
// Picks anew whenever a slider moves. Without it the form's button does the same.
(() => {
  const DELAY = 200; // ms: while a slider is dragged nobody reads the answers in between
  const signed = (value, digits) => `${value < 0 ? "" : "+"}${value.toFixed(digits)}`;
  const percent = (value) => (value === null || value === undefined ? "-" : `${signed(value, 1)}%`);
  const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'"'"'`)}'`);

  const rowOf = (pick, metrics, job) => {
    const row = document.createElement("tr");
    const cell = (name, text) => {
      const made = row.appendChild(document.createElement(name));
      made.textContent = text;
      made.className = "n";
      return made;
    };
    const head = cell("th", "");
    head.scope = "row";
    const link = head.appendChild(document.createElement("a"));
    link.href = `${rocktune.root}/jobs/${job}/trials?trial=${pick.trial}#trial-${pick.trial}`;
    link.textContent = pick.trial;
    cell("td", pick.runs);
    cell("td", signed(pick.fitness, 0));
    for (const metric of metrics) cell("td", percent(pick.change[metric]));
    cell("td", pick.proven_by_job ? "yes" : "no").className = "";
    return row;
  };

  const set = (form) => {
    const status = document.getElementById("picked-status");
    const table = document.getElementById("picked");
    const { job } = form.dataset;
    const ranges = [...form.querySelectorAll("input[type=range]")];
    const metrics = [...table.querySelectorAll("th[data-metric]")].map((head) => head.dataset.metric);
    const limits = () => form.elements.limit.value.split(/[;\n]/).map((each) => each.trim()).filter(Boolean);
    // No more than two digits: what a hand sets is not finer.
    const weight = (range) => Number(Number(range.value).toFixed(2));
    const weights = () => ranges.filter((range) => weight(range) > 0)
      .map((range) => `${range.dataset.metric}=${weight(range)}`).join(",");

    const tell = (text, problem) => {
      status.textContent = text;
      status.className = problem ? "warn" : "";
      table.hidden = problem;
    };
    const show = (answer) => {
      const { picks, judged, keeping } = answer;
      table.querySelector("tbody").replaceChildren(...picks.map((pick) => rowOf(pick, metrics, job)));
      if (!picks.length) return tell(`None of ${judged} configurations keeps every limit.`, true);
      return tell(`Trial ${picks[0].trial} is the best of ${keeping} configurations that keep every limit, out of ${judged}.`, false);
    };

    let asking = null;
    const ask = async () => {
      asking?.abort();
      asking = new AbortController();
      if (!weights()) return tell("Every weight is 0: move at least one slider.", true);
      const query = new URLSearchParams({ weights: weights() });
      for (const limit of limits()) query.append("limit", limit);
      const command = ["rocktune", "pick", job, "--weights", weights(), ...limits().flatMap((each) => ["--limit", each])];
      try {
        const answer = await fetch(`${rocktune.root}/v1/jobs/${job}/pick?${query}`, { signal: asking.signal });
        const found = await answer.json();
        // With what it picks, never before it.
        document.getElementById("picked-command").textContent = command.map(quoted).join(" ");
        return answer.ok ? show(found) : tell(found.detail, true);
      } catch (error) {
        return error.name === "AbortError" ? null : tell("The server does not answer.", true);
      }
    };

    let due = null;
    form.addEventListener("input", (event) => {
      const { target } = event;
      if (target.type === "range") target.parentElement.querySelector(".weight").textContent = weight(target);
      clearTimeout(due);
      due = setTimeout(ask, DELAY);
    });
    form.addEventListener("submit", (event) => {
      if (event.submitter?.hasAttribute("formaction")) return; // a file to keep
      event.preventDefault();
      ask();
    });
  };

  addEventListener("DOMContentLoaded", () => {
    const form = document.getElementById("preference");
    if (form) set(form);
  });
})();
