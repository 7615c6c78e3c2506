// What the page knows: a picture, and the changes that follow it. Knows neither the server nor the screen.

const MOST = { flow: 200, tasks: 60, letters: 100 };

export class Model {
  constructor() {
    this.tables = new Map();
    this.flow = new Map();
    this.tasks = new Map();
    this.letters = new Map();
    this.rates = new Map();
    this.step = 2000;
    this.count = 150;
    this.lag = null;
    this.sources = {};
    this.running = null;
    this.ahead = 0;
    this.told = 0;
  }

  // The server's clock, as far as this browser can tell.
  now() {
    return Date.now() + this.ahead;
  }

  take(picture) {
    for (const part of [this.tables, this.flow, this.tasks, this.letters, this.rates]) part.clear();
    this.step = picture.rates.step;
    this.count = picture.rates.count;
    this.fold({ ...picture, rates: picture.rates.rows });
  }

  fold(change) {
    this.ahead = change.now - Date.now();
    this.told = change.now;
    for (const uri of change.gone ?? []) this.tables.delete(uri);
    for (const row of change.tables ?? []) this.tables.set(row.uri, row);
    for (const row of change.flow ?? []) this.flow.set(row.n, row);
    for (const row of change.tasks ?? []) this.tasks.set(row.n, row);
    for (const row of change.letters ?? []) this.letters.set(row.id, row);
    for (const row of change.rates ?? []) this.rates.set(row[0], row);
    for (const part of ["flow", "tasks", "letters"]) trim(this[part], MOST[part]);
    const first = change.now - this.step * this.count;
    for (const start of this.rates.keys()) if (start < first - this.step) this.rates.delete(start);
    for (const part of ["lag", "sources", "running"]) if (part in change) this[part] = change[part];
  }

  newest(part) {
    return [...this[part].values()].reverse();
  }
}

function trim(map, most) {
  const over = map.size - most;
  for (const key of over > 0 ? [...map.keys()].slice(0, over) : []) map.delete(key);
}
