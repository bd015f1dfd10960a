// The published SDKs of Sentry report to a real server.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build } from "esbuild";
import { chromium } from "playwright-core";
import { call, start, until } from "../browser/server.mjs";

const run = promisify(execFile);
const here = fileURLToPath(new URL(".", import.meta.url));
const errors = "/api/v1/apps/acme/web/errors";
let server, folder, dsn;

before(async () => {
  server = await start();
  folder = await mkdtemp(join(tmpdir(), "svc-sdk-"));
  dsn = await freshDSN();
});

after(async () => {
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
});

async function freshDSN(of = server) {
  const key = await call(of, of.token, "POST", "/api/v1/apps/acme/web/keys", {
    kind: "public",
    environment: "production",
    label: "sdk",
  });
  return key.dsn;
}

// issue waits until the issue with a title has the given number of occurrences.
async function issue(title, count = 1) {
  return until(`the issue ${title} has ${count} occurrences`, async () => {
    const page = await call(server, server.token, "GET", errors + "?status=all&limit=100");
    return page.data.find((row) => row.title === title && row.eventCount === count);
  });
}

// newest reads the complete newest occurrence of an issue after its row is stored. The count of an issue increases
// earlier.
async function newest(row) {
  const seen = await until(`an occurrence of ${row.title} is stored`, async () => {
    const page = await call(server, server.token, "GET", `${errors}/${row.id}/events?limit=1`);
    return page.data[0];
  });
  return call(server, server.token, "GET", `${errors}/${row.id}/events/${seen.id}`);
}

// bundle builds one file of the application.
async function bundle(entry, platform, outfile, options = {}) {
  await build({
    entryPoints: [join(here, "app", entry)],
    outfile,
    bundle: true,
    platform,
    format: platform === "node" ? "cjs" : "iife",
    sourcemap: true,
    logLevel: "error",
    ...options,
  });
}

test("@sentry/node reports exceptions, messages and unhandled rejections with all that surrounds them", async () => {
  const file = join(folder, "plain.js");
  await bundle("server.ts", "node", file, { minify: false });
  await run(process.execPath, [file], {
    env: { ...process.env, DSN: dsn, RELEASE: "shop@1.2.3", AMOUNT: "3", MORE: "1" },
  });

  const thrown = await newest(await issue("TypeError: negative amount -3"));
  assert.equal(thrown.level, "error");
  assert.equal(thrown.handled, true);
  assert.equal(thrown.release, "shop@1.2.3");
  assert.equal(thrown.distinctId, "u1");
  assert.equal(thrown.tags.plan, "pro");
  assert.equal(thrown.tags.environment, "qa");
  assert.equal(thrown.tags.server_name, "web-1");
  assert.deepEqual(thrown.extra.cart, { items: 2 });
  assert.ok(thrown.breadcrumbs.some((crumb) => crumb.category === "ui" && crumb.message === "clicked"));
  assert.equal(thrown.frames[0].function, "chargeCard");
  assert.equal(thrown.frames[1].function, "checkout");
  assert.ok(thrown.frames[0].inApp && thrown.frames[0].line > 0);
  assert.match(thrown.stack, /^TypeError: negative amount -3\n    at chargeCard /);

  const message = await newest(await issue("Message: disk is nearly full"));
  assert.equal(message.level, "warning");

  const unhandled = await newest(await issue("RangeError: nobody caught this"));
  assert.equal(unhandled.handled, false);
  assert.match(unhandled.mechanism, /onunhandledrejection/);
});

test("a minified redeploy with source maps of sentry-cli is no new issue", async () => {
  const sourcemaps = join(here, "node_modules", "@sentry", "cli-linux-x64", "bin", "sentry-cli");
  for (const [n, release] of ["shop@2.0.0", "shop@2.0.1"].entries()) {
    const dist = join(folder, `dist-${n}`);
    const file = join(dist, "server.js");
    // A different banner moves every column, and the minified names change too.
    await bundle("server.ts", "node", file, {
      minify: true,
      banner: { js: n === 0 ? "" : "var moved='" + "x".repeat(97) + "';" },
    });
    await run(sourcemaps, ["sourcemaps", "inject", dist]);
    await run(sourcemaps, ["sourcemaps", "upload", "--release", release, dist], {
      env: {
        ...process.env,
        SENTRY_URL: server.url,
        SENTRY_AUTH_TOKEN: server.token,
        SENTRY_ORG: "acme",
        SENTRY_PROJECT: "web",
      },
    });
    await run(process.execPath, [file], { env: { ...process.env, DSN: dsn, RELEASE: release, AMOUNT: "77" } });
  }
  const row = await issue("TypeError: negative amount -77", 2);
  assert.match(row.culprit, /^chargeCard \(.*pay\.ts\)$/);
  assert.equal(row.releaseFirst, "shop@2.0.0");
  assert.equal(row.releaseLast, "shop@2.0.1");
  const { frames } = await newest(row);
  assert.deepEqual(
    frames.slice(0, 2).map((frame) => [frame.function, frame.line]),
    [
      ["chargeCard", 4],
      ["checkout", 12],
    ],
  );
});

test("a limit of errors pauses errors and nothing else", async () => {
  const limited = await start({ SVC_ERROR_LIMIT: "1" });
  try {
    const file = join(folder, "flood.js");
    await bundle("flood.ts", "node", file, { minify: false });
    await run(process.execPath, [file], { env: { ...process.env, DSN: await freshDSN(limited) } });
    const figures = await until("the check-in is counted", async () => {
      const text = await (await fetch(limited.operator + "/metrics")).text();
      return /svc_sentry_items_total{category="monitor"} 1/.test(text) ? text : undefined;
    });
    // The first error is accepted, the answer to the second asks for a pause, and the third is not sent.
    assert.match(figures, /svc_sentry_items_total{category="error"} 2\n/);
    assert.match(figures, /svc_ingest_refused_total{code="rate_limited"} 1\n/);
  } finally {
    await limited.stop();
  }
});

test("@sentry/browser reports from a page of another origin", async () => {
  const file = join(folder, "page.js");
  await bundle("page.ts", "browser", file, { minify: false });
  const script = await readFile(file);
  const site = createServer((request, response) => {
    const isScript = request.url.startsWith("/page.js");
    response.setHeader("content-type", isScript ? "text/javascript" : "text/html");
    response.end(
      isScript ? script : '<!doctype html><body><button>buy</button><script src="/page.js"></script></body>',
    );
  });
  await new Promise((done) => site.listen(0, "127.0.0.1", done));
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox"],
  });
  try {
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${site.address().port}/?dsn=${encodeURIComponent(dsn)}`);
    await page.click("button");
    const seen = await newest(await issue("TypeError: negative amount -5"));
    assert.equal(seen.handled, false);
    assert.equal(seen.release, "page@1.0.0");
    assert.equal(seen.distinctId, "visitor-7");
    assert.match(seen.browser, /Chrom/);
    assert.equal(seen.path, "/");
    assert.equal(seen.frames[0].function, "chargeCard");
    assert.ok(seen.breadcrumbs.some((crumb) => crumb.category === "ui.click"));
  } finally {
    await browser.close();
    site.close();
  }
});
