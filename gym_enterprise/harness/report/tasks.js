/* The table of tasks and episodes: filter, order, unfold. */

const LINKED = 16; // most trials of a task that are links in its row
const NOTHING = { words: "", family: "", outcome: "", reason: "" };
const state = { filter: { ...NOTHING }, order: "run", down: false, unfolded: new Set() };

const tasks = overview.tasks.map((task, place) => {
  const trials = [...task.episodes];
  if (task.unplayed)
    trials.push({ trial: null, outcome: "unplayed", count: task.unplayed, ended: "", reason: "", wrong: [] });
  const scored = trials.filter((episode) => episode.outcome === "passed" || episode.outcome === "failed");
  const passed = scored.filter((episode) => episode.outcome === "passed").length;
  const words = [
    task.id,
    task.family,
    task.split,
    ...(task.capabilities || []),
    ...trials.flatMap((episode) => [episode.ended, episode.reason, ...episode.wrong]),
  ];
  return { ...task, place, trials, scored: scored.length, passed, search: words.join(" ").toLowerCase() };
});
const byId = new Map(tasks.map((task) => [task.id, task]));

const ORDERS = {
  run: (task) => task.place,
  task: (task) => task.id,
  family: (task) => task.family || "",
  passed: (task) => (task.scored ? task.passed / task.scored : -1),
};

function address(task, trial) {
  return `#${encodeURIComponent(task.id)}${trial === undefined ? "" : `/${trial}`}`;
}

/** The reasons by which an episode is found: how it ended, and what it got wrong. */
function reasons(episode) {
  return [
    ...(episode.outcome === "unplayed" ? [] : [`end ${episode.ended}`]),
    ...episode.wrong.map((tag) => `wrong ${tag}`),
  ];
}

function matches(task, episode) {
  const { outcome, reason } = state.filter;
  return (!outcome || episode.outcome === outcome) && (!reason || reasons(episode).includes(reason));
}

/** Tasks and their episodes that pass the filter, in order. */
function chosen() {
  const { words, family, outcome, reason } = state.filter;
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const list = [];
  for (const task of tasks) {
    if (family && task.family !== family) continue;
    if (!wanted.every((word) => task.search.includes(word))) continue;
    const episodes = task.trials.filter((episode) => matches(task, episode));
    if (episodes.length || (!outcome && !reason)) list.push({ task, episodes });
  }
  const key = ORDERS[state.order];
  list.sort((one, other) => {
    const [a, b] = [key(one.task), key(other.task)];
    return (a < b ? -1 : a > b ? 1 : 0) * (state.down ? -1 : 1) || one.task.place - other.task.place;
  });
  return list;
}

/* -- the section ---------------------------------------------------------------------------------- */

const view = {};

function tasksSection() {
  const families = [...new Set(tasks.map((task) => task.family).filter(Boolean))].sort();
  const outcomes = OUTCOMES.filter((outcome) =>
    tasks.some((task) => task.trials.some((episode) => episode.outcome === outcome)),
  );
  view.words = element("input", {
    type: "search",
    id: "filter",
    "aria-label": "Filter tasks by text",
    "aria-keyshortcuts": "/",
    placeholder: "Filter \u2026  ( / )",
    autocomplete: "off",
    spellcheck: "false",
    oninput: changed,
  });
  view.family = select(
    "Family",
    "every family",
    families.map((name) => [name, name]),
  );
  view.outcome = select(
    "Outcome",
    "every outcome",
    outcomes.map((name) => [name, WORDS[name]]),
  );
  view.reason = select("Reason", "every reason", reasonOptions());
  view.clear = element(
    "button",
    { type: "button", class: "button", onclick: () => showTasks({}, false) },
    "Clear",
  );
  view.count = element("p", { class: "muted small", role: "status" });
  view.body = element("tbody", { role: "rowgroup" });
  view.head = element(
    "tr",
    { role: "row" },
    column("Task", "task"),
    column("Family", "family"),
    column("Trials"),
    column("Passed", "passed"),
    column("Why not"),
  );
  view.none = element(
    "p",
    { class: "empty" },
    tasks.length ? "No task passes this filter." : "The run has no tasks yet.",
  );
  return section(
    "Tasks",
    { id: "tasks" },
    element(
      "div",
      { class: "filters", role: "search" },
      view.words,
      families.length ? view.family : null,
      view.outcome,
      view.reason,
      view.clear,
    ),
    view.count,
    element(
      "table",
      { class: "tasks", role: "table", "aria-label": "Tasks and their episodes" },
      element("thead", { role: "rowgroup" }, view.head),
      view.body,
    ),
    view.none,
  );
}

function select(label, all, options) {
  const groups = new Map();
  for (const [value, name, group] of options)
    groups.set(group, [...(groups.get(group) || []), element("option", { value }, name)]);
  const parts = [...groups].map(([group, members]) =>
    group ? element("optgroup", { label: group }, members) : members,
  );
  return element(
    "select",
    { "aria-label": label, onchange: changed },
    element("option", { value: "" }, all),
    parts.flat(),
  );
}

function reasonOptions() {
  const ends = overview.ends.map((end) => [`end ${end.reason}`, end.reason || "(no reason)", "how it ended"]);
  return [...ends, ...Object.keys(overview.wrong).map((tag) => [`wrong ${tag}`, tag, "what is wrong"])];
}

function column(name, order) {
  if (!order) return element("th", { role: "columnheader", scope: "col" }, name);
  const head = element("th", { role: "columnheader", scope: "col", "data-order": order });
  head.append(
    element(
      "button",
      {
        type: "button",
        class: "sort",
        onclick: () => {
          state.down = state.order === order && !state.down;
          state.order = order;
          draw();
        },
      },
      name,
    ),
  );
  return head;
}

/** Take in what the controls say. */
function changed() {
  state.filter = {
    words: view.words.value,
    family: view.family.value,
    outcome: view.outcome.value,
    reason: view.reason.value,
  };
  remember();
  draw();
}

/** Set the filter and go to the tasks. */
function showTasks(filter, scroll = true) {
  state.filter = { ...NOTHING, ...filter };
  remember();
  draw();
  if (scroll) document.getElementById("tasks").scrollIntoView();
  if (scroll) view.words.focus({ preventScroll: true });
}

function draw() {
  for (const name of Object.keys(NOTHING)) view[name].value = state.filter[name];
  const list = chosen();
  view.body.replaceChildren(...list.flatMap(({ task, episodes }) => rows(task, episodes)));
  const some = Object.values(state.filter).some(Boolean);
  const episodes = list.reduce(
    (sum, one) => sum + one.episodes.filter((episode) => episode.outcome !== "unplayed").length,
    0,
  );
  const all = tasks.reduce((sum, task) => sum + task.episodes.length, 0);
  view.count.textContent = some
    ? `${whole(list.length)} of ${plural(tasks.length, "task")}, ${whole(episodes)} of ${plural(all, "episode")}`
    : `${plural(tasks.length, "task")}, ${plural(all, "episode")}`;
  view.clear.disabled = !some;
  view.none.hidden = list.length > 0;
  for (const head of view.head.children) {
    if (head.dataset.order)
      head.setAttribute(
        "aria-sort",
        head.dataset.order !== state.order ? "none" : state.down ? "descending" : "ascending",
      );
  }
}

/* -- rows ----------------------------------------------------------------------------------------- */

function rows(task, episodes) {
  const unfolded = state.unfolded.has(task.id);
  const only = task.trials.length === 1 && task.episodes.length === 1;
  const name = named(task.id);
  const main = only
    ? element("a", { class: "main", href: address(task, task.trials[0].trial) }, name)
    : element(
        "button",
        {
          type: "button",
          class: "main fold",
          "aria-expanded": String(unfolded),
          onclick: () => toggle(task),
        },
        name,
      );
  const first = element(
    "tr",
    { role: "row", class: "task", "data-task": task.id },
    cell("Task", main),
    cell("Family", task.family || "\u2013"),
    cell("Trials", trialsOf(task, episodes)),
    cell("Passed", `${whole(task.passed)} of ${whole(task.scored)}`),
    cell("Why not", why(episodes)),
  );
  return unfolded ? [first, ...episodes.map((episode) => episodeRow(task, episode))] : [first];
}

function cell(name, ...content) {
  return element("td", { role: "cell", "data-name": name }, content);
}

/** Episodes of a task as links or, when there are many, as a bar. */
function trialsOf(task, episodes) {
  if (episodes.length <= LINKED)
    return element(
      "div",
      { class: "chips" },
      episodes.map((episode) => chip(task, episode)),
    );
  const counts = {};
  for (const { outcome, count } of episodes) counts[outcome] = (counts[outcome] || 0) + (count || 1);
  return outcomeBar(
    counts,
    Object.values(counts).reduce((sum, count) => sum + count),
  );
}

function chip(task, episode, current = false) {
  if (episode.outcome === "unplayed") {
    const missing = `${plural(episode.count, "trial")} not played`;
    return element(
      "span",
      { role: "img", class: "chip unplayed", "aria-label": missing, title: missing },
      `+${episode.count}`,
    );
  }
  const label = `trial ${episode.trial}: ${WORDS[episode.outcome]}${episode.ended ? `, ${episode.ended}` : ""}`;
  const attributes = { class: `chip ${episode.outcome}`, "aria-label": label, title: label };
  return element(
    "a",
    { href: address(task, episode.trial), "aria-current": current && "page", ...attributes },
    SIGNS[episode.outcome],
  );
}

/** Why episodes did not pass: what they got wrong or, unscored, what broke; most often first. */
function why(episodes) {
  const counts = new Map();
  for (const episode of episodes) {
    for (const reason of faults(episode)) counts.set(reason, (counts.get(reason) || 0) + 1);
  }
  const ranked = [...counts].sort((one, other) => other[1] - one[1]);
  const shown = ranked
    .slice(0, 3)
    .map(([reason, count]) => (count > 1 ? `${count} \u00d7 ${reason}` : reason));
  return shown.join(", ") + (ranked.length > 3 ? ` and ${ranked.length - 3} more` : "");
}

function faults(episode) {
  if (episode.outcome === "unscored") return [episode.ended];
  if (episode.outcome !== "failed") return [];
  const cut = ["user_stop", "agent_stop", "terminal_tool"].includes(episode.ended) ? [] : [episode.ended];
  return [...cut, ...episode.wrong].length ? [...cut, ...episode.wrong] : [episode.reason];
}

function episodeRow(task, episode) {
  const played = episode.outcome !== "unplayed";
  const name = played ? `trial ${episode.trial}` : plural(episode.count, "trial");
  const said = [
    episode.ended,
    episode.steps ? plural(episode.steps, "step") : "",
    episode.errors ? plural(episode.errors, "failed call") : "",
    episode.tokens ? `${whole(episode.tokens)} tokens` : "",
    episode.seconds ? duration(episode.seconds) : "",
  ];
  return element(
    "tr",
    { role: "row", class: "episode" },
    cell("Trial", played ? element("a", { class: "main", href: address(task, episode.trial) }, name) : name),
    cell("Outcome", badge(episode.outcome)),
    element(
      "td",
      { role: "cell", colspan: "3", "data-name": "How" },
      element("span", {}, said.filter(Boolean).join(" \u00b7 ")),
      played && episode.outcome !== "passed"
        ? write(element("span", { class: "said" }), episode.reason)
        : null,
    ),
  );
}

function toggle(task) {
  if (!state.unfolded.delete(task.id)) state.unfolded.add(task.id);
  draw();
  focusTask(task.id);
}

function focusTask(id, trial) {
  const row = [...view.body.children].find((one) => one.dataset.task === id);
  const link = row && trial !== undefined && row.querySelector(`a.chip[href$="/${trial}"]`);
  const target = link || (row && row.querySelector(".main"));
  if (target) target.focus();
  return Boolean(target);
}
