// Proposals as they come, and what became of them. Rows keep their places; only what changed is drawn again.

import { byId, h } from "./dom.js";
import { author, many, moment, named, plural, time, took } from "./words.js";

const MOST = 120;
const WORDS = { waiting: "waiting", committed: "accepted", rejected: "rejected", duplicate: "duplicate", unknown: "not known" };
const KINDS = { waiting: "warn", committed: "ok", rejected: "bad", duplicate: "dup", unknown: "" };

export class Flow {
  constructor() {
    this.rows = new Map();
    this.paused = false;
    this.body = byId("flow").tBodies[0];
    byId("flow").tHead.append(
      h("tr", {}, ...["Time", "Table", "What", "By", "Outcome", "Took"].map((word, place) => h("th", { scope: "col", class: place === 5 && "number" }, word))),
    );
    this.which = byId("flow-which");
    this.which.addEventListener("change", () => this.again());
    this.button = byId("flow-pause");
    this.button.addEventListener("click", () => {
      this.paused = !this.paused;
      this.button.setAttribute("aria-pressed", String(this.paused));
      this.button.textContent = this.paused ? "Go on" : "Pause";
      if (!this.paused) this.again();
    });
  }

  again() {
    this.rows.clear();
    this.body.replaceChildren();
    this.show(this.model, true);
  }

  show(model, anew = false) {
    this.model = model;
    byId("flow-none").hidden = model.flow.size > 0;
    byId("flow").hidden = model.flow.size === 0;
    if (this.paused && !anew) return;
    const wanted = model.newest("flow").filter((entry) => this.wants(entry)).slice(0, MOST);
    const kept = new Set(wanted.map((entry) => entry.n));
    for (const [number, row] of this.rows) {
      if (!kept.has(number)) {
        row.element.remove();
        this.rows.delete(number);
      }
    }
    let next = this.body.firstElementChild;
    for (const entry of wanted) {
      const known = this.rows.get(entry.n);
      if (known?.entry === entry) {
        next = known.element.nextElementSibling;
        continue;
      }
      const element = drawn(entry);
      if (known) {
        known.element.replaceWith(element);
        next = element.nextElementSibling;
      } else {
        if (!anew && this.rows.size) element.classList.add("fresh");
        this.body.insertBefore(element, next);
      }
      this.rows.set(entry.n, { entry, element });
    }
    byId("flow-count").textContent = this.which.value === "all" ? "" : plural(wanted.length, "of the last", "of the last") + ` ${many(model.flow.size)}`;
  }

  wants(entry) {
    if (this.which.value === "waiting") return entry.outcome === "waiting";
    return this.which.value === "all" || entry.outcome === "rejected" || entry.outcome === "duplicate";
  }
}

function drawn(entry) {
  const things = entry.role === "compact" ? ["manifest", "manifests"] : ["file", "files"];
  const files = entry.files === null ? "" : `, ${plural(entry.files, ...things)}`;
  const what = entry.operation ? entry.operation.replace("_", " ") + files : files.slice(2) || "–";
  const version = entry.version === null ? null : h("span", { class: "version" }, `v${entry.version}`);
  const why = entry.code ? h("code", { class: "code", title: entry.reason }, entry.code) : null;
  const reason = entry.outcome === "rejected" && entry.reason ? h("span", { class: "reason" }, entry.reason) : null;
  return h(
    "tr",
    {},
    h("td", { class: "time", title: moment(entry.time) }, time(entry.time)),
    h("td", { class: "of", title: entry.table }, entry.table ? named(entry.table)[0] : "–"),
    h("td", { class: "what", title: entry.id }, what),
    h("td", { class: "by", title: entry.author }, author(entry.author) || "–"),
    h("td", { class: "outcome" }, h("span", { class: `badge ${KINDS[entry.outcome]}` }, WORDS[entry.outcome]), version, why, reason),
    h("td", { class: "number took" }, took(entry.latency)),
  );
}
