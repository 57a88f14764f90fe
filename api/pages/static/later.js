"use strict";
// Fetches what takes longer to make than the rest of its page, and puts it in its place.
(() => {
  const fill = async (place) => {
    place.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(place.dataset.later, { headers: { Accept: "text/html" } });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const found = page.getElementById(place.id);
      if (!answer.ok || !found) throw new Error(`${answer.status}`);
      place.replaceChildren(...found.childNodes);
      rocktune.tellTimes(place);
      document.dispatchEvent(new Event("plots"));
    } catch {
      const told = document.createElement("p");
      told.className = "warn";
      told.textContent = "This part could not be loaded; load the page again.";
      place.replaceChildren(told);
    }
    place.removeAttribute("aria-busy");
  };
  addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll("[data-later]").forEach(fill);
  });
})();
