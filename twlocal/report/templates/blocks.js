// Rows packed into script elements (twlocal/report/item_blocks.py), unpacked when somebody looks at them.
(() => {
  "use strict";
  // The columns of a row, as twlocal/report/item_blocks.py writes them; the last two are where its texts are.
  const COLUMNS = ["NO", "REPEAT", "SUBJECT", "ID", "HASH", "KEY", "KEY_SHOWN", "ORDER", "LETTER", "LENIENT", "WHY",
    "LENIENT_WHY", "BITS", "FLAGS", "FINISH", "PROMPT_TOKENS", "TOKENS", "REASONING_TOKENS", "EXCERPT", "BLOCK", "AT"];
  const BITS = ["CORRECT", "READ", "LENIENT_CORRECT", "LENIENT_READ", "TRUNCATED", "LOOP", "FLAGGED"];
  const KEPT = 6; // unpacked blocks that are kept for the next item

  const bytes = (text) => {
    if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
    const raw = atob(text);
    const found = new Uint8Array(raw.length);
    for (let at = 0; at < raw.length; at += 1) found[at] = raw.charCodeAt(at);
    return found;
  };
  // Prompts and responses stand behind this script, and are still arriving when it runs: an element is whole once
  // something follows it.
  const arrived = async (name) => {
    for (;;) {
      const loading = document.readyState === "loading";
      const element = document.getElementById(`block-${name}`);
      if (element && (!loading || element.nextSibling)) return element;
      await new Promise((go) => setTimeout(go, 20));
    }
  };
  const unpacked = async (name) => {
    const packed = new Blob([bytes((await arrived(name)).textContent)]);
    return JSON.parse(await new Response(packed.stream().pipeThrough(new DecompressionStream("gzip"))).text());
  };
  const recent = new Map();
  const block = (name) => {
    const found = recent.get(name) ?? unpacked(name);
    recent.delete(name);
    recent.set(name, found); // the one used last is the last one to go
    if (recent.size > KEPT) recent.delete(recent.keys().next().value);
    return found;
  };

  window.twlocalBlocks = Object.freeze({
    block,
    unpacked,
    column: Object.fromEntries(COLUMNS.map((name, at) => [name, at])),
    bit: Object.fromEntries(BITS.map((name, at) => [name, 1 << at])),
  });
})();
