// What every page can do: languages, theme, sortable tables, filters. Other scripts of a page find `twlocal` below.
(() => {
  "use strict";
  const root = document.documentElement;
  const LANGUAGES = ["zh-TW", "en"];
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  const keep = (name, value) => {
    try {
      localStorage.setItem("twlocal-" + name, value);
    } catch {
      // Storage may be refused, as for files in some browsers: the choice then holds for this visit.
    }
  };

  // -- languages ------------------------------------------------------------------------------------------------
  // <span class="t" lang> is left to the style. What can hold text only has both languages in data- attributes:
  // data-zh and data-en for what is inside, data-zh-NAME and data-en-NAME for the attribute NAME.

  const lang = () => root.dataset.lang;
  const say = (zh, en) => (lang() === "en" ? en : zh);

  const translate = (within = document) => {
    const own = say("zh", "en");
    for (const element of all("[data-zh][data-en]", within)) element.textContent = element.dataset[own];
    for (const name of ["aria-label", "placeholder", "title", "alt"]) {
      for (const element of all(`[data-zh-${name}]`, within)) {
        element.setAttribute(name, element.getAttribute(`data-${own}-${name}`));
      }
    }
  };

  const setLanguage = (chosen) => {
    root.dataset.lang = chosen;
    root.lang = chosen === "en" ? "en" : "zh-Hant-TW";
    translate();
    for (const button of all("[data-set-lang]")) {
      button.setAttribute("aria-pressed", String(button.dataset.setLang === chosen));
    }
    document.dispatchEvent(new CustomEvent("twlocal:language", { detail: chosen }));
  };

  for (const button of all("[data-set-lang]")) {
    button.addEventListener("click", () => {
      keep("lang", button.dataset.setLang);
      setLanguage(button.dataset.setLang);
    });
  }

  // -- theme ----------------------------------------------------------------------------------------------------

  for (const select of all("select[data-set-theme]")) {
    select.value = root.dataset.theme || "auto";
    select.addEventListener("change", () => {
      if (select.value === "auto") delete root.dataset.theme;
      else root.dataset.theme = select.value;
      keep("theme", select.value);
    });
  }
  for (const switches of all(".switches")) switches.hidden = false;

  // -- sortable tables ------------------------------------------------------------------------------------------
  // <table class="sortable">, and <th data-sort="text"> or <th data-sort="number"> for columns that sort; a cell's
  // data-value goes before its text. A cell without a value comes last in both directions. A column that the rows
  // are sorted by from the start has its aria-sort.

  const collator = new Intl.Collator("zh-Hant-TW", { numeric: true });

  const valueOf = (row, column, numeric) => {
    const cell = row.cells[column];
    const text = cell.dataset.value ?? cell.textContent.trim();
    if (!numeric) return text === "" ? null : text;
    const number = text === "" ? NaN : Number(text.replace(/[,%\s]/g, ""));
    return Number.isNaN(number) ? null : number;
  };

  const sortBy = (table, heading) => {
    const numeric = heading.dataset.sort === "number";
    const was = heading.getAttribute("aria-sort");
    const down = was ? was === "ascending" : numeric; // the best first, names from the beginning
    const body = table.tBodies[0];
    const column = heading.cellIndex;
    const rows = [...body.rows].map((row) => [valueOf(row, column, numeric), row]);
    rows.sort(([a], [b]) => {
      if (a === null || b === null) return (a === null) - (b === null);
      const order = numeric ? a - b : collator.compare(a, b);
      return down ? -order : order;
    });
    body.append(...rows.map(([, row]) => row));
    for (const other of all("th[aria-sort]", table)) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    table.dispatchEvent(new CustomEvent("twlocal:sorted", { bubbles: true }));
  };

  const sortable = (table) => {
    for (const heading of all("th[data-sort]", table)) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.append(...heading.childNodes);
      heading.append(button);
      button.addEventListener("click", () => sortBy(table, heading));
    }
  };
  for (const table of all("table.sortable")) sortable(table);

  // -- filters --------------------------------------------------------------------------------------------------
  // Any input or select with data-filter="#table" filters that table's rows: by their whole text, or, with
  // data-field="family", by data-family on the row (several values are separated by blanks; "" lets all through).
  // [data-filter-count="#table"] is told how many rows are left.

  // Full width and half width are the same, and so are the two ways to write Taiwan.
  const folded = (text) => text.normalize("NFKC").toLowerCase().replaceAll("臺", "台");

  const filter = (selector) => {
    const table = document.querySelector(selector);
    const controls = all(`[data-filter="${selector}"]`).filter(
      (control) => (control.type === "checkbox" ? control.checked : control.value !== ""),
    );
    let left = 0;
    for (const row of table.tBodies[0].rows) {
      const shown = controls.every((control) => {
        const field = control.dataset.field;
        if (field) return (row.getAttribute(`data-${field}`) ?? "").split(" ").includes(control.value);
        const text = folded(row.textContent);
        return folded(control.value).split(/\s+/).every((word) => text.includes(word));
      });
      row.hidden = !shown;
      left += shown;
    }
    for (const count of all(`[data-filter-count="${selector}"]`)) count.textContent = left.toLocaleString("en");
  };
  for (const control of all("[data-filter]")) {
    control.addEventListener("input", () => filter(control.dataset.filter));
  }
  for (const selector of new Set(all("[data-filter]").map((control) => control.dataset.filter))) filter(selector);

  window.twlocal = Object.freeze({ all, folded, keep, lang, say, sortable, translate, LANGUAGES });
  setLanguage(lang());
})();
