// One item as elements of the page. What a model or a question says gets in as text nodes only.
(() => {
  "use strict";
  const { say } = window.twlocal;
  const data = JSON.parse(document.getElementById("report-data").textContent);
  data.sentences = []; // Chinese and English, by the number that rows name them by
  const { NO, REPEAT, SUBJECT, ID, HASH, KEY, KEY_SHOWN, ORDER, LETTER, LENIENT, WHY, LENIENT_WHY, BITS, FLAGS, FINISH,
    PROMPT_TOKENS, TOKENS, REASONING_TOKENS } = window.twlocalBlocks.column;
  const { CORRECT, READ, LENIENT_CORRECT, TRUNCATED, LOOP, FLAGGED } = window.twlocalBlocks.bit;

  const el = (tag, attributes, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes ?? {})) element.setAttribute(name, value);
    element.append(...children.filter((child) => child !== null && child !== undefined)); // strings become text
    return element;
  };
  const number = (value) => (value === null || value === undefined ? "–" : value.toLocaleString("en"));
  const subject = (row) => data.subjects[row[SUBJECT]] || say("（無）", "(none)");

  const verdict = (row) => {
    if (row[BITS] & CORRECT) return ["good", "✓ " + say("答對", "right")];
    if (row[BITS] & READ) return ["bad", "✗ " + say("答錯", "wrong")];
    return ["warn", say("？ 讀不出", "? unreadable")];
  };
  const states = (row) => {
    const found = [];
    if (row[BITS] & TRUNCATED) found.push(say("截斷", "cut"));
    if (row[BITS] & LOOP) found.push(say("重複", "looping"));
    if (row[BITS] & FLAGGED) found.push(say("註記", "flagged"));
    return found;
  };
  const name = (row) => `#${row[NO]}${row[REPEAT] ? "-" + (row[REPEAT] + 1) : ""}`;

  const fact = (term, ...said) => [el("dt", {}, term), el("dd", {}, ...said)];
  const folding = (title, ...children) => el("details", {}, el("summary", {}, title), ...children);
  const reads = (letter, right) =>
    letter ? letter + (right ? say("（對）", " (right)") : say("（錯）", " (wrong)")) : say("讀不出", "nothing");

  // A text with what a reader read marked; the places are in UTF-16 units, as JavaScript counts.
  const marked = (text, from, spans) => {
    const parts = [];
    let at = from;
    for (const [start, end] of spans.filter(Boolean).sort(([a], [b]) => a - b)) {
      if (start < at || end > text.length) continue;
      parts.push(text.slice(at, start), el("mark", {}, text.slice(start, end)));
      at = end;
    }
    return el("div", { class: "said", dir: "auto" }, ...parts, text.slice(at));
  };

  const sentence = (at) => say(...data.sentences[at]);

  // What is said of a row, one element after the other; `moves` are the buttons above it.
  function* item(row, prompt, answer, moves) {
    const [kind, said] = verdict(row);
    yield el("div", { class: "moves" }, ...moves);
    yield el("h3", {}, [name(row), subject(row), row[ID]].filter(Boolean).join("　"));
    yield el("p", { class: `verdict ${kind}` }, said);
    const own = say("，", ": ");
    yield el("dl", { class: "facts" },
      ...fact(say("計分讀法", "scored as"), reads(row[LETTER], row[BITS] & CORRECT), own, sentence(row[WHY])),
      ...fact(say("寬鬆讀法", "lenient"), reads(row[LENIENT], row[BITS] & LENIENT_CORRECT), own,
        sentence(row[LENIENT_WHY])),
      ...fact(say("正解", "right answer"), row[KEY_SHOWN], say(`（題庫裡的 ${row[KEY]}；選項依 ${row[ORDER]} 的順序顯示）`,
        ` (${row[KEY]} in the dataset; options shown in the order ${row[ORDER]})`)),
      ...fact(say("結束原因", "finish"), row[FINISH], row[BITS] & LOOP ? say("；最後陷入重複", "; ends in a loop") : ""),
      ...fact(say("token", "tokens"), say(`輸入 ${number(row[PROMPT_TOKENS])}，輸出 ${number(row[TOKENS])}`,
        `${number(row[PROMPT_TOKENS])} in, ${number(row[TOKENS])} out`),
        row[REASONING_TOKENS] === null ? "" : say(`，其中推理 ${number(row[REASONING_TOKENS])}`,
          `, ${number(row[REASONING_TOKENS])} of them reasoning`)),
      ...(row[FLAGS] ? fact(say("註記", "flags"), row[FLAGS].split(" ").join(say("、", ", "))) : []),
      ...fact(say("內容雜湊值", "content hash"), el("code", {}, row[HASH])),
    );
    if (data.private) return;
    if (data.opening.length) {
      yield folding(say("題目之前送出的內容", "What was sent before the question"),
        ...data.opening.flatMap((one) => [el("h4", {}, one.role), el("div", { class: "said", dir: "auto" }, one.content)]));
    }
    yield el("h4", {}, say("題目", "Question"));
    yield prompt === null
      ? el("p", {}, say("不公開的測驗，沒有留下題目。", "A private run: the question was not kept."))
      : el("div", { class: "said", dir: "auto" }, prompt);
    const [text, reasoning, thought, strict, lenient, only] = answer;
    const spans = strict ? [strict] : [lenient];
    if (reasoning) {
      const inside = folding(say("推理", "Reasoning"), marked(reasoning, 0, only ? spans : []));
      inside.open = Boolean(only);
      yield inside;
    }
    if (thought > 0 && text.slice(0, thought).trim()) {
      const inside = folding(say("思考", "Thinking"), el("div", { class: "said", dir: "auto" }, text.slice(0, thought)));
      inside.open = thought >= text.length; // there is nothing else
      yield inside;
    }
    yield el("h4", {}, say("作答", "Response"));
    yield text.slice(thought).trim() ? marked(text, thought, only ? [] : spans) : el("p", {}, say("（空白）", "(nothing)"));
  }

  window.twlocalItem = Object.freeze({ data, el, item, name, number, states, subject, verdict });
})();
