/* The first page: the numbers of the run. */

const summary = overview.summary;
const run = overview.run;

function overviewPage() {
  return element(
    "div",
    { class: "overview" },
    heading(),
    notes(),
    headlineCards(),
    element(
      "div",
      { class: "columns" },
      groups("By family", summary.by_family, "family"),
      groups("By capability", summary.by_capability, "words"),
    ),
    element("div", { class: "columns" }, endings(), wrongs()),
    tasksSection(),
    causes(),
    element(
      "div",
      { class: "columns" },
      bySeat("Failed calls", summary.tool_errors, "code", "calls"),
      bySeat("Faults of the models", summary.faults, "fault", "times"),
      looking(),
      cost(),
      configuration(),
    ),
    provenance(),
  );
}

function heading() {
  const { agent, user, split } = run.configuration;
  const parts = [
    ["agent", agent],
    ["user", user],
    ["domain", run.domain],
    ["split", split],
  ].filter(([, value]) => value && value !== "null");
  const size = `${plural(run.tasks, "task")} \u00d7 ${plural(run.trials, "trial")}, seed ${run.seed}`;
  return element(
    "div",
    { class: "heading" },
    element("h1", { tabindex: "-1" }, run.name),
    element(
      "p",
      { class: "muted" },
      parts.flatMap(([name, value]) => [`${name} `, element("b", {}, value), " \u00b7 "]),
      size,
    ),
    element("p", { class: "headline" }, summary.headline),
  );
}

function notes() {
  const lines = [...overview.notes];
  if (overview.missing)
    lines.unshift(
      `${plural(overview.missing, "episode")} of ${whole(summary.planned)} have no final record: ` +
        "not played yet, or broken and to be played again.",
    );
  if (!lines.length) return null;
  return element(
    "div",
    { class: "banner", role: "note" },
    element("b", {}, summary.complete ? "Missing here" : "Incomplete"),
    element(
      "ul",
      {},
      lines.map((line) => element("li", {}, line)),
    ),
  );
}

/* -- the numbers that come first ------------------------------------------------------------------ */

function headlineCards() {
  const overall = summary.overall;
  const range = interval(overall);
  const first = card(
    "pass@1",
    overall.pass_at_1 === null ? "\u2013" : percent(overall.pass_at_1),
    rateBar(overall),
    overall.pass_at_1 === null
      ? "no episode is scored"
      : range
        ? `${level(overall.interval)} interval ${range}`
        : "no interval: it takes two tasks",
    `${whole(overall.passed)} of ${plural(overall.scored, "scored episode")} passed`,
  );
  const covered = card(
    "coverage",
    percent(summary.coverage),
    outcomeBar(totals(), Math.max(summary.planned, 1)),
    `${whole(overall.scored)} of ${whole(summary.planned)} planned episodes scored`,
    overall.attempted > overall.scored
      ? `${plural(overall.attempted - overall.scored, "episode")} not scored`
      : null,
  );
  if (!summary.complete) covered.classList.add("warned");
  return element("div", { class: "cards" }, first, covered, repeated(), price());
}

function card(name, value, ...lines) {
  const [chart, ...rest] = lines;
  return element(
    "div",
    { class: "card" },
    element("div", { class: "name" }, name),
    element("div", { class: "value" }, value),
    chart,
    rest.filter(Boolean).map((line) => element("div", { class: "line" }, line)),
  );
}

function totals() {
  const found = { passed: 0, failed: 0, unscored: 0 };
  for (const end of overview.ends)
    for (const outcome of Object.keys(found)) found[outcome] += end[outcome] || 0;
  found.unplayed = Math.max(0, summary.planned - found.passed - found.failed - found.unscored);
  return found;
}

/** pass@k and pass^k at 1, 2, 4 and 8, or at the largest k below. */
function repeated() {
  const every = Object.keys(summary.pass_at_k).map(Number);
  const largest = Math.max(...every, 0);
  if (largest < 2) return null;
  const shown = every.filter((k) => [1, 2, 4, 8].includes(k) || (k === largest && k < 8));
  const rows = shown.map((k) => [String(k), percent(summary.pass_at_k[k]), percent(summary.pass_hat_k[k])]);
  return element(
    "div",
    { class: "card" },
    element("div", { class: "name" }, "repeated trials"),
    table(["k", "pass@k", "pass^k"], rows, { class: "numbers" }),
  );
}

function price() {
  const each = summary.averages;
  const spent = summary.tokens_per_passed;
  const steps =
    each.steps === undefined
      ? null
      : `${decimal(each.steps)} steps, ${decimal(each.agent_calls)} calls an episode`;
  const used =
    summary.tokens_in === null
      ? "the agent's tokens are not known"
      : `${whole(summary.tokens_in)} in, ${whole(summary.tokens_out)} out`;
  const seconds =
    overview.timings.total && summary.overall.attempted
      ? `${duration(overview.timings.total / summary.overall.attempted)} an episode`
      : null;
  return card("tokens per passed", spent === null ? "\u2013" : whole(spent), null, used, steps, seconds);
}

/* -- groups, endings, faults ---------------------------------------------------------------------- */

function groups(title, found, filter) {
  const rows = Object.entries(found).map(([name, group]) => {
    const broken = group.attempted - group.scored;
    return element(
      "li",
      {},
      choice(name, { [filter]: name }),
      rateBar(group),
      element("b", { class: "number" }, group.pass_at_1 === null ? "\u2013" : percent(group.pass_at_1)),
      element(
        "span",
        { class: "muted small" },
        [
          interval(group),
          `${whole(group.passed)} of ${whole(group.scored)} passed`,
          broken ? `${whole(broken)} unscored` : null,
        ]
          .filter(Boolean)
          .join(" \u00b7 "),
      ),
    );
  });
  return rows.length ? section(title, {}, bars(rows)) : null;
}

/** Rows with bars; many of them are folded but for the first. */
function bars(rows, most = 8) {
  if (rows.length <= most + 1) return element("ul", { class: "bars" }, rows);
  const rest = element(
    "details",
    {},
    element("summary", {}, `${whole(rows.length - most)} more`),
    element("ul", { class: "bars" }, rows.slice(most)),
  );
  return [element("ul", { class: "bars" }, rows.slice(0, most)), rest];
}

/** A name that filters the tasks when it is chosen. */
function choice(name, filter) {
  return element(
    "button",
    { type: "button", class: "link what", title: "Show these tasks", onclick: () => showTasks(filter) },
    name,
  );
}

function endings() {
  if (!overview.ends.length) return null;
  const most = Math.max(
    ...overview.ends.map((end) => (end.passed || 0) + (end.failed || 0) + (end.unscored || 0)),
  );
  const rows = overview.ends.map((end) =>
    element(
      "li",
      {},
      choice(end.reason || "(no reason)", { reason: `end ${end.reason}` }),
      outcomeBar(end, most),
      element(
        "b",
        { class: "number" },
        OUTCOMES.filter((outcome) => end[outcome]).map((outcome) =>
          element("span", { class: `badge ${outcome}` }, whole(end[outcome])),
        ),
      ),
    ),
  );
  const legend = element(
    "p",
    { class: "legend small" },
    OUTCOMES.slice(0, 3).map((outcome) => badge(outcome)),
  );
  return section("How episodes ended", {}, legend, bars(rows));
}

function wrongs() {
  const names = Object.keys(overview.wrong);
  if (!names.length) return null;
  const most = Math.max(...Object.values(overview.wrong));
  const rows = names.map((name) =>
    element(
      "li",
      {},
      choice(name, { reason: `wrong ${name}` }),
      outcomeBar({ failed: overview.wrong[name] }, most),
      element("b", { class: "number" }, whole(overview.wrong[name])),
    ),
  );
  return section(
    "What failed episodes got wrong",
    {},
    element(
      "p",
      { class: "muted small" },
      "Rows that are missing, too many, or changed to something else, by table; failed episodes with each.",
    ),
    bars(rows),
  );
}

/** What broke in episodes that are not scored, each cause once. */
function causes() {
  const found = Object.entries(summary.causes);
  if (!found.length) return null;
  return section(
    "What broke",
    {},
    table(
      ["cause", "episodes"],
      found.map(([cause, count]) => [write(element("span", {}), cause), whole(count)]),
      { class: "numbers" },
    ),
  );
}

function bySeat(title, counted, what, unit) {
  const rows = Object.entries(counted).flatMap(([seat, counts]) =>
    Object.entries(counts).map(([name, count]) => [seat, name, whole(count)]),
  );
  return rows.length ? section(title, {}, table(["seat", what, unit], rows, { class: "numbers" })) : null;
}

function looking() {
  const look = summary.look_before_act;
  if (!look || !look.episodes) return null;
  const share = (value) => (value === null ? null : percent(value));
  const never = Object.entries(look.never_opened).map(([name, count]) => [name, whole(count)]);
  return section(
    "Look before act",
    {},
    facts([
      ["changed something", `${whole(look.acted)} of ${plural(look.episodes, "scored episode")}`],
      ["without reading anything before", whole(look.blind)],
      ["reads before the first change", look.reads_before === null ? null : decimal(look.reads_before)],
      ["documents opened before it", share(look.documents_before)],
      ["documents opened at any time", share(look.documents_opened)],
    ]),
    never.length
      ? element(
          "details",
          {},
          element("summary", {}, `${plural(never.length, "document")} needed and not opened`),
          table(["document", "episodes"], never, { class: "numbers" }),
        )
      : null,
  );
}

function cost() {
  const usage = Object.entries(overview.usage).map(([seat, used]) => [
    seat,
    whole(used.tokens_in || 0),
    whole(used.tokens_out || 0),
    whole(used.episodes),
  ]);
  const seconds = Object.entries(overview.timings).map(([name, value]) => [
    name === "total" ? "all episodes" : `waited for the ${name}`,
    duration(value),
  ]);
  const each = Object.entries(summary.averages).map(([name, value]) => [
    name.replace("_", " "),
    decimal(value),
  ]);
  if (!usage.length && !seconds.length && !each.length) return null;
  return section(
    "Cost",
    {},
    usage.length
      ? table(["seat", "tokens in", "tokens out", "episodes"], usage, { class: "numbers" })
      : element("p", { class: "muted small" }, "No seat was played by a model that counts its tokens."),
    facts([
      ...seconds,
      ["prompts that did not extend their tokens", summary.drift === null ? null : whole(summary.drift)],
    ]),
    each.length
      ? element("details", {}, element("summary", {}, "Averages of scored episodes"), facts(each))
      : null,
  );
}

/* -- where the numbers come from ------------------------------------------------------------------ */

function configuration() {
  const settings = Object.entries(run.configuration).map(([name, value]) => [
    name.replaceAll("_", " "),
    code(value),
  ]);
  return section(
    "Configuration",
    {},
    facts([...settings, ["seed", code(run.seed)], ["trials", code(String(run.trials))]]),
  );
}

function provenance() {
  const versions = Object.entries(run.versions).map(([name, version]) => [name, code(version)]);
  return section(
    "Provenance",
    {},
    facts([
      ["database (SHA-256)", code(run.image)],
      ["documents (SHA-256)", code(run.documents)],
    ]),
    element("details", {}, element("summary", {}, "Versions"), facts(versions)),
    run.resumed.length
      ? element(
          "details",
          {},
          element("summary", {}, plural(run.resumed.length, "note of resuming", "notes of resuming")),
          element(
            "ul",
            {},
            run.resumed.map((line) => element("li", {}, line)),
          ),
        )
      : null,
    element(
      "p",
      { class: "muted small" },
      "Token streams are counted here and not included; they are in the run's folder. " +
        "This page shows what players may not see: it is for the owner of the run.",
    ),
  );
}
