// Markdown as elements: what models write, what is half written, and what would do harm.

import assert from "node:assert/strict";
import { test } from "node:test";

import { markdown } from "../../data/embed/markdown.js";

const HERE = "http://127.0.0.1:8080";

const shown = (node) => {
  if (typeof node === "string") {
    return node;
  }
  const { href, start } = node.attributes;
  const attributes = (href ? ` ${href}` : "") + (start ? ` ${start}` : "");
  return `<${node.tag}${attributes}>${node.children.map(shown).join("")}</${node.tag}>`;
};

/** The elements of a text, in one line. */
const read = (text) => markdown(text, ({ origin }) => origin === HERE).map(shown).join("");

const check = (rows) => {
  for (const [text, expected] of rows) {
    assert.equal(read(text), expected, text);
  }
};

test("paragraphs keep their lines", () => {
  check([
    ["", ""],
    ["\n\n \n", ""],
    ["One\ntwo\n\nThree", "<p>One\ntwo</p><p>Three</p>"],
    ["One\r\n\r\nTwo\rthree", "<p>One</p><p>Two\nthree</p>"],
    ["One\u2028two", "<p>One\u2028two</p>"],
    ["| a | b |\n|---|---|\n| 1 | 2 |", "<p>| a | b |\n|---|---|\n| 1 | 2 |</p>"],
  ]);
});

test("headings are of one level", () => {
  check([
    ["# One", "<h3>One</h3>"],
    ["#### *Four* ##\nText", "<h3><em>Four</em></h3><p>Text</p>"],
    ["#no heading", "<p>#no heading</p>"],
    ["####### seven", "<p>####### seven</p>"],
  ]);
});

test("pieces of a line are marked", () => {
  check([
    ["**b** __c__ *i* _j_ `k`", "<p><strong>b</strong> <strong>c</strong> <em>i</em> <em>j</em> <code>k</code></p>"],
    ["***both***", "<p><strong><em>both</em></strong></p>"],
    ["**b *i* `*`**", "<p><strong>b <em>i</em> <code>*</code></strong></p>"],
    ["**a**b**c**", "<p><strong>a</strong>b<strong>c</strong></p>"],
    ["``a ` b``", "<p><code>a ` b</code></p>"],
    ["snake_case_name, 2 * 3 * 4, a**", "<p>snake_case_name, 2 * 3 * 4, a**</p>"],
    ["\\*no\\* 1\\. \\a", "<p>*no* 1. \\a</p>"],
  ]);
});

test("lists stand in each other", () => {
  check([
    ["- a\n- b", "<ul><li>a</li><li>b</li></ul>"],
    ["* a\n\n* b\n\nEnd", "<ul><li>a</li><li>b</li></ul><p>End</p>"],
    ["Text:\n\n+ a\n+ b?", "<p>Text:</p><menu><li>a</li><li>b?</li></menu>"],
    ["Text:\n1. a\n2. b", "<p>Text:</p><ol><li>a</li><li>b</li></ol>"],
    ["3) a\n4) b", "<ol 3><li>a</li><li>b</li></ol>"],
    ["- a\n  - b\n    1. c\n- d", "<ul><li>a<ul><li>b<ol><li>c</li></ol></li></ul></li><li>d</li></ul>"],
    ["1. a\n   - b\n2. c", "<ol><li>a<ul><li>b</li></ul></li><li>c</li></ol>"],
    ["- a\n\n  more\n\n      code", "<ul><li>a<p>more</p><pre><code>code</code></pre></li></ul>"],
    ["- a\n- ", "<ul><li>a</li><li></li></ul>"],
    ["In 2026. It was", "<p>In 2026. It was</p>"],
    ["The year\n2026. It was", "<p>The year\n2026. It was</p>"],
  ]);
});

test("code is text", () => {
  check([
    ["```js\nlet *a*;\n\n<b>\n```\nEnd", "<pre><code>let *a*;\n\n<b></code></pre><p>End</p>"],
    ["~~~\n```\n~~~", "<pre><code>```</code></pre>"],
    ["Like this:\n\n    curl x\n\n      y\n\nEnd", "<p>Like this:</p><pre><code>curl x\n\n  y</code></pre><p>End</p>"],
    ["````\n```\n````", "<pre><code>```</code></pre>"],
  ]);
});

test("quotations and rules", () => {
  check([
    ["> One\n> - a\n\nTwo", "<blockquote><p>One</p><ul><li>a</li></ul></blockquote><p>Two</p>"],
    ["One\n\n---\nTwo", "<p>One</p><hr></hr><p>Two</p>"],
    ["* * *", "<hr></hr>"],
  ]);
});

test("links lead to https, to mail, and to the service", () => {
  check([
    ["[a](https://b.example/c?d=1#e)", "<p><a https://b.example/c?d=1#e>a</a></p>"],
    ['[**a**](https://b.example "Title").', "<p><a https://b.example/><strong>a</strong></a>.</p>"],
    ["See https://b.example/c, or (https://d.example).", "<p>See <a https://b.example/c>https://b.example/c</a>, or (<a https://d.example/>https://d.example</a>).</p>"],
    ["<mailto:ada@example.com> <https://b.example>", "<p><a mailto:ada@example.com>mailto:ada@example.com</a> <a https://b.example/>https://b.example</a></p>"],
    [`${HERE}/docs#a [b](${HERE}/c)`, `<p><a ${HERE}/docs#a>${HERE}/docs#a</a> <a ${HERE}/c>b</a></p>`],
  ]);
  const [{ children: [link] }] = markdown("https://b.example");
  assert.deepEqual(link.attributes, { href: "https://b.example/", rel: "noopener nofollow", target: "_blank" });
});

test("what leads elsewhere is text", () => {
  for (const text of [
    "[a](javascript:alert(1))",
    "[a](JaVaScRiPt:alert)",
    "[a](data:text/html,<script>)",
    "[a](vbscript:x)",
    "[a](http://b.example/)",
    "[a](//b.example/)",
    "[a](/docs)",
    "[a](https://)",
    "[a](tel:1)",
    "http://127.0.0.1:8081/",
    "<javascript:alert(1)>",
    "![a](data:image/png;base64,)",
    "<img src=x onerror=alert(1)>",
  ]) {
    // One paragraph of text, whatever it says.
    const [paragraph, ...more] = markdown(text);
    assert.deepEqual([paragraph.tag, more], ["p", []], text);
    assert.ok(paragraph.children.every((child) => typeof child === "string"), text);
    assert.equal(read(text), `<p>${text}</p>`, text);
  }
  assert.equal(read("[a](javascript:alert(1))"), "<p>[a](javascript:alert(1))</p>");
});

test("what is not finished is text, however far it has come", () => {
  const whole = "# T\n\nSome **bold** and `code` and [link](https://a.example/b).\n\n- one\n  - *two*\n\n```js\nlet a;\n```\n\n> q";
  for (let length = 0; length <= whole.length; length += 1) {
    const text = whole.slice(0, length);
    const letters = (marked) => marked.replace(/<[^>]*>/g, "").replace(/[^a-z]/gi, "");
    const found = letters(read(text));
    // The words are all there, whatever marks there are.
    for (const word of ["Some", "bold", "one", "two"]) {
      assert.ok(!text.includes(word) || found.includes(word), `${word} in ${text}`);
    }
  }
  check([
    ["**bo", "<p>**bo</p>"],
    ["`co", "<p>`co</p>"],
    ["[li](https://a", "<p>[li](<a https://a/>https://a</a></p>"],
    ["```\nlet", "<pre><code>let</code></pre>"],
    ["-", "<ul><li></li></ul>"],
  ]);
});

test("no text takes long or nests deep", () => {
  const marks = ["*", "**", "_", "`", "[", "](", "> ", "- ", "1. ", "#", "\\", "<", "https://", "*a ", "[a](b", "~~~", "  - a\n", " "];
  const begun = performance.now();
  for (const mark of marks) {
    const text = mark.repeat(Math.ceil(10_000 / mark.length));
    assert.ok(JSON.stringify(markdown(text)).length < 5_000_000);
  }
  assert.ok(performance.now() - begun < 5_000);
});
