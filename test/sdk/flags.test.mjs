// Published clients of feature flags evaluate on a real server, and receive changes.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { execFile } from "node:child_process";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { after, before, test } from "node:test";
import { OFREPProvider } from "@openfeature/ofrep-provider";
import { OpenFeature } from "@openfeature/server-sdk";
import { build } from "esbuild";
import { chromium } from "playwright-core";
import { PostHog } from "posthog-node";
import { call, start, until } from "../browser/server.mjs";

const app = "/api/v1/apps/acme/web";
const here = fileURLToPath(new URL(".", import.meta.url));
let server, key, browser, site, address;
const scripts = {};

before(async () => {
  server = await start();
  key = (
    await call(server, server.token, "POST", `${app}/keys`, {
      kind: "public",
      environment: "production",
      label: "flags",
    })
  ).key;
  await put("checkout", {
    kind: "boolean",
    rules: [
      {
        id: "staff",
        conditions: [{ field: "trait.plan", op: "eq", value: "staff" }],
        variant: "on",
        rolloutPercent: 100,
      },
    ],
    environments: production(0),
  });
  await put("colour", {
    kind: "multivariate",
    variants: [
      { key: "red", weight: 100, value: { hex: "#f00" } },
      { key: "blue", weight: 0, value: { hex: "#00f" } },
    ],
    environments: production(100),
  });
  await put("limit", {
    kind: "multivariate",
    variants: [
      { key: "low", weight: 100, value: 10 },
      { key: "high", weight: 0, value: 20 },
    ],
    environments: production(100),
  });
  await put("greeting", {
    kind: "multivariate",
    variants: [
      { key: "hello", weight: 100 },
      { key: "hi", weight: 0 },
    ],
    environments: production(100),
  });
  for (const name of ["openfeature", "posthog"]) {
    const built = await build({
      entryPoints: [here + `app/flags-${name}.ts`],
      bundle: true,
      format: "iife",
      write: false,
      logLevel: "error",
      platform: "browser",
    });
    scripts[`/${name}.js`] = built.outputFiles[0].text;
  }
  site = createServer((request, response) => {
    const { pathname } = new URL(request.url, "http://site");
    if (pathname === "/svc") {
      return response.setHeader("content-type", "text/html")
        .end(`<!doctype html><title>shop</title><p id="value">waiting</p><script>
        window.svc ??= [];
        svc.push(["flags", (flags) => { document.querySelector("#value").textContent = [flags.checkout?.enabled, flags.colour?.variant, flags.colour?.value.hex].join(" "); }, { plan: "free" }]);
        </script><script defer src="${server.url}/svc.js" data-key="${key}" ${new URL(request.url, "http://site").searchParams.get("with") ?? ""}></script>`);
    }
    if (scripts[pathname]) return response.setHeader("content-type", "text/javascript").end(scripts[pathname]);
    response.setHeader("content-type", "text/html").end(`<!doctype html><title>shop</title><p id="value">waiting</p>
      <script>window.settings = ${JSON.stringify({ url: server.url, key })}</script><script src="${pathname}.js"></script>`);
  });
  await new Promise((done) => site.listen(0, "127.0.0.1", done));
  address = `http://127.0.0.1:${site.address().port}`;
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox"],
  });
});

after(async () => {
  await OpenFeature.close();
  await browser?.close();
  site?.closeAllConnections();
  site?.close();
  await server?.stop();
});

const production = (rolloutPercent, enabled = true) => ({ production: { enabled, rolloutPercent } });

// put replaces a flag.
async function put(flag, spec) {
  return call(server, server.token, "PUT", `${app}/flags/${flag}`, { name: flag, ...spec });
}

const everyone = (rolloutPercent) => put("checkout", { kind: "boolean", environments: production(rolloutPercent) });

// visit opens a page that runs one of the scripts. The page is never loaded again.
async function visit(t, path) {
  const context = await browser.newContext();
  t.after(() => context.close());
  const page = await context.newPage();
  page.on("pageerror", (error) => page.problems.push(String(error)));
  page.problems = [];
  await page.goto(address + path);
  return page;
}

const shows = (page, text) =>
  page.waitForFunction((wanted) => document.querySelector("#value").textContent === wanted, text, { timeout: 30_000 });

test("the OFREP provider of servers evaluates every type, with its reasons", async () => {
  await OpenFeature.setProviderAndWait(
    new OFREPProvider({ baseUrl: server.url, headers: [["Authorization", `Bearer ${server.secret}`]] }),
  );
  const client = OpenFeature.getClient();
  const staff = { targetingKey: "u1", plan: "staff" };
  assert.equal(await client.getBooleanValue("checkout", false, staff), true);
  assert.equal(await client.getBooleanValue("checkout", true, { targetingKey: "u1", plan: "free" }), false);
  assert.deepEqual(await client.getObjectValue("colour", {}, staff), { hex: "#f00" });
  assert.equal(await client.getNumberValue("limit", 1, staff), 10);
  const text = await client.getStringDetails("greeting", "none", staff);
  assert.deepEqual([text.value, text.variant, text.errorCode], ["hello", "hello", undefined]);
  const rule = await client.getBooleanDetails("checkout", false, staff);
  assert.deepEqual([rule.reason, rule.variant, rule.flagMetadata.ruleId], ["TARGETING_MATCH", "on", "staff"]);

  const missing = await client.getBooleanDetails("nothing", true, staff);
  assert.deepEqual([missing.value, missing.errorCode], [true, "FLAG_NOT_FOUND"]);
  const other = await client.getBooleanDetails("greeting", true, staff);
  assert.deepEqual([other.value, other.errorCode], [true, "TYPE_MISMATCH"]);
  const nobody = await client.getBooleanDetails("checkout", true, {});
  assert.deepEqual([nobody.value, nobody.errorCode], [true, "TARGETING_KEY_MISSING"]);

  await put("greeting", {
    kind: "multivariate",
    variants: [
      { key: "hello", weight: 0 },
      { key: "hi", weight: 100 },
    ],
    environments: production(100),
  });
  await until("the change is served", async () =>
    (await client.getStringValue("greeting", "none", staff)) === "hi" ? true : undefined,
  );
  await put("greeting", {
    kind: "multivariate",
    variants: [
      { key: "hello", weight: 0 },
      { key: "hi", weight: 100 },
    ],
    environments: production(100, false),
  });
  // An answer without a value means the default of the code. This provider reports that default as a value of a wrong
  // type.
  assert.equal(await client.getStringValue("greeting", "none", staff), "none");
});

test("the OFREP provider refuses a wrong key with the default", async () => {
  await OpenFeature.setProviderAndWait(
    "stranger",
    new OFREPProvider({ baseUrl: server.url, headers: [["Authorization", "Bearer nobody"]] }),
  );
  const details = await OpenFeature.getClient("stranger").getBooleanDetails("checkout", true, { targetingKey: "u1" });
  assert.deepEqual([details.value, details.errorCode], [true, "GENERAL"]);
});

test("the OFREP provider of browsers flips a value without a reload, told by its EventSource", async (t) => {
  await everyone(0);
  const page = await visit(t, "/openfeature");
  await shows(page, "false");
  await page.evaluate(() => (globalThis.unloaded = false));
  await everyone(100);
  await shows(page, "true");
  await everyone(0);
  await shows(page, "false");
  assert.equal(await page.evaluate(() => globalThis.unloaded), false, "the page was loaded again");
  assert.deepEqual(page.problems, []);
});

test("posthog-node evaluates flags, variants and payloads on the server", async () => {
  await everyone(100);
  const client = new PostHog(key, { host: server.url, sendFeatureFlagEvent: false, disableGeoip: true });
  try {
    assert.equal(await client.isFeatureEnabled("checkout", "u1"), true);
    assert.equal(await client.getFeatureFlag("colour", "u1"), "red");
    assert.deepEqual(await client.getFeatureFlagPayload("colour", "u1"), { hex: "#f00" });
    const all = await client.getAllFlags("u1");
    assert.deepEqual([all.checkout, all.colour, all.limit], [true, "red", "low"]);
    assert.equal(await client.getFeatureFlag("nothing", "u1"), undefined);
    await put("checkout", {
      kind: "boolean",
      rules: [
        {
          id: "pro",
          conditions: [{ field: "trait.plan", op: "eq", value: "pro" }],
          variant: "on",
          rolloutPercent: 100,
        },
      ],
      environments: production(0),
    });
    assert.equal(await client.isFeatureEnabled("checkout", "u1", { personProperties: { plan: "pro" } }), true);
    assert.equal(await client.isFeatureEnabled("checkout", "u1", { personProperties: { plan: "free" } }), false);
  } finally {
    await client.shutdown(1000);
  }
});

test("posthog-js gets flags and payloads, and the flip when it asks again", async (t) => {
  await everyone(100);
  const page = await visit(t, "/posthog");
  await shows(page, "true red #f00");
  await everyone(0);
  await page.evaluate(() => globalThis.posthog.reloadFeatureFlags());
  await shows(page, "false red #f00");
  assert.deepEqual(page.problems, []);
});

test("the SDKs of Go evaluate, by OpenFeature and by PostHog", async () => {
  await put("checkout", {
    kind: "boolean",
    rules: [
      {
        id: "staff",
        conditions: [{ field: "trait.plan", op: "eq", value: "staff" }],
        variant: "on",
        rolloutPercent: 100,
      },
    ],
    environments: production(0),
  });
  const { stdout } = await promisify(execFile)("go", ["run", "."], {
    cwd: here + "go",
    env: { ...process.env, GOFLAGS: "", SVC_URL: server.url, SVC_KEY: key },
  });
  assert.deepEqual(JSON.parse(stdout), {
    openfeature: {
      checkout: true,
      reason: "TARGETING_MATCH",
      limit: 10,
      colour: { hex: "#f00" },
      missing: "none",
      missingCode: "FLAG_NOT_FOUND",
      failed: true,
    },
    posthog: { checkout: true, colour: "red", payload: '{"hex":"#f00"}' },
  });
});

test("/svc.js calls back with the flags, with every change, and for another visitor", async (t) => {
  const staff = (rolloutPercent) =>
    put("checkout", {
      kind: "boolean",
      rules: [
        {
          id: "ada",
          conditions: [{ field: "trait.plan", op: "eq", value: "staff" }],
          variant: "on",
          rolloutPercent: 100,
        },
      ],
      environments: production(rolloutPercent),
    });
  await staff(0);
  const page = await visit(t, "/svc");
  await shows(page, "false red #f00");
  await staff(100);
  await shows(page, "true red #f00");
  await staff(0);
  await shows(page, "false red #f00");
  // More context, as if the page now knows the visitor.
  await page.evaluate(() => globalThis.svc.flags(() => {}, { plan: "staff" }));
  await shows(page, "true red #f00");

  // The next page begins with the last answer, even if the service is not available.
  await page.goto(address + "/svc");
  await shows(page, "false red #f00");
  await page.context().route(`${server.url}/api/**`, (route) => route.abort());
  await page.goto(address + "/svc");
  await shows(page, "false red #f00");
});

test("/svc.js asks for no flags before the visitor lets it, and forgets them with the consent", async (t) => {
  await everyone(100);
  const asked = [];
  const context = await browser.newContext();
  t.after(() => context.close());
  const page = await context.newPage();
  page.on("request", (request) => request.url().includes("/api/v1/flags") && asked.push(request.url()));
  await page.goto(address + "/svc?with=data-consent=pending");
  await shows(page, "  ");
  assert.deepEqual(asked, []);
  await page.evaluate(() => globalThis.svc.consent("granted"));
  await shows(page, "true red #f00");
  await page.evaluate(() => globalThis.svc.consent("denied"));
  await shows(page, "  ");
  assert.equal(await page.evaluate(() => localStorage.getItem("svc_flags")), null);
});

// The examples that must be equal in every language, computed with the crypto of Node and Chromium.
const vectors = JSON.parse(await readFile(new URL("../../docs/flags-vectors.json", import.meta.url), "utf8"));

// places returns the examples whose two places differ from the file.
const places = async (examples) => {
  const place = async (text) =>
    new DataView(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))).getUint32(0) % 10_000;
  const wrong = [];
  for (const one of examples) {
    if (
      (await place(`${one.flag}\0${one.id}`)) !== one.rollout ||
      (await place(`${one.flag}\0variant\0${one.id}`)) !== one.variant
    )
      wrong.push(one);
  }
  return wrong;
};

test("the published buckets are those of Node and of Chromium", async (t) => {
  assert.equal(vectors.length, 1000);
  assert.deepEqual(await places(vectors), []);
  const page = await visit(t, "/openfeature");
  assert.deepEqual(await page.evaluate(`(${places})(${JSON.stringify(vectors)})`), []);
});
