"use strict";

/* Elements and numbers. Text reaches the page as text nodes and attributes only, never as markup. */

const overview = JSON.parse(document.getElementById("overview").textContent);

/** Make an element; attributes named on... are listeners, and children that are null are left out. */
function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

function section(title, attributes, ...children) {
  return element("section", { "aria-label": title, ...attributes }, element("h2", {}, title), ...children);
}

/** A list of names and values; pairs without a value are left out. */
function facts(pairs) {
  const known = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return element(
    "dl",
    { class: "facts" },
    known.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))),
  );
}

/** A table; on narrow screens its cells carry the names of their columns. */
function table(columns, rows, attributes = {}) {
  return element(
    "table",
    { role: "table", ...attributes },
    element(
      "thead",
      {},
      element(
        "tr",
        { role: "row" },
        columns.map((name) => element("th", { role: "columnheader", scope: "col" }, name)),
      ),
    ),
    element(
      "tbody",
      {},
      rows.map((cells) =>
        element(
          "tr",
          { role: "row" },
          cells.map((cell) => element("td", { role: "cell" }, cell)),
        ),
      ),
    ),
  );
}

/** A hash or id in full, which can be selected, and breaks anywhere. */
function code(text) {
  return text ? element("code", { class: "break" }, text) : null;
}

const percent = (share) => `${(100 * share).toFixed(1)}%`;
const whole = (count) => Math.round(count).toLocaleString("en-US");
const decimal = (value) =>
  Number.isInteger(value)
    ? whole(value)
    : value.toLocaleString("en-US", { maximumFractionDigits: 1, minimumFractionDigits: 1 });
const plural = (count, one, many = `${one}s`) => `${whole(count)} ${count === 1 ? one : many}`;

function duration(seconds) {
  if (seconds < 1) return `${Math.round(1000 * seconds)} ms`;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60
    ? `${minutes} min ${Math.round(seconds % 60)} s`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Parse the data of an element once; null while the file is still being read. */
const parsed = new Map();
function data(id) {
  if (!parsed.has(id)) {
    const holder = document.getElementById(id);
    if (!holder) return null;
    parsed.set(id, JSON.parse(holder.textContent));
  }
  return parsed.get(id);
}

/** A text as it is embedded: itself, or the number of one that episodes share. */
function text(value) {
  return typeof value === "number" ? data("texts")[value] : value;
}
