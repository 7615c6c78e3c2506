// The tables, one a row, sorted as was asked for. A click on a name opens its history.

import { byId, h, settle } from "./dom.js";
import { ago, bytes, many, moment, named, percent, plural, span } from "./words.js";

const MOST = 200;
const WORST = { refused: 5, unreadable: 4, waiting: 3, "mirror stopped": 2, "compaction due": 1 };

const COLUMNS = [
  { key: "uri", word: "Table", of: (row) => named(row.uri)[0].toLowerCase() },
  { key: "version", word: "Version", of: (row) => row.version ?? -1, number: true },
  { key: "files", word: "Files", of: (row) => row.files ?? -1, number: true },
  { key: "bytes", word: "Size", of: (row) => row.bytes ?? -1, number: true },
  { key: "ratio", word: "Tombstones", of: (row) => row.ratio ?? -1, number: true },
  { key: "waiting", word: "Undecided", of: (row) => row.waiting, number: true },
  { key: "committed", word: "Last commit", of: (row) => row.committed ?? 0, number: true },
  { key: "health", word: "Health", of: (row) => Math.max(0, ...row.health.map((word) => WORST[word] ?? 0)) },
];

export class Tables {
  constructor(onOpen) {
    this.onOpen = onOpen;
    this.sort = { key: "uri", down: false };
    this.opened = "";
    this.search = byId("tables-find");
    this.search.addEventListener("input", () => this.show());
    this.table = byId("tables");
    this.head = COLUMNS.map((column) => {
      const button = h("button", { type: "button", class: "sort", onclick: () => this.by(column) }, column.word);
      return h("th", { scope: "col", class: column.number && "number" }, button);
    });
    this.table.tHead.append(h("tr", {}, ...this.head));
  }

  by(column) {
    const again = this.sort.key === column.key;
    this.sort = { key: column.key, down: again ? !this.sort.down : column.key !== "uri" };
    this.show();
  }

  show(model = this.model, opened = this.opened) {
    this.model = model;
    this.opened = opened;
    if (!model) return;
    const wanted = this.search.value.trim().toLowerCase();
    const rows = [...model.tables.values()].filter((row) => row.uri.toLowerCase().includes(wanted));
    const { of } = COLUMNS.find((column) => column.key === this.sort.key);
    rows.sort((a, b) => {
      const [first, second] = [of(a), of(b)];
      const order = first < second ? -1 : first > second ? 1 : a.uri < b.uri ? -1 : 1;
      return this.sort.down ? -order : order;
    });
    const now = model.now();
    settle(this.table.tBodies[0], rows.slice(0, MOST).map((row) => this.row(row, now)));
    COLUMNS.forEach((column, place) => {
      const sorted = column.key === this.sort.key;
      this.head[place].toggleAttribute("aria-sort", false);
      if (sorted) this.head[place].setAttribute("aria-sort", this.sort.down ? "descending" : "ascending");
    });
    const hidden = model.tables.size - Math.min(rows.length, MOST);
    byId("tables-count").textContent = hidden ? `${many(model.tables.size)}, ${many(hidden)} not shown` : many(model.tables.size);
    byId("tables-none").hidden = model.tables.size > 0;
    this.table.hidden = model.tables.size === 0;
  }

  row(row, now) {
    const [name, place] = named(row.uri);
    const open = row.uri === this.opened;
    const button = h(
      "button",
      { type: "button", class: "name", title: row.uri, "data-table": row.uri, "aria-expanded": open ? "true" : "false", "aria-controls": "travel" },
      name,
    );
    // The row may be replaced while it is pressed; the click is the table's, see `listen`.
    const trouble = row.refused || row.trouble || row.mirror_problem;
    return h(
      "tr",
      { class: open && "open" },
      h("th", { scope: "row" }, button, h("span", { class: "place" }, place), mirror(row), trouble ? h("span", { class: "trouble", title: trouble }, trouble) : null),
      cell("Version", many(row.version)),
      cell("Files", many(row.files)),
      cell("Size", bytes(row.bytes)),
      ratio(row),
      undecided(row, now),
      h("td", { class: "number", "data-word": "Last commit", title: row.committed ? moment(row.committed) : null }, ago(now, row.committed)),
      health(row, now),
    );
  }

  listen() {
    this.table.addEventListener("click", (event) => {
      const button = event.target.closest("button[data-table]");
      if (button) this.onOpen(button.dataset.table);
    });
  }
}

const cell = (word, text) => h("td", { class: "number", "data-word": word }, text);

function mirror(row) {
  if (row.mirror === null) return null;
  const behind = Math.max(0, (row.version ?? -1) - row.mirror);
  const where = row.mirror < 0 ? "not begun" : `at version ${many(row.mirror)}`;
  return h("span", { class: "place" }, `Delta mirror ${where}${behind && row.mirror >= 0 ? `, ${many(behind)} behind` : ""}`);
}

function ratio(row) {
  const bar = h("span", { class: "gauge", "aria-hidden": "true" }, h("i"));
  bar.firstChild.style.setProperty("--share", String(Math.min(1, (row.ratio ?? 0) * 4)));
  const words = row.tombstones === null ? null : `${plural(row.tombstones, "tombstone", "tombstones")} in ${plural(row.manifests, "manifest", "manifests")}`;
  return h("td", { class: "number", "data-word": "Tombstones", title: words }, bar, percent(row.ratio));
}

function undecided(row, now) {
  const late = row.health.includes("waiting");
  const age = late && row.oldest !== null ? ` for ${span(now - row.oldest)}` : "";
  return h("td", { class: `number${late ? " late" : ""}`, "data-word": "Undecided" }, row.waiting ? many(row.waiting) + age : "0");
}

function health(row) {
  const words = row.health.length ? row.health : [row.version === null ? "not read yet" : "well"];
  const kinds = { refused: "bad", unreadable: "bad", waiting: "warn", "mirror stopped": "warn", "compaction due": "warn", well: "ok" };
  return h("td", { "data-word": "Health" }, ...words.map((word) => h("span", { class: `badge ${kinds[word] ?? ""}` }, word)));
}
