// Leaves the live overview and the growing feed open while events arrive, and measures the memory of the pages after a
// garbage collection. The heap may grow by at most a tenth and a megabyte. The test takes long, so only `make
// browser-soak MINUTES=30` runs it.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startConsole } from "./console.mjs";
import { call, traffic, until } from "./server.mjs";

const minutes = Number(process.env.MINUTES ?? 30);
// warm is how long a page may grow: for the first answers, the code of the page and the browser's own drawing data.
const warm = Math.min(3, minutes / 4) * 60_000;
const every = 60_000,
  pause = 500;
const pages = { overview: "overview?range=today", events: "events" };
const sum = { JSHeapUsedSize: "heap", Nodes: "nodes", JSEventListeners: "listeners" };
let world;

before(async () => {
  world = await startConsole();
  const sent = traffic(Date.now()).slice(-2000);
  for (let from = 0; from < sent.length; from += 1000)
    await call({ url: world.base }, world.server.secret, "POST", "/api/v1/batch", {
      items: sent.slice(from, from + 1000),
    });
  await until("the events are counted", async () =>
    (await world.api("/analytics/overview?range=90d", "web")).pageviews >= sent.length ? true : undefined,
  );
});

after(() => world?.stop());

// arrive sends events of new and known visitors until the returned function is called.
function arrive() {
  let ended = false,
    number = 0;
  const work = (async () => {
    while (!ended) {
      const items = Array.from({ length: 3 }, () => ({
        type: "page",
        name: "page_view",
        distinctId: "soak-" + (number++ % 500),
        url: `https://acme.example/page-${number % 60}`,
        context: {
          ip: "193.99.144.80",
          userAgent: "Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0",
        },
      }));
      await call({ url: world.base }, world.server.secret, "POST", "/api/v1/batch", { items });
      await new Promise((done) => setTimeout(done, pause));
    }
    return number;
  })();
  return () => ((ended = true), work);
}

// holds returns the memory, nodes and listeners of a page after a garbage collection.
async function holds(devtools) {
  await devtools.send("HeapProfiler.collectGarbage");
  await devtools.send("HeapProfiler.collectGarbage"); // for the objects that the first collection finalized
  const { metrics } = await devtools.send("Performance.getMetrics");
  return Object.fromEntries(metrics.filter(({ name }) => sum[name]).map(({ name, value }) => [sum[name], value]));
}

// watched opens a page in a separate browser context, so that its numbers are not mixed with others.
async function watched(path) {
  const page = await world.as("owner@acme.example");
  await world.visit(page, path, "web");
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Performance.enable");
  return { page, devtools };
}

const said = (name, at, now) =>
  console.log(
    `      ${String(Math.round(at / 60_000)).padStart(3)} min  ${name.padEnd(8)}  heap ${(now.heap / 1e6).toFixed(2)} MB  nodes ${now.nodes}  listeners ${now.listeners}`,
  );

test(`the live overview and the feed hold no more after ${minutes} minutes`, async () => {
  const stop = arrive(),
    began = Date.now();
  const open = Object.fromEntries(
    await Promise.all(Object.entries(pages).map(async ([name, path]) => [name, await watched(path)])),
  );
  const read = async () =>
    Object.fromEntries(
      await Promise.all(Object.entries(open).map(async ([name, { devtools }]) => [name, await holds(devtools)])),
    );
  const shown = () =>
    Promise.all([
      open.overview.page.locator(".metric .value").nth(1).getAttribute("title"),
      open.events.page.locator("tbody tr[data-row] a").first().getAttribute("href"),
    ]);
  await open.overview.page.waitForTimeout(warm);
  const first = await read(),
    before = await shown();
  let last = first;
  for (;;) {
    for (const [name, now] of Object.entries(last)) said(name, Date.now() - began, now);
    if (Date.now() - began >= minutes * 60_000) break;
    await open.overview.page.waitForTimeout(Math.min(every, minutes * 60_000 - (Date.now() - began)));
    last = await read();
  }
  const now = await shown();
  console.log(`      ${await stop()} events arrived`);
  assert.ok(
    before.every((text, i) => text && text !== now[i]),
    `what the pages show did not change: ${before} ${now}`,
  );
  for (const name of Object.keys(pages)) {
    for (const [what, more] of [
      ["heap", 1e6],
      ["nodes", 100],
      ["listeners", 20],
    ]) {
      const [from, to] = [first[name][what], last[name][what]];
      assert.ok(to <= from * 1.1 + more, `${name}: ${what} grew from ${from} to ${to}`);
    }
  }
  assert.deepEqual(world.complaints, []);
});
