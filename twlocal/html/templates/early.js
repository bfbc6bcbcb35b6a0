// Before anything is painted: the language and the theme that were chosen last, so that nothing flickers.
(() => {
  "use strict";
  const root = document.documentElement;
  const kept = (name) => {
    try {
      return localStorage.getItem("twlocal-" + name);
    } catch {
      return null; // storage may be refused, as for files in some browsers
    }
  };
  const lang = kept("lang");
  if (lang === "zh-TW" || lang === "en") {
    root.dataset.lang = lang;
    root.lang = lang === "en" ? "en" : "zh-Hant-TW";
  }
  const theme = kept("theme");
  if (theme === "light" || theme === "dark") root.dataset.theme = theme;
})();
