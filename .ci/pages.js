// Checks the pages with third-party tools: axe-core on every kind of page, including the admin page, light on phone
// and desktop, dark on the phone with reduced motion, and in forced colours on the desktop; Lighthouse on every kind
// of page.
// The service is at BASE_URL, the browser at CHROMIUM.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";

const require = createRequire(new URL("../target/ci/package.json", import.meta.url));
const { chromium } = require("playwright-core");
const { default: lighthouse } = await import(require.resolve("lighthouse"));

const origin = process.env.BASE_URL;
const executablePath = process.env.CHROMIUM;
const FLAGS = readFileSync(new URL("chromium-flags", import.meta.url), "utf8").trim().split("\n");
const PHONE = { width: 390, height: 844 };
const DESK = { width: 1280, height: 900 };
/** Who looks, and with what. */
const LOOKS = [
  { colorScheme: "light", viewport: PHONE },
  { colorScheme: "light", viewport: DESK },
  { colorScheme: "dark", viewport: PHONE, reducedMotion: "reduce" },
  { colorScheme: "dark", viewport: DESK, forcedColors: "active" },
];
const CATEGORIES = ["performance", "accessibility", "best-practices", "seo", "agentic-browsing"];
/** A measurement: never the same twice on a busy machine. */
const PERFORMANCE_MIN = 0.95;
/** Every kind of page. */
const PAGES = ["/", "/help", "/developers", "/docs", "/docs/reference", "/embed", "/auth", "/problems", "/problems/rate_limited", "/newsletter", "/newsletter/thanks", "/newsletter/confirm/x", "/newsletter/leave/x"];
/** Those that no search should find. */
const HIDDEN = ["/newsletter", "/newsletter/thanks", "/newsletter/confirm/x", "/newsletter/leave/x"];

/** What axe-core looks at: a page, and what is done on it before. */
const STATES = [
  { path: "/" },
  { path: "/", name: "with answers and errors", act: fillForms },
  { path: "/", name: "while one has to wait", act: provoke },
  { path: "/", name: "while an answer grows", act: grow },
  { path: "/", name: "offline", act: disconnect },
  { path: "/developers" },
  { path: "/developers", name: "with a key", act: mintKey },
  { path: "/docs" },
  { path: "/docs/reference", name: "with all details open", act: useDocs },
  { path: "/embed" },
  { path: "/embed", name: "with the panel open", act: openPanel },
  { path: "/help" },
  { path: "/newsletter/confirm/x" },
  { path: "/newsletter/leave/x" },
  { path: "/abuot" },
  { path: "/auth" },
  { path: "/newsletter" },
  { path: "/newsletter", name: "with an error", act: sendNonsense },
  { path: "/newsletter/thanks" },
  { path: "/problems" },
  { path: "/problems/rate_limited" },
];

/** The same on the admin page, for a session and for nobody. */
const ADMIN_PATHS = ["/", "/?by=month", "/contacts", "/keys", "/policies", "/agents", "/contacts/erase?email=ada%40example.com"];

// Selectors of Playwright find what is in the shadow trees of the elements, too.

async function fillForms(page) {
  await page.fill("#question", "What is this site?");
  await page.press("#question", "Enter");
  await page.waitForSelector(".answer:not(.growing)");
  await page.fill("#email", "not an address");
  await page.press("#email", "Enter");
  await page.waitForSelector("#email-error:visible");
}

async function mintKey(page) {
  await page.press("#label", "Enter");
  await page.waitForSelector(".key:visible");
}

async function openPanel(page) {
  await page.click(".launcher");
  await page.fill(".panel #question", "What is this site?");
  await page.press(".panel #question", "Enter");
  await page.waitForSelector(".panel .answer:not(.growing)");
}

/** Until it was not too soon. */
async function sendNonsense(page) {
  await page.fill("#email", "ada@example");
  do {
    await page.click("[action='/newsletter'] [type=submit]");
    await page.waitForLoadState();
  } while ((await page.$("#email-error")) === null);
}

async function provoke(page) {
  const problem = { detail: "Too many.", resolution: "Wait, then send the request again." };
  const refuse = (route) =>
    route.fulfill({
      status: 429,
      headers: { "Retry-After": "3600", "Content-Type": "application/problem+json" },
      body: JSON.stringify(problem),
    });
  await page.route("**/api/v1/**", refuse);
  await submitBoth(page, "Try again in ");
}

async function grow(page) {
  await page.evaluate(() => {
    const begin = (controller) =>
      controller.enqueue(new TextEncoder().encode('event: delta\ndata: {"text":"See\\n\\n    curl"}\n\n'));
    window.fetch = async () => new Response(new ReadableStream({ start: begin }));
  });
  await page.fill("#question", "How do I get an API key?");
  await page.press("#question", "Enter");
  await page.waitForSelector(".growing pre");
}

async function disconnect(page) {
  await page.context().setOffline(true);
  await submitBoth(page, "Can’t reach the service");
}

/** Sends both forms of the home page and waits until each says `words`. */
async function submitBoth(page, words) {
  await page.fill("#question", "What is this site?");
  await page.fill("#email", "ada@example.com");
  for (const name of ["landing-newsletter", "landing-chat"]) {
    await page.click(`${name} [type=submit]:visible`);
    await page.waitForSelector(`${name} .status :text("${words}")`);
  }
}

async function useDocs(page) {
  await page.evaluate(() => document.querySelectorAll("details").forEach((part) => (part.open = true)));
  await page.press("[name=message]", "Enter");
  await page.waitForSelector("output:visible");
}

/** The admin page with a contact, a key and their windows, signed in. */
async function adminStates(browser) {
  const link = new URL(process.env.ADMIN_LINK);
  const post = (path, body) =>
    fetch(origin + path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
  await post("/api/v1/newsletter", { email: "ada@example.com" });
  await post("/api/v1/keys", { label: "A shop" });
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(link.href);
  await page.click("main button");
  await page.waitForSelector("svg.plot");
  const storageState = await context.storageState();
  // The pages of the session are below a path of its own.
  const base = page.url().replace(/\/$/, "");
  await context.close();
  const openDetails = (page) =>
    page.evaluate(() => document.querySelectorAll("details").forEach((part) => (part.open = true)));
  return [
    ...ADMIN_PATHS.map((path) => ({ path, base, storageState, name: "admin page", act: openDetails })),
    { path: "/", base: link.origin, name: "admin page without a session" },
  ];
}

/** axe-core's findings, a line each. */
async function axe() {
  const source = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
  const browser = await chromium.launch({ executablePath, args: FLAGS });
  const findings = [];
  for (const { path, name = "as it comes", act, base = origin, storageState } of [...STATES, ...(await adminStates(browser))]) {
    for (const look of LOOKS) {
      const context = await browser.newContext({ ...look, storageState });
      const page = await context.newPage();
      await page.goto(base + path);
      await act?.(page);
      await page.evaluate(source);
      const { violations, passes } = await page.evaluate(() =>
        axe.run({ rules: { "target-size": { enabled: true } } }),
      );
      const { viewport, ...preferences } = look;
      const where = `${path} ${name}, ${Object.values(preferences).join(", ")}, ${viewport.width} px`;
      console.log(`axe-core: ${where}: ${passes.length} rules hold, ${violations.length} do not`);
      for (const { id, help, nodes } of violations) {
        for (const node of nodes) {
          findings.push(`${where}: ${id} (${help}): ${node.html}: ${node.failureSummary}`);
        }
      }
      await context.close();
    }
  }
  await browser.close();
  return findings;
}

const freePort = () =>
  new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

/**
 * What cannot pass: the AI catalog lists the API by its OpenAPI description, and of the types that
 * the audit knows none is for that. It calls it a low severity and takes a tenth of a point.
 */
const isExcused = ({ id, score, details }) =>
  id === "ard-schema" &&
  score === 0.9 &&
  details.items.every(({ issue }) => issue.startsWith("Media type 'application/vnd.oai.openapi+json' is not"));

/**
 * What Lighthouse reports. On a busy machine it may miss the paint, or find the page slow: then it looks again, and a
 * page that is slow each time is slow.
 */
const look = async (url, port, looks = 5) => {
  const { lhr } = await lighthouse(url, { port, onlyCategories: CATEGORIES, logLevel: "error" });
  const isMissed = Object.values(lhr.audits).some((audit) => audit.scoreDisplayMode === "error");
  const isSlow = lhr.categories.performance.score < PERFORMANCE_MIN;
  return (isMissed || isSlow) && looks > 1 ? look(url, port, looks - 1) : lhr;
};

/** The audits that keep Lighthouse from 100, a line each. */
async function audit() {
  const port = await freePort();
  const args = [...FLAGS, `--remote-debugging-port=${port}`];
  const browser = await chromium.launch({ executablePath, args });
  const findings = [];
  for (const path of PAGES) {
    const lhr = await look(origin + path, port);
    for (const category of Object.values(lhr.categories)) {
      console.log(`Lighthouse: ${path}: ${category.id}: ${Math.round(category.score * 100)}`);
      if (category.id === "performance") {
        if (category.score < PERFORMANCE_MIN) {
          findings.push(`${path}: performance: ${category.score}`);
        }
        continue;
      }
      if (category.id === "seo" && HIDDEN.includes(path)) {
        continue;
      }
      for (const { id, weight } of category.auditRefs) {
        const audit = lhr.audits[id];
        const isNoMatter = weight === 0 || ["informative", "notApplicable"].includes(audit.scoreDisplayMode);
        if (!isNoMatter && audit.score !== 1) {
          const why = audit.errorMessage ?? JSON.stringify(audit.details?.items ?? []);
          const finding = `${path}: ${category.id}: ${id} (${audit.title}): ${why}`;
          isExcused(audit) ? console.log(`excused: ${finding}`) : findings.push(finding);
        }
      }
    }
  }
  await browser.close();
  return findings;
}

const findings = [...(await axe()), ...(await audit())];
findings.forEach((finding) => console.error(finding));
process.exitCode = findings.length === 0 ? 0 : 1;
