// The published posthog-node sends to a real server: events, people, errors, and the flags that it received.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { PostHog } from "posthog-node";
import { call, start, until } from "../browser/server.mjs";

const app = "/api/v1/apps/acme/web";
let server;

before(async () => {
  server = await start();
  await call(server, server.token, "PUT", `${app}/flags/checkout`, {
    name: "checkout",
    kind: "boolean",
    environments: { production: { enabled: true, rolloutPercent: 100 } },
  });
});

after(() => server?.stop());

const read = (path) => call(server, server.token, "GET", app + path);

// today returns today's telemetry counts of a signal.
const today = async (signal) => (await read("/telemetry")).usage.at(-1).signals[signal];

test("posthog-node captures events, people and errors, and its calls of flags are no events", async () => {
  const problems = [];
  const client = new PostHog(server.secret, { host: server.url, flushAt: 50, flushInterval: 0, disableGeoip: false });
  client.on("error", (error) => problems.push(String(error)));
  assert.equal(await client.isFeatureEnabled("checkout", "ada"), true);
  client.capture({ distinctId: "ada", event: "order", properties: { total: 12, $set: { plan: "pro" } } });
  client.capture({
    distinctId: "ada",
    event: "$pageview",
    properties: { $current_url: "https://shop.example/basket?utm_source=news" },
  });
  client.identify({ distinctId: "ada", properties: { name: "Ada" } });
  client.alias({ distinctId: "ada", alias: "lovelace" });
  client.captureException(new TypeError("the basket is null"), "ada");
  await client.shutdown();
  assert.deepEqual(problems, []);

  const names = await until("the events are stored", async () => {
    const rows = (await read("/events")).data;
    return rows.length >= 2
      ? rows
          .map((row) => row.name)
          .filter((name) => !name.startsWith("$"))
          .sort()
      : undefined;
  });
  assert.deepEqual(names, ["order", "page_view"]);
  const order = (await read("/events")).data.find((row) => row.name === "order");
  assert.deepEqual([order.distinctId, order.properties.total], ["ada", 12]);
  const issue = await until("the error is an issue", async () => (await read("/errors")).data[0]);
  assert.match(JSON.stringify(issue), /the basket is null/);
  await until("the call of the flag is counted as told twice", async () =>
    (await today("flagEvaluations")).duplicates === 1 ? true : undefined,
  );
  const person = await until("the person is known", async () => (await read("/people?q=ada")).data[0]);
  assert.match(JSON.stringify(person), /Ada/);
});

test("posthog-node is told of a wrong key, and gives up", async () => {
  const client = new PostHog("svc_pub_nobody", { host: server.url, flushAt: 1, flushInterval: 0, fetchRetryCount: 0 });
  const problems = [];
  client.on("error", (error) => problems.push(String(error)));
  client.capture({ distinctId: "ada", event: "order" });
  await until("the error is told", async () => (problems.length > 0 ? true : undefined));
  assert.match(problems[0], /401/);
  await client.shutdown();
});
