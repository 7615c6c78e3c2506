// What workers did and are doing, and the messages that nobody could decide.

import { byId, h, settle } from "./dom.js";
import { ago, bytes, many, moment, named, plural, span } from "./words.js";

const MOST = 60;
const DONE = { committed: "done", rejected: "overtaken", duplicate: "done before", waiting: "waiting", unknown: "not known" };
const KINDS = { committed: "ok", rejected: "warn", duplicate: "dup", waiting: "warn" };

export function showTasks(model) {
  const now = model.now();
  const running = (model.running ?? []).map((task) =>
    h(
      "li",
      { class: "running" },
      h("span", { class: "badge" }, "running"),
      h("span", { class: "main" }, h("b", {}, task.role), " ", h("span", { title: task.table }, named(task.table)[0])),
      h("span", { class: "aside" }, `for ${span(now - task.since)}`),
    ),
  );
  const done = model.newest("tasks").map((task) =>
    h(
      "li",
      { title: task.author },
      h("span", { class: `badge ${KINDS[task.outcome] ?? ""}` }, DONE[task.outcome]),
      h(
        "span",
        { class: "main" },
        h("b", {}, task.role),
        " ",
        h("span", { title: task.table }, named(task.table)[0]),
        h("span", { class: "detail" }, told(task)),
      ),
      h("span", { class: "aside", title: moment(task.time) }, ago(now, task.time)),
    ),
  );
  settle(byId("tasks"), [...running, ...done].slice(0, MOST));
  byId("tasks-none").hidden = running.length + done.length > 0;
  byId("tasks-count").textContent = model.running === null ? "" : plural(running.length, "task running", "tasks running");
}

function told(task) {
  const files = task.files === null ? "" : task.role === "compact" ? `, ${plural(task.files, "manifest", "manifests")}` : `, ${plural(task.files, "file", "files")}`;
  const version = task.version === null ? "" : ` in version ${task.version}`;
  return ` ${task.operation.replace("_", " ")}${files}${version}${task.outcome === "rejected" ? `: ${task.code}` : ""}`;
}

export function showLetters(model) {
  const now = model.now();
  const letters = model.newest("letters");
  settle(
    byId("letters"),
    letters.slice(0, MOST).map((letter) =>
      h(
        "li",
        { class: "letter" },
        h("code", { class: "code" }, letter.code),
        h(
          "span",
          { class: "main" },
          h("span", { class: "why" }, letter.reason),
          h("span", { class: "detail" }, `${letter.table ? named(letter.table)[0] : "no table"}, offset ${many(letter.offset)}, ${bytes(letter.bytes)}`),
        ),
        h("span", { class: "aside", title: moment(letter.time) }, ago(now, letter.time)),
      ),
    ),
  );
  byId("letters-count").textContent = letters.length ? many(letters.length) : "";
  byId("letters-none").hidden = letters.length > 0;
}
