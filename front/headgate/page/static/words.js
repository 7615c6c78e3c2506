// Numbers, sizes and times as people read them.

const whole = new Intl.NumberFormat("en");
const rate = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

export const NONE = "–";
export const many = (count) => (count === null || count === undefined ? NONE : whole.format(count));
export const perSecond = (value) => rate.format(value);
export const percent = (share) => (share === null ? NONE : `${rate.format(100 * share)} %`);
export const plural = (count, one, more) => `${many(count)} ${count === 1 ? one : more}`;

export function bytes(size) {
  if (size === null || size === undefined) return NONE;
  let unit = 0;
  let value = Math.abs(size);
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  const digits = unit === 0 || value >= 100 ? 0 : 1;
  return `${size < 0 ? "−" : ""}${value.toFixed(digits)} ${UNITS[unit]}`;
}

export function took(ms) {
  if (ms === null || ms === undefined) return NONE;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  return span(ms);
}

export function span(ms) {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 172_800) return `${Math.floor(s / 3600)} h`;
  return `${Math.floor(s / 86_400)} d`;
}

export const ago = (now, then) => (then === null ? NONE : now - then < 1500 ? "now" : `${span(now - then)} ago`);
export const time = (ms) => clock.format(ms);
export const moment = (ms) => `${day.format(ms)}, ${clock.format(ms)}`;

// The last part of an address names a table; what comes before says where it lies.
export function named(uri) {
  const bare = uri.replace(/\/+$/, "");
  const cut = bare.lastIndexOf("/");
  return cut < 0 ? [bare, ""] : [bare.slice(cut + 1) || bare, bare.slice(0, cut)];
}

// A worker's or program's name without the number of its run.
export const author = (text) => text.replace(/-[0-9a-f]{12}(?=\s|$)/, "").replace(/\s+headgate\S*$/, "");
