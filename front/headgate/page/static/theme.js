// The theme that was chosen, before anything is painted. "auto" is the system's.
"use strict";
(() => {
  const KEY = "headgate-theme";
  const THEMES = ["auto", "light", "dark"];
  let memory = "auto";
  const kept = () => {
    try {
      memory = localStorage.getItem(KEY) ?? memory;
    } catch {
      // Storage may be forbidden; then a choice lasts as long as the page.
    }
    return THEMES.includes(memory) ? memory : "auto";
  };
  const choose = (theme) => {
    memory = theme;
    try {
      localStorage.setItem(KEY, theme);
    } catch {
      // As above.
    }
    document.documentElement.dataset.theme = theme;
  };
  document.documentElement.dataset.theme = kept();
  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    if (!button) return;
    const show = () => {
      button.textContent = { auto: "Theme: auto", light: "Theme: light", dark: "Theme: dark" }[kept()];
    };
    button.addEventListener("click", () => {
      choose(THEMES[(THEMES.indexOf(kept()) + 1) % THEMES.length]);
      show();
    });
    show();
  });
})();
