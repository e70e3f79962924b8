/* Which page is shown, light and dark, and the keyboard. */

const main = document.getElementById("main");
const crumbs = document.getElementById("crumbs");
const help = document.getElementById("help");
const start = overviewPage();
let here = null; // the task and episode that are shown; null on the first page
let left = 0; // how far the first page was scrolled when it was left
let shown = null; // the address of what is shown

/* -- addresses: #, #task, #task/trial, #?family=...&outcome=... ----------------------------------- */

function decoded(words) {
  try {
    return decodeURIComponent(words);
  } catch {
    return words;
  }
}

/** Find what an address names: a task, and an episode of it. */
function target(hash) {
  const [id, trial] = hash.slice(1).split("/");
  const task = byId.get(decoded(id));
  const episode =
    task && trial !== undefined ? task.episodes.find((one) => String(one.trial) === trial) : undefined;
  return { task, episode, asked: trial };
}

/** Keep the filter in the address, so that it can be sent to somebody and stays on reload. */
function remember() {
  const used = Object.entries(state.filter).filter(([, value]) => value);
  const hash = used.length ? `#?${new URLSearchParams(used)}` : "#";
  if (here || location.hash === hash) return;
  history.replaceState(null, "", hash);
  shown = location.hash;
}

function filterIn(hash) {
  return Object.fromEntries(
    [...new URLSearchParams(hash.slice(2))].filter(([name]) => Object.hasOwn(NOTHING, name)),
  );
}

function show() {
  const hash = location.hash;
  shown = hash;
  const { task, episode, asked } = target(hash);
  if (hash.startsWith("#?")) state.filter = { ...NOTHING, ...filterIn(hash) };
  else if (!episode) state.filter = { ...NOTHING };
  if (episode) showEpisode(task, episode);
  else
    showStart(
      task,
      hash.length > 1 && !hash.startsWith("#?") && !task
        ? decoded(hash.slice(1))
        : asked && `${task.id}/${asked}`,
    );
}

function showStart(task, unknown) {
  const from = here;
  here = null;
  main.replaceChildren(
    ...(unknown
      ? [
          element(
            "div",
            { class: "banner", role: "alert" },
            "This report has no episode ",
            named(unknown),
            ".",
          ),
        ]
      : []),
    start,
  );
  crumbs.replaceChildren(element("span", {}, run.name));
  document.title = `${run.name} - gym-enterprise`;
  if (task) state.unfolded.add(task.id);
  draw();
  window.scrollTo(0, from ? left : 0);
  if (task) focusTask(task.id);
  else if (from) focusTask(from.task.id, from.episode.trial) || main.focus();
}

function showEpisode(task, episode) {
  const page = episodePage(task, episode);
  if (!page) {
    main.replaceChildren(element("p", { class: "muted", role: "status" }, "Reading the file \u2026"));
    return; // shown again when the file is whole
  }
  if (!here) left = window.scrollY;
  here = { task, episode };
  main.replaceChildren(page);
  const [before, after] = neighbours();
  const step = (to, sign, label, key) =>
    element(
      to ? "a" : "span",
      {
        class: "button step",
        href: to && address(to.task, to.episode.trial),
        "aria-label": label,
        "aria-disabled": !to && "true",
        "aria-keyshortcuts": key,
        title: `${label} ( ${key} )`,
      },
      sign,
    );
  crumbs.replaceChildren(
    element("a", { href: back(), class: "back" }, `\u2190 ${run.name}`),
    element("span", { class: "here" }, named(`${task.id}/${episode.trial}`)),
    step(before, "\u2039", "Previous episode", "["),
    step(after, "\u203a", "Next episode", "]"),
  );
  document.title = `${task.id}/${episode.trial} - ${run.name}`;
  window.scrollTo(0, 0);
  page.querySelector("h1").focus({ preventScroll: true });
}

function back() {
  const used = Object.entries(state.filter).filter(([, value]) => value);
  return used.length ? `#?${new URLSearchParams(used)}` : "#";
}

/** The episodes before and after this one, in the order of the table and within its filter. */
function neighbours() {
  const list = chosen().flatMap(({ task, episodes }) =>
    episodes.filter((one) => one.outcome !== "unplayed").map((episode) => ({ task, episode })),
  );
  const place = list.findIndex((one) => one.episode === here.episode);
  return place < 0 ? [null, list[0]] : [list[place - 1], list[place + 1]];
}

/* -- light and dark ------------------------------------------------------------------------------- */

const THEMES = ["auto", "light", "dark"];
const themeButton = document.getElementById("theme");

function saved() {
  try {
    return localStorage.getItem("gym-enterprise-theme");
  } catch {
    return null; // not allowed to remember anything
  }
}

function setTheme(name) {
  const theme = THEMES.includes(name) ? name : "auto";
  document.documentElement.dataset.theme = theme;
  themeButton.textContent = { auto: "Auto", light: "Light", dark: "Dark" }[theme];
  themeButton.setAttribute("aria-label", `Colours: ${theme}. Change`);
  themeButton.title = "Light, dark, or as the system has it ( t )";
  try {
    localStorage.setItem("gym-enterprise-theme", theme);
  } catch {
    // it holds until the page is closed
  }
}

function nextTheme() {
  setTheme(THEMES[(THEMES.indexOf(document.documentElement.dataset.theme) + 1) % THEMES.length]);
}

/* -- keyboard ------------------------------------------------------------------------------------- */

/** What j and k go through: rows of the table, or entries of the conversation. */
function stops() {
  return here
    ? [...document.querySelectorAll(".entries > li")].map((item) => item.querySelector("summary") || item)
    : [...view.body.querySelectorAll(".main")];
}

function move(by) {
  const list = stops();
  const at = list.findIndex(
    (one) =>
      one === document.activeElement || (one.closest("li, tr") || one).contains(document.activeElement),
  );
  const next =
    list[at < 0 ? (by > 0 ? 0 : list.length - 1) : Math.min(Math.max(at + by, 0), list.length - 1)];
  if (!next) return;
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}

const KEYS = {
  "/": () => {
    if (here) leave();
    showTasks(state.filter);
    view.words.select();
  },
  "?": () => help.showModal(),
  j: () => move(1),
  k: () => move(-1),
  t: nextTheme,
  e: () => here && document.getElementById("unfold") && unfoldAll(),
  "[": () => here && go(neighbours()[0]),
  "]": () => here && go(neighbours()[1]),
  Escape: () => here && leave(),
};

function leave() {
  location.hash = back();
  show();
}

function go(to) {
  if (to) location.hash = address(to.task, to.episode.trial);
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
  const typing = event.target.matches("input, select, textarea");
  if (typing && event.key === "Escape" && event.target === view.words) {
    if (view.words.value) showTasks({ ...state.filter, words: "" }, false);
    else view.words.blur();
    event.preventDefault();
    return;
  }
  const down = event.key === "ArrowDown";
  const arrow =
    (down || event.key === "ArrowUp") &&
    !here &&
    (event.target === view.words || view.body.contains(event.target));
  if (typing && !arrow) return;
  const act = arrow ? () => move(down ? 1 : -1) : KEYS[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

/* -- beginning ------------------------------------------------------------------------------------ */

setTheme(saved());
themeButton.addEventListener("click", nextTheme);
document.getElementById("keys").addEventListener("click", () => help.showModal());
document.getElementById("skip").addEventListener("click", () => (main.querySelector("h1") || main).focus());
window.addEventListener("hashchange", () => {
  if (location.hash !== shown) show();
});
document.addEventListener("DOMContentLoaded", () => {
  if (target(location.hash).episode && !here) show();
});
history.scrollRestoration = "manual";
show();
