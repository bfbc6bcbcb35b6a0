// The keyboard of the review, and where its pictures are scrolled to. Everything works without it, by mouse and Tab.
(() => {
  "use strict";
  const { all } = window.twlocal;

  const boxes = (bare) => document.documentElement.classList.toggle("bare", bare);

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const typing = event.target.matches("input, select, textarea");
    if (typing) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (event.key === "r") return void boxes();
    const field = all("[data-focus]").find((element) => element.dataset.focus === event.key);
    const target = field ?? all("[data-key]").find((element) => element.dataset.key === event.key);
    if (!target) return;
    event.preventDefault(); // or the letter would be typed into the field
    if (field) field.focus();
    else target.click();
  });

  // One decision a page: a second press of a key is no second decision.
  for (const form of all("form[method=post]")) {
    form.addEventListener("submit", (event) => {
      if (form.dataset.sent) event.preventDefault();
      form.dataset.sent = "yes";
    });
  }
  window.addEventListener("pageshow", () => all("form[data-sent]").forEach((form) => delete form.dataset.sent));

  // Each page stands where the item is on it.
  const show = (frame) => {
    const svg = frame.querySelector("svg");
    const tops = all("rect", svg).map((rect) => rect.y.baseVal.value);
    if (!tops.length) return;
    const scale = svg.getBoundingClientRect().height / svg.viewBox.baseVal.height;
    frame.scrollTop = Math.max(0, Math.min(...tops) * scale - 60);
  };
  for (const frame of all(".frame")) show(frame);
})();
