// The script of web pages, /svc.js, in a real browser: the data that it sends and stores, and when it sends it.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";
import { call, start, until } from "../browser/server.mjs";

const app = "/api/v1/apps/acme/web";
let server, site, address, browser, key;

before(async () => {
  server = await start();
  key = (
    await call(server, server.token, "POST", `${app}/keys`, {
      kind: "public",
      environment: "production",
      label: "script",
    })
  ).key;
  // ?with=<words> returns a page whose script has exactly these data attributes, separated by commas.
  site = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url, "http://site");
    if (pathname.endsWith(".pdf")) return response.writeHead(204).end();
    const attributes = (searchParams.get("with") ?? "").split(",").filter(Boolean).join(" ");
    response.setHeader("content-type", "text/html").end(`<!doctype html><title>${pathname}</title>
      <script>window.svc ??= [];</script><script defer src="${server.url}/svc.js" data-key="${key}" ${attributes}></script>
      <body style="height:4000px"><h1>${pathname}</h1>
      <a id="out" href="http://localhost:1/there?token=secret" target="_blank">out</a> <a id="file" href="/price.pdf">file</a>
      <form id="order" action="/orders" onsubmit="return false"><input name="card" value="4111"><button>order</button></form>`);
  });
  await new Promise((done) => site.listen(0, "127.0.0.1", done));
  address = `http://127.0.0.1:${site.address().port}`;
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox"],
  });
});

after(async () => {
  await browser?.close();
  site?.closeAllConnections();
  site?.close();
  await server?.stop();
});

// visit opens a page in a new browser context without stored data.
async function visit(t, path, prepare) {
  const context = await browser.newContext();
  t.after(() => context.close());
  const page = await context.newPage();
  if (prepare) await page.addInitScript(prepare);
  await page.goto(address + path);
  await page.waitForFunction(() => !Array.isArray(globalThis.svc));
  return page;
}

const rows = async () => (await call(server, server.token, "GET", `${app}/events?limit=200`)).data;

// seen waits for an event and returns it.
const seen = (what, is) => until(what, async () => (await rows()).find(is));

// seenAfter sends a marker last and waits until it is stored. It returns everything that the page's visitor has sent.
async function seenAfter(page, marker) {
  await page.evaluate((name) => globalThis.svc.track(name), marker);
  const last = await seen(marker, (row) => row.name === marker);
  return (await rows()).filter((row) => row.anonymousId === last.anonymousId);
}

// leave shows a blank page, like a visitor who leaves the site.
const leave = (page) => page.goto("about:blank");

test("views follow the address, with their titles", async (t) => {
  const page = await visit(t, "/one?utm_source=news");
  await page.evaluate(() => {
    history.pushState({}, "", "/sends-on");
    history.pushState({}, "", "/two");
    document.title = "Two"; // after the address, like frameworks do
  });
  await seen("the second view", (row) => row.path === "/two");
  await page.evaluate(() => history.replaceState({}, "", "/two?sort=up#x")); // the same page
  await page.evaluate(() => history.go(-2));
  await seen("the first again", (row) => row.path === "/one" && row.title === "Two");
  const all = await seenAfter(page, "views-end");
  const views = all.filter((row) => row.name === "page_view").reverse();
  assert.deepEqual(
    views.map((row) => [row.path, row.title]),
    [
      ["/one", "/one"],
      ["/two", "Two"],
      ["/one", "Two"],
    ],
  );
  assert.equal(new Set(all.map((row) => row.sessionId)).size, 1);
  assert.deepEqual([views[0].utmSource, views[0].library, views[0].screen], ["news", "svc-browser/1.0.0", "1280x720"]);
});

test("attention and the depth of the page are told when it is left", async (t) => {
  const page = await visit(t, "/attention");
  await page.evaluate(() => scrollTo(0, 2000));
  await page.waitForTimeout(1200); // the test measures real attention
  await leave(page);
  const told = await seen("the engagement", (row) => row.name === "engagement" && row.path === "/attention");
  assert.ok(told.properties.scrollDepth >= 60 && told.properties.scrollDepth <= 75, JSON.stringify(told.properties));
});

test("links to other hosts, files and forms are told without what is private", async (t) => {
  const page = await visit(t, "/links");
  await page.evaluate(() => addEventListener("click", (event) => event.target.closest("a") && event.preventDefault()));
  await page.click("#out");
  await page.click("#file");
  await page.click("button");
  const all = await seenAfter(page, "links-end");
  const told = Object.fromEntries(all.map((row) => [row.name, row.properties]));
  assert.deepEqual(told.outbound_link, { url: "http://localhost:1/there" });
  assert.deepEqual(told.file_download, { url: `${address}/price.pdf`, extension: "pdf" });
  assert.deepEqual(told.form_submit, { form: "order", action: "/orders" });
  assert.ok(!JSON.stringify(all).includes("4111"));
});

test("errors become issues, with their stack", async (t) => {
  const page = await visit(t, "/errors");
  await page.evaluate(() => {
    setTimeout(function failing() {
      throw new TypeError("nobody caught this");
    });
    Promise.reject(new Error("nobody awaited this"));
    globalThis.svc.captureError(new RangeError("caught by hand"), { tags: { part: "cart" } });
  });
  const issues = await until("three issues", async () => {
    const { data } = await call(server, server.token, "GET", `${app}/errors?limit=50`);
    const mine = data.filter((row) => /nobody caught this|nobody awaited this|caught by hand/.test(row.title));
    return mine.length === 3 ? mine : undefined;
  });
  const caught = issues.find((row) => row.title.includes("caught by hand"));
  // An issue is listed before the rows of its occurrences are stored.
  const newest = await until(
    "an occurrence",
    async () => (await call(server, server.token, "GET", `${app}/errors/${caught.id}/events?limit=1`)).data[0],
  );
  const occurrence = await call(server, server.token, "GET", `${app}/errors/${caught.id}/events/${newest.id}`);
  assert.equal(occurrence.handled, true);
  assert.equal(occurrence.tags.part, "cart");
  assert.ok(occurrence.stack.includes("RangeError"), occurrence.stack);
});

test("web vitals are told", async (t) => {
  const page = await visit(t, "/vitals");
  await page.click("h1");
  await leave(page);
  await until("a first paint", async () => {
    const { summary } = await call(
      server,
      server.token,
      "GET",
      `${app}/metrics/series?name=FCP&agg=p75&range=1h&label.path=/vitals`,
    );
    return summary.count === 1 ? summary : undefined;
  });
});

test("identify names the visitor until reset, also on the next page", async (t) => {
  const page = await visit(t, "/sign-in");
  await page.evaluate(() => globalThis.svc.identify("user-7", { plan: "pro" }));
  await page.goto(`${address}/inside`);
  const inside = await seen("the view inside", (row) => row.path === "/inside" && row.name === "page_view");
  assert.equal(inside.distinctId, "user-7");
  const before = inside.anonymousId;
  await page.evaluate(() => globalThis.svc.reset());
  const [last] = await seenAfter(page, "after-reset");
  assert.equal(last.distinctId, null);
  assert.notEqual(last.anonymousId, before);
});

test("an ephemeral page waits for consent and keeps nothing", async (t) => {
  const page = await visit(t, "/quiet?with=data-privacy-mode=ephemeral", () => (globalThis.svc = [["track", "early"]]));
  const sent = [];
  page.on("request", (request) => sent.push(request.url()));
  await page.evaluate(() => {
    globalThis.svc.track("waiting");
    scrollTo(0, 500);
    history.pushState({}, "", "/quiet/two");
  });
  await page.waitForLoadState("networkidle");
  assert.deepEqual(
    sent.filter((url) => url.includes("/api/")),
    [],
  );
  await page.evaluate(() => globalThis.svc.consent("granted"));
  const all = await seenAfter(page, "quiet-end");
  assert.deepEqual(
    all
      .filter((row) => row.name !== "engagement")
      .map((row) => row.name)
      .sort(),
    ["early", "page_view", "page_view", "quiet-end", "waiting"],
  );
  const kept = await page.evaluate(async () => [
    localStorage.length,
    sessionStorage.length,
    document.cookie,
    (await indexedDB.databases()).length,
    (await caches.keys()).length,
  ]);
  assert.deepEqual(kept, [0, 0, "", 0, 0]);
});

test("a refusal forgets what waited and what was kept", async (t) => {
  const page = await visit(t, "/refused");
  await page.evaluate(() => globalThis.svc.consent("denied"));
  const sent = [];
  page.on("request", (request) => sent.push(request.url()));
  await page.evaluate(() => globalThis.svc.track("after-refusal"));
  await page.goto(`${address}/refused/two`);
  await leave(page);
  assert.deepEqual(
    sent.filter((url) => url.includes("/api/")),
    [],
  );
  await page.goto(`${address}/refused`);
  assert.deepEqual(await page.evaluate(() => Object.keys(localStorage)), ["svc_consent"]);
});

test("Global Privacy Control and Do Not Track silence the page", async (t) => {
  for (const signal of ["globalPrivacyControl", "doNotTrack"]) {
    const context = await browser.newContext();
    t.after(() => context.close());
    const page = await context.newPage();
    await page.addInitScript(
      (name) => Object.defineProperty(navigator, name, { value: name === "doNotTrack" ? "1" : true }),
      signal,
    );
    const sent = [];
    page.on("request", (request) => sent.push(request.url()));
    await page.goto(`${address}/signals`, { waitUntil: "networkidle" });
    await page.evaluate(() => globalThis.svc.track("unwanted"));
    await leave(page);
    assert.deepEqual(
      sent.filter((url) => url.includes("/api/")),
      [],
      signal,
    );
    await page.goto(`${address}/signals`);
    assert.equal(await page.evaluate(() => localStorage.length), 0, signal);
  }
});

test("what happens offline is sent by the next page, once", async (t) => {
  const page = await visit(t, "/offline");
  await seen("the view", (row) => row.path === "/offline");
  await page.route("**/api/v1/**", (route) => route.abort());
  await page.evaluate(() => {
    globalThis.svc.track("made-offline");
    globalThis.svc.track("made-offline-too");
  });
  await page.waitForFunction(() => localStorage.getItem("svc_queue"));
  await leave(page);
  await page.unroute("**/api/v1/**");
  await page.goto(`${address}/online`);
  const all = await seenAfter(page, "offline-end");
  assert.deepEqual(
    all
      .filter((row) => row.name.startsWith("made-offline"))
      .map((row) => [row.name, row.path])
      .sort(),
    [
      ["made-offline", "/offline"],
      ["made-offline-too", "/offline"],
    ],
  );
  assert.equal(await page.evaluate(() => localStorage.getItem("svc_queue")), null);
});

test("an answer of 503 is asked again, and a refused item is not", async (t) => {
  const page = await visit(t, "/busy");
  await seen("the view", (row) => row.path === "/busy");
  let refusals = 2;
  await page.route("**/api/v1/**", (route) =>
    refusals-- > 0
      ? route.fulfill({ status: 503, headers: { "Retry-After": "0", "Access-Control-Allow-Origin": "*" } })
      : route.continue(),
  );
  await page.evaluate(() => globalThis.svc.track("again"));
  await seen("the event", (row) => row.name === "again");
  const asked = [];
  page.on("request", (request) => asked.push(request.url()));
  await page.evaluate(() => globalThis.svc.track("x".repeat(5000)));
  await seenAfter(page, "busy-end");
  assert.ok(asked.length <= 2, `${asked.length} requests`);
});

test("a page sends nothing more for a module that is switched off, and the next page asks again", async (t) => {
  const { modules } = await call(server, server.token, "GET", app);
  const switchTo = async (on) => {
    await call(server, server.token, "PATCH", app, { modules: on });
    const probe = {
      items: [
        { type: "event", name: "probe", distinctId: "prober" },
        { type: "vital", name: "LCP", value: 1, path: "/probe" },
        { type: "error", name: "Probe", message: "probe" },
      ],
    };
    await until("the keys know the modules", async () => {
      const answer = await (
        await fetch(`${server.url}/api/v1/batch?key=${key}`, { method: "POST", body: JSON.stringify(probe) })
      ).json();
      return (
        answer.accepted === ["analytics", "metrics", "errors"].filter((name) => on.includes(name)).length || undefined
      );
    });
  };
  t.after(() => call(server, server.token, "PATCH", app, { modules }));
  const sent = [];
  const follow = (page) =>
    page.on("request", (request) => {
      if (request.url().includes("/api/v1/batch"))
        sent.push(...JSON.parse(request.postData()).items.map((item) => item.name ?? item.type));
      else if (request.url().includes("/api/")) sent.push(new URL(request.url()).pathname.split("/").pop());
    });
  const heard = (page) => page.waitForResponse((response) => response.url().includes("/api/v1/batch"));

  await switchTo(modules.filter((name) => !["analytics", "flags", "ai"].includes(name)));
  const context = await browser.newContext();
  t.after(() => context.close());
  const page = await context.newPage();
  follow(page);
  const first = heard(page);
  await page.goto(`${address}/off?with=data-vitals=false`);
  assert.equal((await first).status(), 400);
  await page.evaluate(() => new Promise((told) => globalThis.svc.flags(told)));
  assert.deepEqual(sent.splice(0).sort(), ["evaluate", "page", "stream"]);
  const second = heard(page);
  await page.evaluate(() => {
    globalThis.svc.track("unwanted");
    history.pushState({}, "", "/off/two");
    globalThis.svc.identify("user-9", { plan: "pro" });
    globalThis.svc.captureError(new RangeError("wanted"));
  });
  assert.equal((await second).status(), 202);
  assert.deepEqual(sent.splice(0), ["identify", "RangeError"]);

  await switchTo(modules.filter((name) => !["errors", "ai"].includes(name)));
  await page.goto(`${address}/off/three?with=data-vitals=false`);
  await seen("the view of a module that is on again", (row) => row.path === "/off/three");
  await page.evaluate(() => globalThis.svc.captureError(new RangeError("refused once")));
  await page.waitForResponse((response) => response.url().includes("/api/v1/batch") && response.status() === 400);
  sent.length = 0;
  await page.evaluate(() => globalThis.svc.captureError(new RangeError("not sent")));
  const all = await seenAfter(page, "off-end");
  assert.deepEqual(sent, ["off-end"]);
  assert.deepEqual(
    all.filter((row) => row.path === "/off/three").map((row) => row.name),
    ["off-end", "page_view"],
  );
});

test("the npm package has types for what it exports", async () => {
  const { version } = JSON.parse(await readFile(new URL("../../sdk/browser/package.json", import.meta.url), "utf8"));
  const client = await readFile(new URL("../../sdk/browser/src/client.ts", import.meta.url), "utf8");
  assert.ok(client.includes(`"svc-browser/${version}"`), "the library names its version");
});
