"use strict";
// Times in the reader's zone; and what asks for it is read again, as it stands on the server.
(() => {
  // The path below which a proxy serves all of it; empty without one.
  const root = new URL(document.currentScript.src).pathname.split("/static/")[0];
  const format = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
  const tellTimes = (within) => {
    for (const each of within.querySelectorAll("time[datetime]")) {
      const at = new Date(each.getAttribute("datetime"));
      if (!Number.isNaN(at.getTime())) {
        each.title = each.textContent;
        each.textContent = format.format(at);
      }
    }
  };

  // Takes over those parts of the page, by id, that another reading of it has otherwise.
  const known = new Map();
  const takeOver = (page, ids) => {
    for (const id of ids) {
      const [now, then] = [page.getElementById(id), document.getElementById(id)];
      if (!now || !then || known.get(id) === now.innerHTML) continue;
      if (then.querySelector(":active")) continue; // a button that is being pressed stays
      known.set(id, now.innerHTML);
      const focused = then.contains(document.activeElement) ? document.activeElement : null;
      const name = ["href", "aria-label", "aria-labelledby"]
        .find((each) => focused?.hasAttribute(each));
      const value = name && CSS.escape(focused.getAttribute(name));
      const across = [...then.querySelectorAll(".scroll")].map((each) => each.scrollLeft);
      then.innerHTML = now.innerHTML;
      tellTimes(then);
      then.querySelectorAll(".scroll").forEach((each, index) => {
        each.scrollLeft = across[index] ?? 0;
      });
      if (name) then.querySelector(`[${name}="${value}"]`)?.focus();
    }
  };
  const readAgain = async (ids) => {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (answer.redirected && new URL(answer.url).pathname === `${root}/login`) return location.reload();
    if (!answer.ok) return;
    takeOver(new DOMParser().parseFromString(await answer.text(), "text/html"), ids);
  };
  window.rocktune = { readAgain, root, tellTimes };

  addEventListener("DOMContentLoaded", () => {
    tellTimes(document);
    // A token that came in the address goes from it and from the history.
    if (document.querySelector("[data-clean]"))
      history.replaceState(null, "", location.pathname);
    // A file that is chosen fills in the field that it is for; nothing is sent by that.
    for (const file of document.querySelectorAll("[data-into]")) {
      file.parentElement.hidden = false;
      file.addEventListener("change", async () => {
        if (!file.files.length) return;
        document.getElementById(file.dataset.into).value = await file.files[0].text();
      });
    }
    for (const part of document.querySelectorAll("[data-again]")) {
      const seconds = Number(part.dataset.again);
      setInterval(() => {
        if (!document.hidden) readAgain([part.id]).catch(() => {});
      }, 1000 * seconds);
    }
  });
})();
