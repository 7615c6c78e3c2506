// A table's history, and its files and partitions at the version that the slider stands at.

import { byId, h, s, settle } from "./dom.js";
import { bytes, many, moment, named, NONE, plural } from "./words.js";

const SETTLE_MS = 120;
const AGAIN_MS = 3_000;
const BARS = { width: 600, height: 40 };

export class Travel {
  constructor(onClose) {
    this.section = byId("travel");
    this.onClose = onClose;
    this.table = "";
  }

  // Opens a table, at a version or at the newest, which is then followed.
  open(table, version = null) {
    if (table !== this.table) {
      this.table = table;
      this.versions = [];
      this.view = null;
      this.partition = null;
      this.offset = 0;
      this.build();
    }
    this.follows = version === null;
    this.wanted = version;
    this.section.hidden = false;
    this.load();
  }

  close() {
    this.table = "";
    this.section.hidden = true;
    this.section.replaceChildren();
    clearTimeout(this.timer);
    clearTimeout(this.resting);
    this.timer = null;
    this.reading?.abort();
  }

  build() {
    const [name, place] = named(this.table);
    this.slider = h("input", { type: "range", id: "travel-slider", min: 0, max: 0, value: 0, step: 1 });
    this.slider.addEventListener("input", () => this.moved());
    this.back = h("button", { type: "button", class: "quiet step", "aria-label": "One version back", onclick: () => this.step(-1) }, "‹");
    this.on = h("button", { type: "button", class: "quiet step", "aria-label": "One version on", onclick: () => this.step(1) }, "›");
    this.newest = h("button", { type: "button", class: "quiet", onclick: () => this.toNewest() }, "Newest");
    this.bars = s("svg", { class: "history", viewBox: `0 0 ${BARS.width} ${BARS.height}`, preserveAspectRatio: "none", role: "img" });
    this.when = h("p", { class: "when", id: "travel-when" });
    this.facts = h("dl", { class: "facts" });
    this.trouble = h("p", { class: "trouble", role: "status" });
    this.partitions = h("ul", { class: "partitions" });
    this.partitionsCount = h("span", { class: "count" });
    this.files = h("tbody");
    this.filesCount = h("span", { class: "count" });
    this.before = h("button", { type: "button", class: "quiet", onclick: () => this.turn(-1) }, "Previous");
    this.after = h("button", { type: "button", class: "quiet", onclick: () => this.turn(1) }, "Next");
    const close = h("button", { type: "button", class: "quiet", onclick: () => this.onClose() }, "Close");
    const column = (word, kind) => h("th", { scope: "col", class: kind }, word);
    this.section.replaceChildren(
      h("div", { class: "head" }, h("h2", { id: "travel-title", tabindex: -1 }, "History of ", h("em", {}, name)), h("span", { class: "place" }, place), close),
      h(
        "div",
        { class: "rail" },
        this.bars,
        h("div", { class: "slide" }, this.back, h("label", { class: "unseen", for: "travel-slider" }, "Version"), this.slider, this.on, this.newest),
        this.when,
        this.trouble,
      ),
      this.facts,
      h(
        "div",
        { class: "halves" },
        h("div", {}, h("div", { class: "head" }, h("h3", {}, "Partitions"), this.partitionsCount), this.partitions),
        h(
          "div",
          {},
          h("div", { class: "head" }, h("h3", {}, "Files"), this.filesCount, h("span", { class: "pager" }, this.before, this.after)),
          h(
            "div",
            { class: "scroll", tabindex: 0, role: "region", "aria-label": "Files" },
            h("table", { class: "wide files" }, h("thead", {}, h("tr", {}, column("Path"), column("Size", "number"), column("Rows", "number"))), this.files),
          ),
        ),
      ),
    );
  }

  focus() {
    byId("travel-title")?.focus();
  }

  // The table has a new version: its history is read again, soon.
  changed(version) {
    const newest = this.versions.at(-1)?.version;
    if (!this.table || version === null || newest === undefined || version <= newest || this.timer) return;
    this.timer = setTimeout(() => {
      this.timer = null;
      this.load();
    }, AGAIN_MS);
  }

  async load() {
    const table = this.table;
    try {
      const { versions } = await read("history", { table });
      if (table !== this.table) return;
      this.versions = versions;
      if (!versions.length) {
        this.say("This table has no version that can be read.");
        return;
      }
      let place = versions.length - 1;
      if (!this.follows) {
        const found = versions.findIndex((entry) => entry.version >= this.wanted);
        place = found < 0 ? place : found;
      }
      this.slider.max = String(versions.length - 1);
      this.slider.value = String(place);
      this.stand();
    } catch (error) {
      if (table === this.table) this.say(error.message);
    }
  }

  step(by) {
    this.slider.value = String(Number(this.slider.value) + by);
    this.moved();
  }

  toNewest() {
    this.slider.value = this.slider.max;
    this.moved();
  }

  moved() {
    this.follows = Number(this.slider.value) === this.versions.length - 1;
    this.wanted = this.versions[Number(this.slider.value)]?.version ?? null;
    this.offset = 0;
    this.stand();
    const at = this.follows ? "" : `&version=${this.wanted}`;
    history.replaceState(null, "", `#table=${encodeURIComponent(this.table)}${at}`);
  }

  // Shows what is known of this place at once, and asks for the rest when the slider rests.
  stand() {
    const entry = this.versions[Number(this.slider.value)];
    if (!entry) return;
    const words = [`Version ${entry.version}`, entry.operation, moment(entry.time)];
    this.slider.setAttribute("aria-valuetext", words.join(", "));
    const changes = [];
    if (entry.adds) changes.push(`added ${plural(entry.adds, "file", "files")}${entry.added === null ? "" : ` (${bytes(entry.added)})`}`);
    if (entry.removes) changes.push(`removed ${plural(entry.removes, "file", "files")}${entry.removed === null ? "" : ` (${bytes(entry.removed)})`}`);
    const [version, ...more] = [...words, ...changes];
    this.when.replaceChildren(h("b", {}, version), " ", ...more.map((word) => h("span", {}, word)));
    this.back.disabled = this.slider.value === "0";
    this.on.disabled = this.newest.disabled = this.slider.value === this.slider.max;
    this.draw();
    this.section.setAttribute("aria-busy", "true");
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.look(), SETTLE_MS);
  }

  draw() {
    const most = Math.max(1, ...this.versions.map((entry) => Math.max(entry.adds ?? 0, entry.removes ?? 0)));
    const width = BARS.width / this.versions.length;
    const middle = BARS.height * 0.62;
    const place = Number(this.slider.value);
    const height = (count, room) => (count ? Math.max(2, Math.sqrt(count / most) * room) : 0);
    const marks = this.versions.flatMap((entry, number) => {
      const x = (number * width).toFixed(2);
      const wide = Math.max(0.6, Math.min(width * 0.7, 14)).toFixed(2);
      const up = height(entry.adds, middle - 2);
      const down = height(entry.removes, BARS.height - middle - 2);
      const here = number === place ? " here" : "";
      return [
        s("rect", { class: `added${here}`, x, y: (middle - up).toFixed(2), width: wide, height: up.toFixed(2) }),
        s("rect", { class: `removed${here}`, x, y: (middle + 1).toFixed(2), width: wide, height: down.toFixed(2) }),
      ];
    });
    this.bars.replaceChildren(s("line", { class: "grid", x1: 0, x2: BARS.width, y1: middle + 0.5, y2: middle + 0.5 }), ...marks);
    this.bars.setAttribute("aria-label", `Files that came and went in ${plural(this.versions.length, "version", "versions")}, the newest to the right`);
  }

  async look() {
    const entry = this.versions[Number(this.slider.value)];
    this.reading?.abort();
    const reading = (this.reading = new AbortController());
    const asked = { table: this.table, version: entry.version, offset: this.offset };
    if (this.partition) asked.partition = JSON.stringify(this.partition);
    this.section.setAttribute("aria-busy", "true");
    try {
      this.show(await read("version", asked, reading.signal));
      this.say("");
    } catch (error) {
      if (reading.signal.aborted) return;
      this.say(error.message);
    }
    this.section.removeAttribute("aria-busy");
  }

  show(view) {
    this.view = view;
    const facts = [
      ["Files", many(view.files)],
      ["Size", bytes(view.bytes)],
      ["Rows", many(view.records)],
      ["Partitions", view.columns.length ? many(view.partitions.count) : NONE],
      ["Mean file", view.files ? bytes(view.bytes / view.files) : NONE],
    ];
    this.facts.replaceChildren(...facts.map(([word, value]) => h("div", {}, h("dt", {}, word), h("dd", {}, value))));
    const heaviest = view.partitions.heaviest;
    const most = Math.max(1, ...heaviest.map((partition) => partition.bytes));
    settle(this.partitions, heaviest.map((partition) => this.partitionRow(view, partition, most)));
    this.partitionsCount.textContent =
      heaviest.length < view.partitions.count ? `the ${many(heaviest.length)} largest of ${many(view.partitions.count)}` : view.columns.length ? "" : "This table has none.";
    const { page } = view;
    settle(this.files, page.files.map((file) => h("tr", {}, h("td", { class: "path" }, file.path), h("td", { class: "number" }, bytes(file.bytes)), h("td", { class: "number" }, many(file.records)))));
    const last = page.offset + page.files.length;
    this.filesCount.textContent = page.count ? `${many(page.offset + 1)} to ${many(last)} of ${many(page.count)}${this.partition ? " in this partition" : ""}` : "none";
    this.before.disabled = page.offset === 0;
    this.after.disabled = last >= page.count;
  }

  partitionRow(view, partition, most) {
    const chosen = JSON.stringify(partition.values) === JSON.stringify(this.partition);
    const words = partition.values.map((value, place) => `${view.columns[place]}=${value ?? "null"}`).join(" / ");
    const bar = h("i", { "aria-hidden": "true" });
    bar.style.setProperty("--share", String(partition.bytes / most));
    const button = h("button", { type: "button", "aria-pressed": chosen ? "true" : "false" }, bar, h("span", { class: "words" }, words), h("span", { class: "aside" }, `${plural(partition.files, "file", "files")}, ${bytes(partition.bytes)}`));
    const item = h("li", {}, button);
    button.addEventListener("click", () => {
      this.partition = chosen ? null : partition.values;
      this.offset = 0;
      this.look();
    });
    return item;
  }

  turn(by) {
    this.offset = Math.max(0, this.offset + by * 50);
    this.look();
  }

  say(words) {
    this.trouble.textContent = words;
  }
}

async function read(what, asked, signal) {
  let answer;
  try {
    answer = await fetch(`/api/${what}?${new URLSearchParams(asked)}`, { signal, headers: { accept: "application/json" } });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Error("The server of this page doesn't answer.");
  }
  const told = answer.headers.get("content-type")?.includes("json") ? await answer.json() : {};
  if (!answer.ok) throw new Error(told.error ?? `The server answered ${answer.status}.`);
  return told;
}
