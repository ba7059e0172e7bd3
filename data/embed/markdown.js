// Markdown as a tree of elements. Unfinished markup, as in an answer that is still growing, is text,
// and so is anything unsupported: HTML, images, tables.

/** Maximum nesting of lists and quotations. */
const DEPTH_MAX = 6;

const FENCE = /^ {0,3}(`{3,}|~{3,})[^`]*$/;
const HEADING = /^ {0,3}#{1,6}\s+(.*?)\s*#*$/;
const RULE = /^ {0,3}([-*_])(?: *\1){2,} *$/;
const QUOTATION = /^ {0,3}> ?/;
const ITEM = /^( {0,3})([-+*]|\d{1,9}[.)])(?: +(.*)|)$/;
const CODE = /^(?: {4}|\t)/;
/** Lines that end a paragraph without an empty line. A number within a paragraph starts no list. */
const INTERRUPTION = [FENCE, HEADING, RULE, QUOTATION, /^ {0,3}(?:[-+*]|1[.)]) +\S/];

/** Inline markup, one alternative each. Lengths are bounded, so that no text takes long. */
const INLINE = new RegExp(
  [
    /\\([!-/:-@[-`{-~])/,
    /(?<ticks>`+)(?!`)(?<code>[^]{1,2000}?)(?<!`)\k<ticks>(?!`)/,
    /\*\*(?=\S)(?<strong>[^]{0,1000}?\S\*?)\*\*(?!\*)/,
    /(?<![\p{L}\p{N}_])__(?=\S)(?<strong2>[^]{0,1000}?\S)__(?![\p{L}\p{N}_])/,
    /\*(?=[^\s*])(?<em>[^*]{0,1000}[^\s*])\*(?!\*)/,
    /(?<![\p{L}\p{N}_])_(?=[^\s_])(?<em2>[^_]{0,1000}[^\s_])_(?![\p{L}\p{N}_])/,
    /(?<!!)\[(?<label>[^[\]]{1,300})\]\((?<target>[^\s()<>]{1,2000})(?: "[^"]{0,300}")?\)/,
    /<(?<auto>(?:https?|mailto):[^\s<>]{1,2000})>/,
    /(?<bare>https?:\/\/[^\s<>"'`*]{0,2000}[^\s<>"'`*.,;:!?)\]_])/,
  ]
    .map(({ source }) => source)
    .join("|"),
  "gu",
);

const node = (tag, children, attributes = {}) => ({ tag, attributes, children });

/** The URL of a link, if it is allowed: `https`, `mailto`, or one of the service's own. */
const linkTarget = (address, isOwn) => {
  const url = URL.canParse(address) ? new URL(address) : null;
  const isAllowed = url && (["https:", "mailto:"].includes(url.protocol) || (url.protocol === "http:" && isOwn(url)));
  return isAllowed ? url.href : null;
};

const inlineOf = (text, isOwn, depth = 0) => {
  const nodes = [];
  let end = 0;
  const nested = (inner) => (depth < DEPTH_MAX ? inlineOf(inner, isOwn, depth + 1) : [inner]);
  const linkOf = (whole, label, address) => {
    const href = linkTarget(address, isOwn);
    return href ? node("a", label, { href, rel: "noopener nofollow", target: "_blank" }) : whole;
  };
  for (const match of text.matchAll(INLINE)) {
    const [whole, escaped] = match;
    const { code, strong, strong2, em, em2, label, target, auto, bare } = match.groups;
    nodes.push(text.slice(end, match.index));
    end = match.index + whole.length;
    if (escaped) {
      nodes.push(escaped);
    } else if (code) {
      nodes.push(node("code", [code.trim() || code]));
    } else if (strong ?? strong2) {
      nodes.push(node("strong", nested(strong ?? strong2)));
    } else if (em ?? em2) {
      nodes.push(node("em", nested(em ?? em2)));
    } else if (label) {
      nodes.push(linkOf(whole, nested(label), target));
    } else {
      nodes.push(linkOf(whole, [auto ?? bare], auto ?? bare));
    }
  }
  nodes.push(text.slice(end));
  return nodes.filter((child) => child !== "");
};

const indentOf = (line) => line.length - line.trimStart().length;

/** The lines from `start` on that belong to the item whose text is indented by `indent`. */
const itemEnd = (lines, start, indent) => {
  let end = start;
  while (end < lines.length) {
    const line = lines[end];
    const isBlank = line.trim() === "";
    const isAfterBlank = end > start && lines[end - 1].trim() === "";
    const isInner = isBlank || indentOf(line) >= indent;
    const isLazy = !isAfterBlank && ![...INTERRUPTION, ITEM].some((begin) => begin.test(line));
    if (!isInner && !isLazy) {
      break;
    }
    end += 1;
  }
  while (end > start && lines[end - 1].trim() === "") {
    end -= 1;
  }
  return end;
};

/** A list that begins at line `start`, and the line after it. */
const listOf = (lines, start, isOwn, depth) => {
  const [, outer, first] = ITEM.exec(lines[start]);
  const isOrdered = /\d/.test(first);
  const items = [];
  let at = start;
  for (;;) {
    while (at < lines.length && lines[at].trim() === "" && items.length > 0) {
      at += 1;
    }
    const match = ITEM.exec(lines[at] ?? "");
    if (!match || /\d/.test(match[2]) !== isOrdered || match[1].length > outer.length + 1 || RULE.test(lines[at])) {
      break;
    }
    // Handwritten Markdown indents by at least two.
    const end = itemEnd(lines, at + 1, outer.length + 2);
    const rest = lines.slice(at + 1, end);
    const indent = Math.min(match[1].length + match[2].length + 1, ...rest.filter((line) => line.trim() !== "" && indentOf(line) >= 2).map(indentOf));
    const inner = rest.map((line) => line.slice(Math.min(indent, indentOf(line))));
    const blocks = blocksOf([match[3] ?? "", ...inner], isOwn, depth + 1);
    items.push(node("li", blocks.flatMap((block, index) => (block.tag === "p" && index === 0 ? block.children : [block]))));
    at = end;
  }
  const number = Number.parseInt(first, 10);
  const attributes = isOrdered && number !== 1 ? { start: String(number) } : {};
  // Plain items with `+` are a menu, to choose from.
  const isMenu = first === "+" && depth === 0 && items.every((item) => item.children.every((part) => typeof part === "string"));
  return [node(isOrdered ? "ol" : isMenu ? "menu" : "ul", items, attributes), at];
};

const blocksOf = (lines, isOwn, depth) => {
  const blocks = [];
  let at = 0;
  /** The next lines, as long as `belongs` returns true. */
  const take = (belongs) => {
    const start = at;
    while (at < lines.length && belongs(lines[at])) {
      at += 1;
    }
    return lines.slice(start, at);
  };
  const code = (taken) => blocks.push(node("pre", [node("code", [taken.join("\n").replace(/\n+$/, "")])]));
  while (at < lines.length) {
    const line = lines[at];
    const [, fence] = FENCE.exec(line) ?? [];
    const heading = HEADING.exec(line);
    if (line.trim() === "") {
      at += 1;
    } else if (fence) {
      at += 1;
      const isInside = (inner) => !(inner.trim().startsWith(fence) && /^ *(`+|~+) *$/.test(inner));
      code(take(isInside));
      at += 1;
    } else if (CODE.test(line)) {
      code(take((inner) => CODE.test(inner) || inner.trim() === "").map((inner) => inner.replace(CODE, "")));
    } else if (heading) {
      // All of one level: the page has its own hierarchy of headings.
      blocks.push(node("h3", inlineOf(heading[1], isOwn)));
      at += 1;
    } else if (RULE.test(line)) {
      blocks.push(node("hr", []));
      at += 1;
    } else if (QUOTATION.test(line) && depth < DEPTH_MAX) {
      const quoted = take((inner) => QUOTATION.test(inner)).map((inner) => inner.replace(QUOTATION, ""));
      blocks.push(node("blockquote", blocksOf(quoted, isOwn, depth + 1)));
    } else if (ITEM.test(line) && depth < DEPTH_MAX) {
      const [list, next] = listOf(lines, at, isOwn, depth);
      blocks.push(list);
      at = next;
    } else {
      at += 1;
      const ends = (inner) => inner.trim() === "" || INTERRUPTION.some((begin) => begin.test(inner));
      const paragraph = [line, ...take((inner) => !ends(inner))].map((inner) => inner.trim()).join("\n");
      blocks.push(node("p", inlineOf(paragraph, isOwn)));
    }
  }
  return blocks;
};

/** The blocks of `text`: strings, and nodes with `tag`, `attributes` and `children`. */
export const markdown = (text, isOwn = () => false) => blocksOf(text.replace(/\r\n?/g, "\n").split("\n"), isOwn, 0);
