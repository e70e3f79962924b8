/* Small charts: a rate with its interval, and episodes by outcome. */

const OUTCOMES = ["passed", "failed", "unscored", "unplayed"];
const WORDS = { passed: "passed", failed: "failed", unscored: "not scored", unplayed: "not played" };
const SIGNS = { passed: "\u2713", failed: "\u2717", unscored: "\u2013", unplayed: "+" };

/** Say a rate and its interval. */
function rate(group) {
  if (group.pass_at_1 === null) return "no rate: none scored";
  return percent(group.pass_at_1);
}

function interval(group) {
  const range = group.interval;
  return range ? `${percent(range.low)} to ${percent(range.high)}` : null;
}

function level(range) {
  return `${Math.round(100 * range.level)}%`;
}

/** A bar from 0 to 100%, with the interval as a line on it. */
function rateBar(group) {
  const range = interval(group);
  const label = `pass@1 ${rate(group)}${range ? `, ${level(group.interval)} interval ${range}` : ""}`;
  const bar = element("div", { class: "rate", role: "img", "aria-label": label, title: label });
  if (group.pass_at_1 === null) return bar;
  const fill = element("div", { class: "fill" });
  fill.style.width = percent(group.pass_at_1);
  bar.append(fill);
  if (range) {
    const line = element("div", { class: "whisker" });
    line.style.left = percent(group.interval.low);
    line.style.width = percent(group.interval.high - group.interval.low);
    bar.append(line);
  }
  return bar;
}

/** A bar of as many parts as there are outcomes; `most` makes several of them comparable. */
function outcomeBar(counts, most) {
  const found = OUTCOMES.filter((outcome) => counts[outcome]);
  const label = found.map((outcome) => `${whole(counts[outcome])} ${WORDS[outcome]}`).join(", ");
  const bar = element("div", { class: "outcomes", role: "img", "aria-label": label, title: label });
  for (const outcome of found) {
    const part = element("div", { class: outcome });
    part.style.width = percent(counts[outcome] / most);
    bar.append(part);
  }
  return bar;
}

/** A word with its colour and sign: passed, failed, not scored. */
function badge(outcome) {
  return element(
    "span",
    { class: `badge ${outcome}` },
    element("span", { "aria-hidden": "true" }, `${SIGNS[outcome]} `),
    WORDS[outcome],
  );
}
