// The reader for items: a list that draws what is seen of it, filters, search.
(() => {
  "use strict";
  const { folded, say } = window.twlocal;
  const $ = (id) => document.getElementById(id);
  const { block, unpacked } = window.twlocalBlocks;
  const { data, el, item, name, number, states, subject, verdict } = window.twlocalItem;
  const { NO, REPEAT, SUBJECT, ID, HASH, BITS, TOKENS, EXCERPT, BLOCK, AT } = window.twlocalBlocks.column;
  const { CORRECT, READ, LENIENT_READ, TRUNCATED, LOOP, FLAGGED } = window.twlocalBlocks.bit;
  const KEPT_CHARACTERS = 40_000_000; // of folded text that are kept for the next search
  const OVERSCAN = 6; // rows drawn beyond what is seen

  // -- the list -------------------------------------------------------------------------------------------------

  const list = $("item-list");
  const space = $("item-space");
  const article = $("item");
  const rows = [];
  let shown = []; // indices into `rows`, in the order of the list
  let active = -1; // position in `shown`
  let height = 64;
  let complete = false; // whether every row is there
  let searching = false;
  const drawn = new Map();

  const narrow = matchMedia("(max-width: 54rem)"); // list and item one below the other, as in report.css
  const goTo = (element) => {
    element.focus({ preventScroll: true });
    if (narrow.matches) element.scrollIntoView();
  };
  const option = (position) => {
    const row = rows[shown[position]];
    const [kind, said] = verdict(row);
    const where = [name(row), subject(row), row[ID]].filter(Boolean).join(" ");
    const element = el(
      "div",
      {
        role: "option", id: `option-${shown[position]}`, class: "row",
        "aria-posinset": position + 1, "aria-setsize": shown.length, "aria-selected": String(position === active),
      },
      el("div", { class: "head" },
        el("span", { class: "where" }, where),
        ...states(row).map((state) => el("span", { class: "state" }, state)),
        el("span", { class: `state ${kind}` }, said)),
      el("div", {}, row[EXCERPT] || row[HASH]),
    );
    element.style.top = `${position * height}px`;
    element.addEventListener("click", async () => {
      await choose(position);
      if (narrow.matches) goTo(article);
    });
    return element;
  };

  const draw = () => {
    const first = Math.max(0, Math.floor(list.scrollTop / height) - OVERSCAN);
    const last = Math.min(shown.length, Math.ceil((list.scrollTop + list.clientHeight) / height) + OVERSCAN);
    for (const [position, element] of drawn) {
      if (position < first || position >= last) {
        element.remove();
        drawn.delete(position);
      }
    }
    for (let position = first; position < last; position += 1) {
      if (drawn.has(position)) continue;
      const element = option(position);
      drawn.set(position, element);
      space.append(element);
    }
  };
  const redraw = () => {
    for (const element of drawn.values()) element.remove();
    drawn.clear();
    space.style.height = `${shown.length * height}px`;
    draw();
    if (active >= 0 && drawn.has(active)) list.setAttribute("aria-activedescendant", `option-${shown[active]}`);
    else list.removeAttribute("aria-activedescendant");
    count();
  };
  const count = () => {
    const wrong = shown.length === 0 && complete && !searching;
    const still = searching || !complete ? say("，還在找…", ", still looking…") : "";
    $("item-count").textContent = say(
      `${number(shown.length)} 題，共 ${number(data.count)} 題`, `${number(shown.length)} of ${number(data.count)} items`,
    ) + still;
    list.classList.toggle("empty", wrong);
  };

  let pending = false;
  list.addEventListener("scroll", () => {
    if (pending) return;
    pending = true;
    requestAnimationFrame(() => {
      pending = false;
      draw();
    });
  });

  const choose = (position, scroll = true) => {
    if (!shown.length) return undefined;
    const before = drawn.get(active);
    before?.setAttribute("aria-selected", "false");
    active = Math.max(0, Math.min(shown.length - 1, position));
    if (scroll) {
      const top = active * height;
      if (top < list.scrollTop) list.scrollTop = top;
      else if (top + height > list.scrollTop + list.clientHeight) list.scrollTop = top + height - list.clientHeight;
    }
    draw();
    drawn.get(active)?.setAttribute("aria-selected", "true");
    list.setAttribute("aria-activedescendant", `option-${shown[active]}`);
    return show(shown[active]);
  };

  list.addEventListener("keydown", (event) => {
    const page = Math.max(1, Math.floor(list.clientHeight / height) - 1);
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in moves) choose(active + moves[event.key]);
    else if (event.key === "Enter" || event.key === " ") {
      if (active < 0) choose(0);
      article.focus();
    } else return;
    event.preventDefault();
  });
  article.addEventListener("keydown", (event) => {
    if (event.key === "Escape") list.focus();
  });

  // -- one item -------------------------------------------------------------------------------------------------

  let addressing = 0;
  let told = -1; // the row that is shown, or is about to be
  const show = async (index) => {
    told = index;
    const row = rows[index];
    clearTimeout(addressing);
    addressing = setTimeout(() => {
      try {
        history.replaceState(null, "", `#item-${name(row).slice(1)}`);
      } catch {
        // Where a file may not change its address, the item has no link.
      }
    }, 300); // browsers take it amiss when an address changes with every key that is held down
    const [prompt, answer] = data.private
      ? [null, null]
      : (await Promise.all([block(`q${row[BLOCK]}`), block(`r${row[BLOCK]}`)])).map((found) => found[row[AT]]);
    if (told !== index) return; // another one was chosen meanwhile
    const moves = [move(say("← 上一題", "← previous"), -1), back(), move(say("下一題 →", "next →"), 1)];
    article.replaceChildren(...item(row, prompt, answer, moves));
    article.scrollTop = 0;
  };

  const move = (label, by) => {
    const button = el("button", { type: "button" }, label);
    button.disabled = active + by < 0 || active + by >= shown.length;
    button.addEventListener("click", async () => {
      await choose(active + by);
      goTo(article);
    });
    return button;
  };
  const back = () => {
    const button = el("button", { type: "button", class: "narrow" }, say("回清單", "list"));
    button.addEventListener("click", () => goTo(list));
    return button;
  };
  // -- filters and search ---------------------------------------------------------------------------------------

  const control = (id) => $(`item-${id}`);
  const results = {
    right: (bits) => bits & CORRECT,
    wrong: (bits) => bits & READ && !(bits & CORRECT),
    unread: (bits) => !(bits & READ),
    lenient: (bits) => !(bits & READ) && bits & LENIENT_READ,
  };
  const passes = () => {
    const wanted = control("subject").value;
    const result = results[control("result").value];
    const needed = (control("truncated").checked && TRUNCATED) | (control("loop").checked && LOOP) |
      (control("flagged").checked && FLAGGED);
    return (row) =>
      (wanted === "" || row[SUBJECT] === Number(wanted)) && (!result || result(row[BITS])) && (row[BITS] & needed) === needed;
  };

  const texts = new Map(); // name of a block → its texts, folded
  let kept = 0;
  const searchable = async (name) => {
    if (texts.has(name)) return texts.get(name);
    const found = (await unpacked(name)).map((one) =>
      folded(one === null ? "" : typeof one === "string" ? one : `${one[0]}\n${one[1]}`));
    const size = found.reduce((sum, text) => sum + text.length, 0);
    if (kept + size <= KEPT_CHARACTERS) {
      kept += size;
      texts.set(name, found);
    }
    return found;
  };

  let turn = 0; // of the search that counts; an older one gives up
  const update = async () => {
    const mine = (turn += 1);
    const words = folded(control("search").value).split(/\s+/).filter(Boolean);
    const pass = passes();
    const chosen = active >= 0 ? shown[active] : -1;
    const longest = control("order").value === "long";
    const finish = (found) => {
      if (longest) found.sort((a, b) => (rows[b][TOKENS] ?? -1) - (rows[a][TOKENS] ?? -1) || a - b);
      shown = found;
      active = chosen < 0 ? -1 : shown.indexOf(chosen);
      redraw();
    };
    const candidates = [];
    for (let index = 0; index < rows.length; index += 1) if (pass(rows[index])) candidates.push(index);
    if (!words.length) {
      searching = false;
      return finish(candidates);
    }
    searching = true;
    count();
    list.scrollTop = 0;
    const scope = data.private ? [] : control("scope").value === "r" ? ["q", "r"] : ["q"];
    const found = [];
    for (let from = 0; from < candidates.length; ) {
      const number = rows[candidates[from]][BLOCK];
      const inside = await Promise.all(scope.map((kind) => searchable(kind + number)));
      if (mine !== turn) return undefined;
      for (; from < candidates.length && rows[candidates[from]][BLOCK] === number; from += 1) {
        const row = rows[candidates[from]];
        const text = [folded(`${name(row)} ${row[ID]} ${row[HASH]} ${subject(row)}`), ...inside.map((one) => one[row[AT]])];
        if (words.every((word) => text.some((one) => one.includes(word)))) found.push(candidates[from]);
      }
      if (from < candidates.length) finish([...found]);
    }
    searching = false;
    return finish(found);
  };

  let waiting = 0;
  control("search").addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(update, 150);
  });
  for (const id of ["subject", "result", "order", "truncated", "loop", "flagged", "scope"]) {
    control(id)?.addEventListener("change", () => {
      list.scrollTop = 0;
      update();
    });
  }
  $("item-filters").addEventListener("submit", (event) => {
    event.preventDefault();
    update();
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-subject]");
    if (!link) return;
    control("subject").value = link.dataset.subject;
    list.scrollTop = 0;
    update();
  });

  // -- beginning ------------------------------------------------------------------------------------------------

  document.addEventListener("twlocal:language", () => {
    redraw();
    if (told >= 0) show(told);
  });
  const measure = () => {
    const probe = el("div", { class: "row" });
    space.append(probe);
    height = probe.offsetHeight || height;
    probe.remove();
  };
  const begin = async () => {
    if (!window.DecompressionStream) {
      $("item-count").textContent = say("這個瀏覽器太舊，無法解開題目。", "This browser is too old to unpack the items.");
      return;
    }
    measure();
    data.sentences = await unpacked("sentences");
    for (let number = 0; number < data.blocks; number += 1) {
      const found = await unpacked(`i${number}`);
      found.forEach((row, at) => {
        row.push(number, at);
        rows.push(row);
      });
      if (number === 0) await update();
    }
    complete = true;
    await update();
    const linked = /^#item-(\d+)(?:-(\d+))?$/.exec(location.hash);
    const index = linked
      ? rows.findIndex((row) => row[NO] === Number(linked[1]) && row[REPEAT] === Number(linked[2] ?? 1) - 1) : -1;
    if (index >= 0) {
      choose(shown.indexOf(index));
      $("items").scrollIntoView();
    } else if (shown.length && !narrow.matches) {
      active = 0;
      redraw();
      show(shown[0]);
    }
    document.documentElement.dataset.ready = "items";
  };
  begin();
})();
