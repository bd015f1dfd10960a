// The checks for every page that people see in a browser.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { chromium } from "playwright-core";

const shots = process.env.SCREENSHOTS;
const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const executablePath = [
  process.env.CHROMIUM,
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
].find((path) => path && existsSync(path));

// launch starts the browser.
export async function launch() {
  assert.ok(executablePath, "no Chromium found; install it (apt-get install chromium) or name it in CHROMIUM");
  return chromium.launch({ executablePath, args: process.getuid() === 0 ? ["--no-sandbox"] : [] });
}

// open opens a page and checks the rules for every page: no error or warning of the browser, and no request to another
// host.
export async function open(browser, server, path, options = {}, test = async () => {}) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, ...options });
  const page = await context.newPage();
  const complaints = [],
    asked = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("request", (request) => asked.push(request.url()));
  try {
    const response = await page.goto(server.url + path);
    await test(page, response);
    const status = response.status();
    assert.deepEqual(
      complaints.filter((text) => status === 200 || !text.includes(String(status))),
      [],
    );
    assert.deepEqual(
      asked.filter((url) => !url.startsWith(server.url + "/") && !url.startsWith("data:")),
      [],
    );
  } finally {
    await context.close();
  }
}

// accessible fails if axe finds a violation, and lists all of them.
export async function accessible(page) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
  assert.deepEqual(
    violations.map((v) => v.id + ": " + v.nodes.map((n) => n.html + " " + n.failureSummary).join("; ")),
    [],
  );
}

// fitting fails if the page is wider than the window, or if a control leaves its card or touches its edge.
export async function fitting(page, path) {
  const [needs, has, outside] = await page.evaluate(() => [
    document.documentElement.scrollWidth,
    innerWidth,
    [...document.querySelectorAll("main .card")].flatMap((card) => {
      const edge = card.getBoundingClientRect();
      return [...card.querySelectorAll("button, input, select, textarea")]
        .filter((one) => {
          const box = one.getBoundingClientRect();
          return box.width > 1 && !one.closest(".scroll") && (box.right > edge.right - 6 || box.left < edge.left + 6);
        })
        .map((one) => one.outerHTML.slice(0, 120));
    }),
  ]);
  assert.ok(needs <= has, `${path} needs ${needs} of ${has} pixels`);
  assert.deepEqual(outside, [], `${path} at ${has} pixels`);
}

export async function shoot(page, name, options = { fullPage: true }) {
  if (!shots) return;
  await mkdir(shots, { recursive: true });
  await page.screenshot({ path: join(shots, name), ...options });
}
