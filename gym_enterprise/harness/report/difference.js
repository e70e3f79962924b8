/* How the final state differs from the target: a table for each row of the database that does. */

const DEEDS = { insert: "insert a row", update: "change this row", delete: "delete this row" };
const DONE = { insert: "inserted", update: "changed", delete: "deleted" };

function differences(found) {
  const rest = Object.entries(found.rest);
  const more = rest.length
    ? element(
        "details",
        {},
        element("summary", {}, "More of the grader's difference"),
        facts(rest.map(([name, words]) => [name, json(words)])),
      )
    : null;
  if (!found.diff.length) {
    if (found.reward === null) return null;
    return section(
      "Database: expected against got",
      { class: "diff" },
      element(
        "p",
        { class: "muted" },
        "checks" in found && found.checks.state === "true"
          ? "No row differs: the final state is the expected one."
          : "The record names no row that differs.",
      ),
      more,
    );
  }
  return section("Database: expected against got", { class: "diff" }, found.diff.map(differentRow), more);
}

function differentRow(row) {
  const words = { missing: "missing", extra: "extra", changed: "different" }[row.kind];
  const deed = {
    missing: `expected: ${DEEDS[row.wanted] || row.wanted}; it was not done`,
    extra: `not expected, but ${DONE[row.got] || row.got}`,
    changed:
      row.wanted === row.got
        ? `${DONE[row.got] || row.got}, but to other values`
        : `expected: ${DEEDS[row.wanted] || row.wanted}; got: ${DONE[row.got] || row.got}`,
  }[row.kind];
  const key = row.key.map(([name, value]) =>
    element("span", { class: "key" }, `${name} = `, write(element("code", {}), value)),
  );
  return element(
    "div",
    { class: `row ${row.kind}` },
    element(
      "div",
      { class: "rowhead" },
      element("span", { class: `tag ${row.kind}` }, words),
      element("b", {}, row.table),
      key,
      element("span", { class: "muted small deed" }, deed),
    ),
    row.columns.length ? columnsTable(row) : null,
  );
}

/** The columns of a row; only one side of them, when on the other there is no row at all. */
function columnsTable(row) {
  const names = ["Expected", "Got"].filter((name, place) =>
    row.columns.some((column) => column[1] !== null || column[2 + place] !== null),
  );
  const body = row.columns.map(([name, before, wanted, got]) => {
    const sides = { Expected: side(row.wanted, before, wanted), Got: side(row.got, before, got) };
    return element(
      "tr",
      { role: "row", class: wanted === got ? "same" : "unlike" },
      element("th", { role: "rowheader", scope: "row" }, name),
      names.map((one) => element("td", { role: "cell", "data-name": one }, sides[one])),
    );
  });
  const head = ["Column", ...names].map((name) =>
    element("th", { role: "columnheader", scope: "col" }, name),
  );
  return element(
    "table",
    { role: "table", class: names.length > 1 ? "columns" : "columns single" },
    element("thead", { role: "rowgroup" }, element("tr", { role: "row" }, head)),
    element("tbody", { role: "rowgroup" }, body),
  );
}

/** One side of a column: what it held before, and what it holds then. */
function side(deed, before, value) {
  const then =
    value === null
      ? element(
          "span",
          { class: "muted" },
          before === null ? "no row" : deed === "delete" ? "no row" : "\u2013",
        )
      : unfold(element("code", {}), value);
  if (before === null) return then;
  if (value === before)
    return element("span", {}, then, element("span", { class: "muted small" }, " unchanged"));
  return element(
    "span",
    {},
    unfold(element("code", { class: "before" }), before),
    element("span", { class: "muted" }, " \u2192 "),
    then,
  );
}
