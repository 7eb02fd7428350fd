// Sorting, filtering and the choice of theme. Without it every page still says all that it has to say.
"use strict";

(() => {
  const root = document.documentElement;
  const read = () => { try { return localStorage.getItem("theme"); } catch { return null; } };
  const keep = (theme) => { try { localStorage.setItem("theme", theme); } catch { /* no storage: for this page only */ } };
  const stored = read();
  if (stored === "dark" || stored === "light") root.dataset.theme = stored;

  const dark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;

  function theme() {
    const button = document.querySelector("button.theme");
    if (!button) return;
    const say = () => { button.textContent = dark() ? "Light" : "Dark"; button.setAttribute("aria-label", `Use the ${dark() ? "light" : "dark"} theme`); };
    button.hidden = false;
    button.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; keep(root.dataset.theme); say(); });
    say();
  }

  const value = (row, column) => {
    const cell = row.cells[column];
    const given = cell.dataset.v ?? cell.textContent.trim();
    const number = Number(given);
    return given === "" ? null : Number.isNaN(number) ? given.toLowerCase() : number;
  };

  // What has no value comes last, whichever way it is sorted.
  const compare = (a, b, turn) => {
    if (a === null || b === null) return (a === null) - (b === null);
    if (typeof a === typeof b) return turn * (a < b ? -1 : a > b ? 1 : 0);
    return typeof a === "number" ? -1 : 1;
  };

  function sortable(table) {
    const heads = [...table.tHead.rows[table.tHead.rows.length - 1].cells];
    heads.forEach((head, column) => {
      if (head.hasAttribute("data-fixed")) return;
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const first = head.classList.contains("n") ? "descending" : "ascending";
        const other = first === "descending" ? "ascending" : "descending";
        const way = head.getAttribute("aria-sort") === first ? other : first;
        heads.forEach((one) => one.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", way);
        const body = table.tBodies[0];
        const rows = [...body.rows].map((row, place) => ({ row, place, key: value(row, column) }));
        rows.sort((a, b) => compare(a.key, b.key, way === "ascending" ? 1 : -1) || a.place - b.place);
        body.append(...rows.map((one) => one.row));
      });
    });
  }

  // Controls of a form with data-filters="ID" hide rows of that table, or entries of that list.
  function filters(form) {
    const target = document.getElementById(form.dataset.filters);
    const rows = target.tBodies ? [...target.tBodies[0].rows] : [...target.children];
    const texts = rows.map((row) => row.textContent.toLowerCase());
    const count = form.querySelector(".count");
    const apply = () => {
      const words = (form.querySelector("input[type=search]")?.value ?? "").toLowerCase().split(/\s+/).filter(Boolean);
      const chosen = [...form.querySelectorAll("select")].filter((one) => one.value);
      const boxes = [...form.querySelectorAll("input[type=checkbox]")].filter((one) => !one.checked);
      let shown = 0;
      rows.forEach((row, place) => {
        const here = words.every((word) => texts[place].includes(word))
          && chosen.every((one) => ` ${row.dataset[one.name] ?? ""} `.includes(` ${one.value} `))
          && boxes.every((one) => row.dataset[one.name] === undefined);
        row.hidden = !here;
        shown += here;
      });
      if (count) count.textContent = shown === rows.length ? `${rows.length}` : `${shown} of ${rows.length}`;
    };
    form.hidden = false;
    form.addEventListener("input", apply);
    form.addEventListener("submit", (event) => event.preventDefault());
    apply();
  }

  document.addEventListener("DOMContentLoaded", () => {
    theme();
    document.querySelectorAll("table[data-sort]").forEach(sortable);
    document.querySelectorAll("form[data-filters]").forEach(filters);
  });
  addEventListener("beforeprint", () => document.querySelectorAll("details.entry").forEach((one) => { one.open = true; }));
})();
