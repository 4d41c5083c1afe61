"use strict";
(() => {
  const root = document.documentElement;
  const search = document.getElementById("search");
  const matches = document.getElementById("matches");
  const fold = document.getElementById("fold");
  const theme = document.getElementById("theme");
  const all = [...document.querySelectorAll("main [data-find]")];
  // What is inside of something that can be found is shown with it.
  const entries = all.filter((part) => !part.parentElement.closest("[data-find]"));
  const texts = entries.map((part) => part.textContent.toLowerCase());
  const folded = [...document.querySelectorAll("main details")];
  document.querySelector(".tools").hidden = false;

  const find = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    entries.forEach((part, place) => {
      const fits = words.every((word) => texts[place].includes(word));
      part.classList.toggle("unmatched", !fits);
      shown += fits;
    });
    matches.textContent = words.length ? `${shown} of ${entries.length} entries` : "";
  };
  search.addEventListener("input", find);
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      search.focus();
    } else if (event.key === "Escape" && typing) {
      search.value = "";
      find();
    }
  });

  const unfold = (open) => folded.forEach((part) => { part.open = open; });
  fold.addEventListener("click", () => {
    const open = fold.getAttribute("aria-pressed") !== "true";
    fold.setAttribute("aria-pressed", String(open));
    unfold(open);
  });

  const isDark = () => root.dataset.theme
    ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const tell = () => theme.setAttribute("aria-pressed", String(isDark()));
  theme.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; tell(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", tell);
  tell();

  let before = [];
  addEventListener("beforeprint", () => { before = folded.map((part) => part.open); unfold(true); });
  addEventListener("afterprint", () => folded.forEach((part, place) => { part.open = before[place]; }));
})();
