/* One episode: what it is worth and why, and where it looked. */

/** The page of an episode; null while the file is still being read. */
function episodePage(task, episode) {
  const found = data(`episode-${episode.number}`);
  if (!found || !data("texts")) return null;
  return element(
    "article",
    { class: "episode" },
    title(task, episode, found),
    element(
      "div",
      { class: "split" },
      element("div", { class: "wide" }, broken(found), differences(found), conversation(task, found)),
      element(
        "div",
        { class: "side" },
        graded(found),
        referenceDocuments(found),
        documents(found),
        measured(found),
        identity(task, found),
      ),
    ),
  );
}

function title(task, episode, found) {
  const line = [
    task.family,
    `ended by ${episode.ended || "nothing"}`,
    plural(episode.steps, "step"),
    episode.errors ? plural(episode.errors, "failed call") : null,
    episode.tokens ? `${whole(episode.tokens)} tokens` : null,
  ];
  const others =
    task.episodes.length > 1
      ? element(
          "div",
          { class: "chips", role: "group", "aria-label": "Trials of this task" },
          task.episodes.map((one) => chip(task, one, one === episode)),
        )
      : null;
  return element(
    "header",
    { class: "title" },
    element("div", { class: "above" }, badge(episode.outcome), others),
    element(
      "h1",
      { tabindex: "-1" },
      named(task.id),
      element("span", { class: "muted" }, ` trial ${episode.trial}`),
    ),
    element("p", { class: "muted" }, line.filter(Boolean).join(" \u00b7 ")),
    spoken(found.reason, { class: "words verdict" }),
  );
}

function broken(found) {
  return found.error
    ? element(
        "div",
        { class: "banner" },
        element("b", {}, "Not scored: something broke"),
        spoken(found.error),
      )
    : null;
}

function graded(found) {
  const checks = Object.entries(found.checks).map(([name, value]) => [
    name.replaceAll("_", " "),
    { true: "yes", false: "no", null: "\u2013", "{}": "none" }[value] ||
      (/^[\w.-]+$/.test(value) ? value : write(element("code", { class: "break" }), value)),
  ]);
  const cut =
    found.end.truncated && found.reward !== null
      ? `graded by ${found.end.worth === "zero" ? "the cut, which earns 0" : "the state when it was cut"}`
      : null;
  const faults = Object.entries(found.faults).flatMap(([seat, counts]) =>
    Object.entries(counts).map(([name, count]) => [`${seat}: ${name}`, whole(count)]),
  );
  return section(
    "Grade",
    {},
    facts([
      ["reward", found.reward === null ? "not scored" : element("b", {}, found.reward)],
      ["truncation", cut],
      ...checks,
    ]),
    faults.length ? [element("h3", {}, "Faults of the models"), facts(faults)] : null,
  );
}

const STATES = {
  before: "opened before the first change",
  opened: "opened",
  found: "found in a search, not opened",
  never: "never opened",
};

function referenceDocuments(found) {
  if (!found.references || !found.references.length) return null;
  return section(
    "Documents of the reference",
    {},
    element(
      "ul",
      { class: "documents" },
      found.references.map((one) =>
        element(
          "li",
          { class: one.state },
          element(
            "span",
            { class: "mark", "aria-hidden": "true" },
            one.state === "never" || one.state === "found" ? SIGNS.failed : SIGNS.passed,
          ),
          element(
            "span",
            {},
            one.title || one.id,
            one.title ? element("code", { class: "break muted small" }, one.id) : null,
          ),
          element("span", { class: "small state" }, STATES[one.state]),
        ),
      ),
    ),
  );
}

function documents(found) {
  const read = found.documents;
  if (!read.length) return section("Documents the agent saw", {}, element("p", { class: "muted" }, "None."));
  const list = (some) =>
    element(
      "ul",
      { class: "documents" },
      some.map((one) =>
        element(
          "li",
          {},
          element(
            "button",
            { type: "button", class: "link", onclick: () => goTo(one.entry) },
            one.title || one.id,
          ),
          element(
            "span",
            { class: "muted small state" },
            one.title ? [element("code", { class: "break" }, one.id), ", "] : null,
            `by ${one.tool}`,
          ),
        ),
      ),
    );
  const opened = read.filter((one) => one.opened);
  const others = read.filter((one) => !one.opened);
  return section(
    "Documents the agent saw",
    {},
    opened.length
      ? [element("h3", {}, "Opened"), list(opened)]
      : element("p", { class: "muted" }, "None was opened."),
    others.length
      ? element(
          "details",
          {},
          element("summary", {}, `${whole(others.length)} found in a search only`),
          list(others),
        )
      : null,
  );
}

/** Show an entry of the conversation and unfold it. */
function goTo(at) {
  const item = document.getElementById(`entry-${at}`);
  if (!item) return;
  const details = item.querySelector("details");
  if (details) details.open = true;
  item.scrollIntoView({ block: "center" });
  (item.querySelector("summary") || item).focus({ preventScroll: true });
}

function measured(found) {
  const usage = Object.entries(found.usage).map(([seat, used]) => [
    `${seat}'s tokens`,
    Object.entries(used)
      .map(([name, count]) => `${whole(count)} ${name.replace("tokens_", "")}`)
      .join(", "),
  ]);
  const seconds = Object.entries(found.timings).map(([name, value]) => [
    name === "total" ? "time" : `waited for the ${name}`,
    value === null ? null : duration(value),
  ]);
  const streams = found.segments;
  const lines = [
    ...usage,
    ...seconds,
    [
      "token streams",
      streams &&
        `${plural(streams.segments, "segment")}: ${whole(streams.tokens)} tokens, ${whole(streams.sampled)} sampled`,
    ],
  ];
  return lines.some(([, value]) => value) ? section("Cost", {}, facts(lines)) : null;
}

function identity(task, found) {
  return section(
    "Seeds and hashes",
    {},
    facts([
      ["seed of the run", code(found.seed)],
      ["trial", code(String(found.trial))],
      ["seed of the task", code(task.seed)],
      ["clock", task.now && code(task.now)],
      ["split", task.split],
      ["capabilities", (task.capabilities || []).join(", ")],
      ["domain", code(found.domain)],
      ["task (SHA-256)", code(found.hash || task.hash)],
    ]),
  );
}
