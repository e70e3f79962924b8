/* Texts that players wrote: nothing in them is trusted, and nothing in them is hidden. */

const SHOWN = 20000; // characters of one text that are shown at first

/* Scripts in which U+200C and U+200D decide how letters join. */
const JOINING = "Arab Syrc Mong Deva Beng Guru Gujr Orya Taml Telu Knda Mlym Sinh"
  .split(" ")
  .map((script) => `\\p{scx=${script}}`)
  .join("");

/* What cannot be seen, or turns the direction of text around, is written as an escape: controls, what Unicode says
 * is to be ignored when it is shown, halves of characters. What belongs to an emoji, or follows a letter of a
 * script that joins its letters, stays: it is seen by what it does there. */
const ODD = new RegExp(
  [
    "(?!(?<=\\p{ExtPict})[\\ufe0e\\ufe0f]|(?<=[0-9#*])\\ufe0f\\u20e3)",
    "(?!(?<=\\p{ExtPict}[\\ufe0f\\p{EMod}]?)\\u200d\\p{ExtPict})",
    `(?!(?<=[${JOINING}])[\\u200c\\u200d])`,
    "(?:(?![\\t\\n\\r])\\p{Cc}|[\\p{DI}\\p{Cs}\\ufff9-\\ufffb])",
  ].join(""),
  "gu",
);

/** Append a text to a node, with escapes for what could not be seen. */
function write(node, words) {
  let from = 0;
  for (const match of words.matchAll(ODD)) {
    const number = match[0].codePointAt(0).toString(16).padStart(4, "0");
    const shown = number.length > 4 ? `\\u{${number}}` : `\\u${number}`;
    node.append(words.slice(from, match.index), element("span", { class: "odd" }, shown));
    from = match.index + match[0].length;
  }
  node.append(words.slice(from));
  return node;
}

/** Append what `render` makes of a text; of a long one, of its beginning, with a button for the whole. */
function unfold(node, words, render = write) {
  if (words.length <= SHOWN) {
    render(node, words);
    return node;
  }
  node.classList.add("long"); // finding each paragraph's direction takes seconds in a long one
  const pair = /[\ud800-\udbff]/.test(words[SHOWN - 1]);
  render(node, words.slice(0, pair ? SHOWN - 1 : SHOWN));
  const more = element(
    "button",
    {
      type: "button",
      class: "button more",
      onclick: () => {
        node.replaceChildren();
        render(node, words);
        node.tabIndex = -1;
        node.focus({ preventScroll: true });
      },
    },
    `Show all ${whole(words.length)} characters`,
  );
  node.append(element("span", { class: "cut" }, "\u2026 ", more));
  return node;
}

/** An id or name, in a direction of its own. */
function named(words) {
  return write(element("bdi"), words);
}

/** What somebody said: line breaks stay, and each paragraph runs in its own direction. */
function spoken(words, attributes = {}) {
  return unfold(element("div", { class: "words", dir: "auto", ...attributes }), words);
}

/** JSON text, indented. It is not parsed, so that numbers stay as they are written. */
function json(words) {
  return unfold(element("pre", { class: "json", dir: "ltr" }), words, indent);
}

function indent(node, words) {
  let plain = "";
  let depth = 0;
  let at = 0;
  const flush = () => {
    node.append(plain);
    plain = "";
  };
  // Whether a string of several lines stands before, which is a block and needs no line feed.
  const afterLines = () => plain === "" && node.lastChild && node.lastChild.classList?.contains("lines");
  const next = () => {
    plain += `${afterLines() ? "" : "\n"}${"  ".repeat(Math.min(depth, 32))}`;
  };
  while (at < words.length) {
    const sign = words[at];
    if (sign === '"') {
      const end = closing(words, at);
      const name = /\s*:/y;
      name.lastIndex = end;
      flush();
      node.append(
        name.test(words)
          ? write(element("span", { class: "key" }), words.slice(at, end))
          : string(words.slice(at, end)),
      );
      at = end;
    } else if (sign === "{" || sign === "[") {
      const rest = /\s*[}\]]/y;
      rest.lastIndex = at + 1;
      plain += sign;
      if (rest.test(words)) {
        plain += words[rest.lastIndex - 1];
        at = rest.lastIndex;
      } else {
        depth += 1;
        next();
        at += 1;
      }
    } else if (sign === "}" || sign === "]") {
      depth = Math.max(0, depth - 1);
      next();
      plain += sign;
      at += 1;
    } else if (sign === ",") {
      if (!afterLines()) plain += sign;
      next();
      at += 1;
    } else if (sign === ":") {
      plain += ": ";
      at += 1;
    } else if (/\s/.test(sign)) {
      at += 1;
    } else {
      const literal = /[^\s,:}\]]+/y;
      literal.lastIndex = at;
      const found = literal.exec(words)[0];
      flush();
      node.append(write(element("span", { class: "literal" }), found));
      at += found.length;
    }
  }
  flush();
}

/** Where a string that begins at a quotation mark ends. */
function closing(words, start) {
  let end = start;
  do {
    end = words.indexOf('"', end + 1);
    if (end < 0) return words.length;
  } while (escaped(words, end));
  return end + 1;
}

function escaped(words, at) {
  let before = at;
  while (words[before - 1] === "\\") before -= 1;
  return (at - before) % 2 === 1;
}

/** A string of JSON; one of several lines is shown as lines. */
function string(token) {
  if (token.includes("\\n")) {
    try {
      return write(
        element("span", { class: `string lines${token.length > SHOWN ? " long" : ""}`, dir: "auto" }),
        JSON.parse(token),
      );
    } catch {
      // cut off, or no string after all: shown as it is
    }
  }
  return write(element("span", { class: "string" }), token);
}
