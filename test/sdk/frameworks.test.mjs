// A page of each framework in the install guide, in a real browser. Tests views, a change of the route, a custom event,
// attention, an error and a vital. In ephemeral mode nothing is sent before consent, and nothing is stored in the
// browser.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { chromium } from "playwright-core";
import { call, start, until } from "../browser/server.mjs";
import { ofPages, ofServers, startSite } from "./frameworks.mjs";

const app = "/api/v1/apps/acme/web";
let server, site, browser;

before(async () => {
  server = await start();
  site = await startSite(server);
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox"],
  });
});

after(async () => {
  await browser?.close();
  await site?.stop();
  await server?.stop();
});

const read = (path) => call(server, server.token, "GET", app + path);
const seen = (what, is) => until(what, async () => (await read("/events?limit=200")).data.find(is));
const orders = async () => (await read("/events?name=order_placed&limit=200")).data.length;
const failed = (text) =>
  until(text, async () => (await read("/errors?limit=100")).data.find((row) => row.title.includes(text)));

// open opens a page in a new browser context without stored data. It returns the page and the requests that it sends to
// the service.
async function open(t, name) {
  const context = await browser.newContext();
  t.after(() => context.close());
  const page = await context.newPage(),
    sent = [];
  page.on("request", (request) => request.url().includes("/api/") && sent.push(request.url()));
  await page.goto(site.at(name));
  await page.waitForFunction(() => globalThis.svc && !Array.isArray(globalThis.svc));
  await page.waitForLoadState("networkidle"); // the code that measures the vitals is loaded
  return { page, sent };
}

// used uses a page like visitors do.
async function used(page, name) {
  await page.click("#order");
  await page.click("#second");
  await page.waitForFunction(() => document.title === "Second");
  await page.click("#fail");
  await page.evaluate(() => scrollTo(0, 2000));
  await page.waitForTimeout(1200); // the test measures real attention
  assert.equal(new URL(page.url()).pathname, `/${name}/second`);
}

// Waits for all data that such use sends.
async function told(name, ordersBefore) {
  const view = (path, title) =>
    seen(`the view of ${path}`, (row) => row.name === "page_view" && row.path === path && row.title === title);
  const first = await view("/" + name, name),
    second = await view(`/${name}/second`, "Second");
  assert.equal(first.anonymousId, second.anonymousId, "the second page was loaded");
  if (ordersBefore === undefined)
    await seen("the order", (row) => row.name === "ordered_" + name && row.anonymousId === first.anonymousId);
  else await until("the order of the program", async () => ((await orders()) > ordersBefore ? true : undefined));
  const attention = await seen("the attention", (row) => row.name === "engagement" && row.path === `/${name}/second`);
  assert.ok(attention.properties.scrollDepth > 30, JSON.stringify(attention.properties));
  await failed(name + " failed");
  await until("a first paint", async () => {
    const counts = await Promise.all(
      ["", "/second"].map(
        async (rest) =>
          (await read(`/metrics/series?name=FCP&agg=p75&range=1h&label.path=/${name}${rest}`)).summary.count,
      ),
    );
    return counts[0] + counts[1] === 1 ? true : undefined;
  });
}

const kept = (page) =>
  page.evaluate(async () => [
    Object.keys(localStorage),
    Object.keys(sessionStorage),
    document.cookie,
    (await indexedDB.databases()).length,
    (await caches.keys()).length,
  ]);

for (const framework of [...ofPages, ...ofServers]) {
  describe(framework, () => {
    const before = () => (ofServers.includes(framework) ? orders() : undefined);

    test("a page tells of its visit", async (t) => {
      const name = framework + "-persistent",
        placed = await before();
      const { page } = await open(t, name);
      await used(page, name);
      await page.goto("about:blank");
      await told(name, placed);
    });

    test("an ephemeral page tells nothing before consent, and keeps nothing", async (t) => {
      const name = framework + "-ephemeral",
        placed = await before();
      const { page, sent } = await open(t, name);
      await used(page, name);
      assert.deepEqual(sent, []);
      assert.deepEqual(await kept(page), [[], [], "", 0, 0]);
      await page.click("#agree");
      await seen("what waited", (row) => row.name === "page_view" && row.path === "/" + name);
      assert.deepEqual(await kept(page), [[], [], "", 0, 0]);
      await page.goto("about:blank");
      await told(name, placed);
    });
  });
}

test("the server of nextjs tells of its errors", async () => {
  assert.equal((await fetch(new URL("/broken", site.at("nextjs-persistent")), { method: "POST" })).status, 500);
  await failed("nextjs-server failed");
});

test("these are all frameworks of the guide", async () => {
  const { paths } = await (await fetch(server.url + "/api/v1/openapi.json")).json();
  const { schema } = paths[`/api/v1/apps/{org}/{app}/install`].get.parameters.find((one) => one.name === "framework");
  assert.deepEqual([...schema.enum].sort(), [...ofPages, ...ofServers].sort());
});
