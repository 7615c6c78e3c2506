// The four small plots of the last five minutes, drawn as SVG, each with its meaning in words.

import { h, s } from "./dom.js";
import { many, perSecond, span, took } from "./words.js";

const WIDTH = 300;
const HEIGHT = 64;
const [START, COMMITS, ACCEPTED, REJECTED, DUPLICATES, MEDIAN, HIGH, UNDECIDED] = [0, 1, 2, 3, 4, 5, 6, 7];

export class Plots {
  constructor(parent) {
    this.figures = [
      new Figure("Decided", "proposals a second", drawOutcomes, [["accepted", "ok"], ["rejected", "bad"], ["duplicate", "dup"]]),
      new Figure("Versions", "commits a second", drawCommits),
      new Figure("Latency", "from proposal to receipt", drawLatency, [["median", "line"], ["95 %", "faint"]]),
      new Figure("Undecided", "not decided yet", drawLag),
    ];
    parent.append(...this.figures.map((figure) => figure.element));
  }

  show(model) {
    const now = model.now();
    const newest = Math.floor(now / model.step) * model.step;
    const rows = [];
    for (let place = model.count - 1; place >= 0; place -= 1) {
      const start = newest - place * model.step;
      rows.push(model.rates.get(start) ?? [start, 0, 0, 0, 0, null, null, null]);
    }
    for (const figure of this.figures) figure.show(rows, model);
  }
}

class Figure {
  constructor(title, unit, draw, legend = []) {
    this.draw = draw;
    this.value = h("strong", {}, "–");
    this.note = h("span", { class: "note" });
    this.top = h("span", { class: "top", "aria-hidden": "true" });
    this.svg = s("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img" });
    this.title = title;
    this.unit = unit;
    const keys = legend.map(([word, kind]) => h("span", { class: `key ${kind}` }, word));
    this.element = h(
      "figure",
      { class: "plot" },
      h("figcaption", {}, h("span", { class: "what" }, title), h("span", { class: "unit" }, unit), this.value, this.note),
      h("div", { class: "canvas" }, this.top, this.svg),
      h("div", { class: "under", "aria-hidden": "true" }, h("span", {}, "5 min"), h("span", { class: "keys" }, ...keys), h("span", {}, "now")),
    );
  }

  show(rows, model) {
    const drawn = this.draw(rows, model);
    this.value.textContent = drawn.value;
    this.note.textContent = drawn.note ?? "";
    this.top.textContent = drawn.top;
    this.svg.setAttribute("aria-label", `${this.title}, ${this.unit}, over the last five minutes: ${drawn.words}`);
    this.svg.replaceChildren(s("line", { class: "grid", x1: 0, x2: WIDTH, y1: 0.5, y2: 0.5 }), ...drawn.marks);
  }
}

// What is going on: the last whole steps, since the present one is not over.
function lately(rows, of, steps = 5) {
  const whole = rows.slice(-1 - steps, -1);
  return whole.reduce((sum, row) => sum + of(row), 0) / Math.max(1, whole.length);
}

const x = (place, count) => (place * WIDTH) / count;
const nice = (value) => {
  if (value <= 0) return 1;
  const unit = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * unit).find((step) => step >= value);
};

function drawOutcomes(rows, model) {
  const seconds = model.step / 1000;
  const total = (row) => (row[ACCEPTED] + row[REJECTED] + row[DUPLICATES]) / seconds;
  const top = nice(Math.max(...rows.map(total)));
  const marks = [];
  rows.forEach((row, place) => {
    let floor = HEIGHT;
    for (const [column, kind] of [[ACCEPTED, "ok"], [DUPLICATES, "dup"], [REJECTED, "bad"]]) {
      const height = (row[column] / seconds / top) * HEIGHT;
      if (height <= 0) continue;
      const shown = Math.max(1.5, height);
      floor -= shown;
      marks.push(s("rect", { class: kind, x: x(place, rows.length), y: floor.toFixed(2), width: 1.6, height: shown.toFixed(2) }));
    }
  });
  const sum = (column) => rows.reduce((count, row) => count + row[column], 0);
  const value = perSecond(lately(rows, total));
  const rejected = sum(REJECTED);
  return {
    marks,
    value,
    top: perSecond(top),
    note: rejected ? `${many(rejected)} rejected` : "",
    words: `now ${value}; ${many(sum(ACCEPTED))} accepted, ${many(rejected)} rejected, ${many(sum(DUPLICATES))} duplicates in all`,
  };
}

function drawCommits(rows, model) {
  const of = (row) => row[COMMITS] / (model.step / 1000);
  const top = nice(Math.max(...rows.map(of)));
  const value = perSecond(lately(rows, of));
  return {
    marks: area(rows, of, top),
    value,
    top: perSecond(top),
    words: `now ${value}; ${many(rows.reduce((count, row) => count + row[COMMITS], 0))} versions in all`,
  };
}

function drawLatency(rows) {
  const known = rows.filter((row) => row[MEDIAN] !== null);
  const top = nice(Math.max(0, ...known.map((row) => row[HIGH])));
  const newest = known.at(-1);
  const value = newest ? took(newest[MEDIAN]) : "–";
  const high = newest ? took(newest[HIGH]) : "–";
  return {
    marks: [...dots(rows, HIGH, top, "faint"), ...dots(rows, MEDIAN, top, "line")],
    value,
    top: took(top),
    note: newest ? `95 %: ${high}` : "",
    words: newest ? `newest median ${value}, 95 percent within ${high}` : "nothing was decided",
  };
}

function drawLag(rows, model) {
  const of = (row) => row[UNDECIDED] ?? 0;
  const top = nice(Math.max(...rows.map(of)));
  const lag = model.lag;
  const age = lag?.age === null || lag?.age === undefined ? "" : `oldest ${span(lag.age)}`;
  const value = lag ? many(lag.proposals) : "–";
  return {
    marks: area(rows, of, top),
    value,
    top: many(top),
    note: lag && lag.proposals ? age : lag ? "all decided" : "",
    words: lag ? `now ${value}${age ? `, the ${age}` : ""}` : "not known",
  };
}

function area(rows, of, top) {
  const points = rows.map((row, place) => `${x(place, rows.length - 1).toFixed(1)},${(HEIGHT - (of(row) / top) * (HEIGHT - 1)).toFixed(1)}`);
  return [
    s("polygon", { class: "area", points: `0,${HEIGHT} ${points.join(" ")} ${WIDTH},${HEIGHT}` }),
    s("polyline", { class: "line", points: points.join(" ") }),
  ];
}

// Lines between neighbours; a time in which nothing was decided stays empty.
function dots(rows, column, top, kind) {
  const runs = [];
  let run = [];
  rows.forEach((row, place) => {
    if (row[column] === null) {
      if (run.length) runs.push(run);
      run = [];
    } else {
      run.push(`${x(place, rows.length - 1).toFixed(1)},${(HEIGHT - 1 - (row[column] / top) * (HEIGHT - 2)).toFixed(1)}`);
    }
  });
  if (run.length) runs.push(run);
  return runs.map((points) => s("polyline", { class: kind, points: (points.length === 1 ? [points[0], points[0]] : points).join(" ") }));
}
