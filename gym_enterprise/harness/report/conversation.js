/* Who said what, with the calls folded. */

const SPEAKERS = { agent: "Agent", user: "User", system: "System", tool: "Tool" };
const SUCCESS = '{"ok": true, "result": ';

function conversation(task, found) {
  const calls = found.entries.filter((entry) => "call" in entry).length;
  const all = calls
    ? element(
        "button",
        { type: "button", class: "button", id: "unfold", "aria-keyshortcuts": "e", onclick: unfoldAll },
        "Unfold all calls",
      )
    : null;
  const end = found.end;
  const how = end.terminated ? "terminated" : end.truncated ? "truncated" : "not over";
  return section(
    "Conversation",
    { class: "talk" },
    element(
      "div",
      { class: "tools" },
      element(
        "span",
        { class: "muted small" },
        plural(found.entries.length - calls, "message"),
        ", ",
        plural(calls, "call"),
      ),
      all,
    ),
    prompts(task),
    element(
      "ol",
      { class: "entries" },
      found.entries.map((entry, place) => entryItem(entry, found.entries[place - 1])),
    ),
    element(
      "p",
      { class: "end muted" },
      `End: ${end.reason || "none"} (${how}) after ${plural(end.steps, "step")}`,
    ),
  );
}

function prompts(task) {
  if (!task.prompts)
    return element(
      "p",
      { class: "muted small" },
      "System prompts are not part of the records, and the task is not known here.",
    );
  return element(
    "div",
    { class: "prompts" },
    ["agent", "user"].map((seat) =>
      folded(
        [
          element("b", {}, `${SPEAKERS[seat]}'s system prompt`),
          element("span", { class: "muted small" }, `${whole(text(task.prompts[seat]).length)} characters`),
        ],
        () => [spoken(text(task.prompts[seat]))],
        { class: "prompt" },
      ),
    ),
  );
}

/** Details whose content is made when they are unfolded. */
function folded(head, content, attributes = {}) {
  const node = element("details", attributes, element("summary", {}, head));
  node.addEventListener("toggle", () => {
    if (node.open && node.children.length === 1) node.append(element("div", { class: "inside" }, content()));
  });
  return node;
}

function entryItem(entry, before) {
  const follows =
    before && before.seat === entry.seat && (before.role || before.seat) === (entry.role || entry.seat);
  const who = SPEAKERS[entry.role] || SPEAKERS[entry.seat] || entry.seat;
  const head = element("div", { class: follows ? "who hidden" : "who" }, who);
  if (!("call" in entry))
    return element(
      "li",
      { class: `entry message ${entry.seat}`, id: `entry-${entry.at}`, tabindex: "-1" },
      head,
      spoken(text(entry.text)),
    );
  const beside =
    "said" in entry
      ? element(
          "div",
          { class: "beside" },
          spoken(text(entry.said)),
          element(
            "p",
            { class: "muted small" },
            "said beside the call: the other side hears it with the next message",
          ),
        )
      : null;
  return element(
    "li",
    { class: `entry call ${entry.seat}`, id: `entry-${entry.at}` },
    head,
    beside,
    callDetails(entry),
  );
}

function callDetails(entry) {
  const args = text(entry.arguments);
  const preview =
    args.length > 2 && args.startsWith("{") ? args.slice(1, 160).replace(/\}$/, "") : args.slice(0, 160);
  const name = entry.call || "(unreadable call)";
  const writes = overview.writes.includes(entry.inner || entry.call)
    ? element("span", { class: "tag writes" }, "writes")
    : null;
  const status = {
    true: ["ok", `${SIGNS.passed} ok`],
    false: ["bad", `${SIGNS.failed} ${entry.code || "error"}`],
  }[entry.ok] || ["none", "no outcome"];
  const head = [
    element("span", { class: "tool" }, named(entry.inner ? `${name} \u2192 ${entry.inner}` : name)),
    writes,
    write(element("span", { class: "preview", dir: "ltr" }), preview),
    element("span", { class: `status ${status[0]}` }, status[1]),
  ];
  return folded(head, () => [
    part("Arguments", json(args)),
    part(entry.ok === false ? "Error" : "Result", outcomeOf(entry)),
    element("p", { class: "muted small" }, `${SPEAKERS[entry.seat]}'s call, id `, code(entry.id)),
  ]);
}

function part(name, content) {
  return element("div", { class: "part" }, element("div", { class: "label" }, name), content);
}

function outcomeOf(entry) {
  if (entry.ok === false) return element("div", {}, code(entry.code), spoken(entry.error));
  if (entry.ok !== true) return element("p", { class: "muted" }, "The record ends before an outcome.");
  const words = text(entry.result);
  return json(words.startsWith(SUCCESS) ? words.slice(SUCCESS.length, -1) : words);
}

function unfoldAll() {
  const every = [...document.querySelectorAll(".entries details")];
  const open = !every.every((node) => node.open);
  for (const node of every) node.open = open;
  document.getElementById("unfold").textContent = open ? "Fold all calls" : "Unfold all calls";
}
