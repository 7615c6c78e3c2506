// Puts the page together: what comes from the server goes into the model, and what changed is drawn once a frame.

import { byId, h, settle } from "./dom.js";
import { Flow } from "./flow.js";
import { Link } from "./link.js";
import { showLetters, showTasks } from "./lists.js";
import { Model } from "./model.js";
import { Plots } from "./plots.js";
import { Tables } from "./tables.js";
import { Travel } from "./travel.js";
import { plural, time } from "./words.js";

const model = new Model();
const plots = new Plots(byId("plots"));
const tables = new Tables((table) => {
  if (table === travel.table) leave();
  else location.hash = `table=${encodeURIComponent(table)}`;
});
const flow = new Flow();
const travel = new Travel(leave);
tables.listen();

let state = "connecting";
let drawing = false;

new Link({
  onPicture: (picture) => {
    model.take(picture);
    draw();
  },
  onChange: (change) => {
    model.fold(change);
    draw();
  },
  onState: (now) => {
    if (now === state) return;
    state = now;
    draw();
  },
});
setInterval(draw, 1000);
addEventListener("hashchange", () => follow(true));
follow(false);

function draw() {
  if (drawing) return;
  drawing = true;
  // Not a frame: a page in the background goes on.
  setTimeout(() => {
    drawing = false;
    showLink();
    showNotices();
    if (!model.told) return;
    plots.show(model);
    tables.show(model, travel.table);
    flow.show(model);
    showTasks(model);
    showLetters(model);
    if (travel.table) travel.changed(model.tables.get(travel.table)?.version ?? null);
  }, 0);
}

function showLink() {
  const words = { connecting: "Connecting", live: "Live", lost: `Reconnecting${model.told ? `; values as of ${time(model.told)}` : ""}` };
  const link = byId("link");
  if (link.dataset.state !== state || state === "connecting") {
    link.dataset.state = state;
    byId("link-text").textContent = words[state];
  }
  document.body.classList.toggle("old", state === "lost");
  byId("bus").textContent = model.sources.bus?.address ?? "";
}

function showNotices() {
  const notices = [];
  const bus = model.sources.bus;
  if (bus?.trouble) {
    notices.push(["The bus doesn't answer", ` since ${time(bus.since)}; what is shown of it is old. ${bus.trouble}`]);
  }
  const unread = [...model.tables.values()].filter((row) => row.trouble);
  if (unread.length) {
    notices.push([`${plural(unread.length, "table", "tables")} can't be read`, `; what is shown of ${unread.length === 1 ? "it" : "them"} is old. ${unread[0].trouble}`]);
  }
  const refused = [...model.tables.values()].filter((row) => row.refused);
  if (refused.length) {
    notices.push([`${plural(refused.length, "table is", "tables are")} refused`, ` by the committer until somebody has looked. ${refused[0].refused}`]);
  }
  settle(byId("notices"), notices.map(([what, why]) => h("p", { class: "notice" }, h("b", {}, what), why)));
}

// The address of the page says which table is open, so that it can be shared, and the browser's "back" works.
function follow(focus) {
  const asked = new URLSearchParams(location.hash.slice(1));
  const table = asked.get("table");
  if (!table) travel.close();
  else travel.open(table, asked.has("version") ? Number(asked.get("version")) : null);
  if (table && focus) travel.focus();
  draw();
}

function leave() {
  const table = travel.table;
  history.pushState(null, "", location.pathname);
  travel.close();
  draw();
  setTimeout(() => document.querySelector(`button[data-table="${CSS.escape(table)}"]`)?.focus(), 0);
}
