// Checks every page of the console with Lighthouse, signed in and with the demo data. On a desktop it checks
// performance, accessibility and best practices. On a phone it checks accessibility and best practices. It prints a
// table, and fails if a page is below its bound.
//
//   make lighthouse                  every page; if the performance of a page is below its bound, the median of RUNS runs counts
//   make lighthouse ONLY=settings    pages with a matching address
//   make lighthouse SHORT=1          a few pages on a phone, without performance, because a busy machine changes it
import { existsSync } from "node:fs";
import lighthouse, { desktopConfig } from "lighthouse";
import puppeteer from "puppeteer-core";
import { addresses } from "../browser/addresses.mjs";
import { call, freePort, start, until } from "../browser/server.mjs";

const bounds = { performance: 95, accessibility: 100, "best-practices": 100 };
const steady = ["accessibility", "best-practices"];
const short = Boolean(process.env.SHORT),
  only = new RegExp(process.env.ONLY ?? ""),
  runs = Number(process.env.RUNS ?? 3);
const few = /^(overview|events$|people$|errors\?|metrics\?|flags$|settings\/telemetry)/;
const executablePath = [
  process.env.CHROMIUM,
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
].find((path) => path && existsSync(path));

// filled starts a server with the demo data. It returns the server and the addresses of the pages.
async function filled() {
  const port = await freePort();
  const server = await start({ SVC_HTTP_ADDR: `127.0.0.1:${port}`, SVC_PUBLIC_URL: `http://localhost:${port}` });
  const read = (path) => call(server, server.token, "GET", "/api/v1/apps/acme/demo" + path);
  try {
    await server.demo();
    await until("all is counted", async () =>
      (await read("/analytics/overview?range=90d")).visitors > 2000 &&
      (await read("/metrics/names")).data.length > 8 &&
      (await read("/incidents?status=all")).data.length > 0
        ? true
        : undefined,
    );
    const paths = await addresses(async (path) => (await read(path)).data);
    return { server, paths: paths.filter((path) => only.test(path) && (!short || few.test(path))) };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

// reported runs Lighthouse until it has seen the page load. On a busy machine the beginning of a recording may be
// missing.
async function reported(page, url, phone, categories) {
  for (let left = 2; ; left--) {
    const { lhr } = await lighthouse(
      url,
      { logLevel: "silent", onlyCategories: categories },
      phone ? undefined : desktopConfig,
      page,
    );
    if (!lhr.runtimeError) return lhr;
    if (left === 0) throw new Error(`${url}: ${lhr.runtimeError.message}`);
  }
}

// judge runs Lighthouse once. It returns the scores of the categories and the reasons for scores below 100.
async function judge(page, url, phone, categories) {
  const lhr = await reported(page, url, phone, categories);
  if (!(await page.$("#content h1, #content h2"))) throw new Error(url + " is not shown; somebody is not signed in");
  const scores = {},
    faults = [];
  for (const [id, category] of Object.entries(lhr.categories)) {
    scores[id] = Math.round(category.score * 100);
    if (scores[id] >= bounds[id]) continue;
    for (const { id: audit, weight } of category.auditRefs) {
      const { score, title, displayValue = "", details } = lhr.audits[audit];
      if (weight > 0 && score !== null && score < 0.9)
        faults.push(
          `${id}: ${title} ${displayValue} ${JSON.stringify((details?.items ?? []).slice(0, 3).map((item) => item.node?.snippet ?? item.description ?? item.url ?? item.source ?? ""))}`,
        );
    }
  }
  return { scores, faults };
}

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

// judged checks one page on a desktop and on a phone.
async function judged(page, url) {
  const phone = await judge(page, url, true, steady);
  if (short)
    return {
      scores: {
        "phone accessibility": phone.scores.accessibility,
        "phone best-practices": phone.scores["best-practices"],
      },
      faults: phone.faults,
    };
  const desktop = await judge(page, url, false, Object.keys(bounds));
  const all = [desktop.scores.performance];
  let slow = desktop.faults;
  while (all[0] < bounds.performance && all.length < runs) {
    const again = await judge(page, url, false, ["performance"]);
    all.push(again.scores.performance);
    slow = slow.concat(again.faults);
  }
  const faults = phone.faults.concat(
    median(all) < bounds.performance ? slow : slow.filter((fault) => !fault.startsWith("performance")),
  );
  return {
    scores: {
      ...desktop.scores,
      performance: median(all),
      "phone accessibility": phone.scores.accessibility,
      "phone best-practices": phone.scores["best-practices"],
    },
    faults,
    runs: all,
  };
}

const below = (scores) => Object.entries(scores).some(([name, score]) => score < bounds[name.replace("phone ", "")]);

// all checks the pages one after the other and prints them. It returns how many pages are below a bound.
async function all(browser, server, paths) {
  const columns = short
    ? ["phone accessibility", "phone best-practices"]
    : ["performance", ...steady, "phone accessibility", "phone best-practices"];
  console.log(["page".padEnd(52), ...columns].join("  "));
  let failed = 0;
  for (const path of paths) {
    const page = await browser.newPage();
    const { scores, faults, runs: tried } = await judged(page, `${server.url}/console#/apps/acme/demo/${path}`);
    await page.close();
    const [name] = path.match(/^[^?]*/);
    console.log(
      [
        path
          .replace(/[0-9a-f-]{36}|\w+_\w{20,}/, "…")
          .slice(0, 52)
          .padEnd(52),
        ...columns.map((column) => String(scores[column]).padStart(column.length)),
      ].join("  ") + (tried?.length > 1 ? "  runs " + tried.join(" ") : ""),
    );
    if (!below(scores)) continue;
    failed++;
    for (const fault of new Set(faults)) console.log(`    ${name}: ${fault}`);
  }
  return failed;
}

const { server, paths } = await filled();
let browser;
try {
  browser = await puppeteer.launch({ executablePath, args: process.getuid() === 0 ? ["--no-sandbox"] : [] });
  await browser.setCookie({
    name: "svc_session",
    value: server.session,
    domain: "localhost",
    path: "/",
    httpOnly: true,
    sameSite: "Lax",
  });
  const failed = await all(browser, server, paths);
  console.log(`${paths.length} pages, ${failed} below a bound`);
  process.exitCode = failed > 0 || paths.length === 0 ? 1 : 0;
} finally {
  await browser?.close();
  await server.stop();
}
