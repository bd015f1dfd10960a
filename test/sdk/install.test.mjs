// The snippets of the install guide work unchanged, with real keys in place of their placeholders.
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build } from "esbuild";
import { chromium } from "playwright-core";
import { call, freePort, start, until } from "../browser/server.mjs";

const run = promisify(execFile);
const here = fileURLToPath(new URL(".", import.meta.url));
const app = "/api/v1/apps/acme/web";
let server,
  folder,
  site,
  address,
  browser,
  html = "";

before(async () => {
  server = await start();
  folder = await mkdtemp(join(here, "install-")); // in this folder, so that snippets find the packages that they import
  site = createServer((_, response) => response.setHeader("content-type", "text/html").end(html));
  await new Promise((done) => site.listen(0, "127.0.0.1", done));
  address = `http://127.0.0.1:${site.address().port}`;
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox"],
  });
});

after(async () => {
  await browser?.close();
  site?.close();
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
});

const guide = (query) => call(server, server.token, "GET", `${app}/install?${query}`);
const mint = (kind) =>
  call(server, server.token, "POST", `${app}/keys`, { kind, environment: "production", label: "install" });

// filled replaces the placeholders of a snippet with a key and its DSN.
const filled = (code, guide, key) =>
  code.replaceAll(guide.dsn, key.dsn).replaceAll(`${guide.publicKeyPrefix}_YOUR_KEY`, key.key);

// event waits for an event in the feed.
async function event(what, is) {
  return until(what, async () => (await call(server, server.token, "GET", `${app}/events?limit=50`)).data.find(is));
}

async function open(path) {
  const page = await browser.newPage();
  await page.goto(address + path);
  return page;
}

test("node sends an event", async () => {
  const answer = await guide("framework=node");
  for (const snippet of answer.snippets) await writeFile(join(folder, snippet.title), snippet.code);
  const [secret, publicKey] = [await mint("secret"), await mint("public")];
  await run(process.execPath, [join(folder, "index.mjs")], {
    env: { ...process.env, SVC_SECRET_KEY: secret.key, SVC_DSN: publicKey.dsn },
  });
  const seen = await event("the order is in the feed", (row) => row.name === "order_placed");
  assert.equal(seen.distinctId, "user-42");
  assert.deepEqual(seen.properties, { total: 19.9 });
});

test("a page of html sends its view", async () => {
  const answer = await guide("framework=html");
  html = `<!doctype html><title>Plain</title>${filled(answer.snippets[0].code, answer, await mint("public"))}`;
  await open("/plain");
  const seen = await event("the view is in the feed", (row) => row.path === "/plain");
  assert.equal(seen.title, "Plain");
});

test("an ephemeral page sends nothing before consent", async () => {
  const answer = await guide("framework=html&privacyMode=ephemeral");
  html = `<!doctype html><title>Quiet</title>${filled(answer.snippets[0].code, answer, await mint("public"))}`;
  const page = await open("/quiet");
  const sent = [];
  page.on("request", (request) => sent.push(request.url()));
  await page.evaluate(() => globalThis.svc.push(["track", "early"]));
  await page.waitForLoadState("networkidle");
  assert.deepEqual(
    sent.filter((url) => url.includes("/api/")),
    [],
  );
  assert.equal(await page.evaluate(() => localStorage.length), 0);
  await page.evaluate(() => globalThis.svc.push(["consent", "granted"]));
  await event("the view is in the feed", (row) => row.path === "/quiet" && row.name === "page_view");
  await event("what came before consent follows it", (row) => row.name === "early");
});

test("the module of react sends views, events and errors", async () => {
  const answer = await guide("framework=react");
  const entry = join(folder, "entry.js");
  await writeFile(join(folder, "svc.js"), filled(answer.snippets[0].code, answer, await mint("public")));
  await writeFile(
    entry,
    'import { identify, track } from "./svc"; identify("ann"); track("from_module"); setTimeout(() => { throw new Error("the module told of it"); }, 500);',
  );
  const built = await build({ entryPoints: [entry], bundle: true, write: false, logLevel: "error" });
  html = `<!doctype html><title>Module</title><head></head><script type="module">${built.outputFiles[0].text}</script>`;
  await open("/module");
  await event("the view is in the feed", (row) => row.path === "/module" && row.name === "page_view");
  assert.equal((await event("the event is in the feed", (row) => row.name === "from_module")).distinctId, "ann");
  await until("the error is an issue", async () =>
    (await call(server, server.token, "GET", `${app}/errors?limit=10`)).data.some((row) =>
      row.title.includes("the module told of it"),
    ),
  );
});

// serving runs the program from the guide of a framework, on a free port. It returns the status of the program's answer
// to an order. It stops the program after its data has arrived.
async function serving(framework, program, secret, arrived) {
  const answer = await guide("framework=" + framework);
  for (const snippet of answer.snippets) await writeFile(join(folder, snippet.title), snippet.code);
  const port = await freePort();
  const child = spawn(process.execPath, [join(folder, program)], {
    env: { ...process.env, PORT: String(port), SVC_SECRET_KEY: secret, SVC_DSN: (await mint("public")).dsn },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  child.stderr.on("data", (part) => (said += part));
  const ended = new Promise((done) => child.on("exit", done));
  try {
    const status = await until(framework + " answers", async () => {
      if (child.exitCode !== null) throw new Error(framework + " ended: " + said);
      return fetch(`http://127.0.0.1:${port}/orders`, { method: "POST" }).then(
        (response) => response.status,
        () => undefined,
      );
    });
    await until("what " + framework + " sends has arrived", async () => ((await arrived()) ? true : undefined));
    return status;
  } finally {
    child.kill();
    await ended;
  }
}

for (const [framework, program] of [
  ["express", "app.mjs"],
  ["hono", "index.mjs"],
]) {
  test(framework + " sends events and errors", async () => {
    const orders = async () =>
      (await call(server, server.token, "GET", `${app}/events?name=order_placed&limit=50`)).data.length;
    const refusals = async () =>
      (await call(server, server.token, "GET", `${app}/errors?limit=50`)).data
        .filter((row) => row.title.includes("svc answered 401"))
        .reduce((sum, row) => sum + row.eventCount, 0);
    const [sent, failed] = [await orders(), await refusals()];
    assert.equal(
      await serving(framework, program, (await mint("secret")).key, async () => (await orders()) > sent),
      201,
    );
    assert.equal(
      await serving(framework, program, "svc_sec_prod_of_nobody", async () => (await refusals()) > failed),
      500,
    );
  });
}
