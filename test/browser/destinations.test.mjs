// Walks through the pages of destinations and of the connector, with receivers in this process. Creates destinations
// like people do and checks the shown deliveries. Also tests axe, both themes, 360 pixels, roles and hostile texts.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { createServer } from "node:http";
import { after, before, describe, it } from "node:test";
import { startConsole } from "./console.mjs";
import { accessible } from "./page.mjs";
import { call, until } from "./server.mjs";

const hostile = `<img src=x onerror="document.title='owned'">`;
const app = "web";
let world, page, receiver, id;
const shop = { status: 204, taken: [] };
const handler = { secret: "", probes: 0 };

// listen serves requests on loopback and returns the server with its address.
async function listen(answer) {
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (part) => (body += part));
    request.on("end", () => answer(request, response, body));
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  server.base = `http://127.0.0.1:${server.address().port}`;
  return server;
}

before(async () => {
  world = await startConsole({ SVC_MONITOR_ALLOW: "127.0.0.1" });
  page = await world.as("owner@acme.example");
  receiver = await listen((request, response, body) => {
    if (request.url === "/svc/health") {
      handler.probes++;
      const [, claims] = request.headers.authorization.split(".");
      const answer = JSON.stringify({ version: "1.2.0 " + hostile, capabilities: ["overview", "users"] });
      const signature = createHmac("sha256", handler.secret)
        .update(JSON.parse(Buffer.from(claims, "base64url")).jti + "." + answer)
        .digest("hex");
      return response.writeHead(200, { "X-SVC-Signature": "v1=" + signature }).end(answer);
    }
    shop.taken.push(JSON.parse(body));
    response.writeHead(shop.status).end(shop.status === 204 ? undefined : hostile);
  });
});

after(async () => {
  await world?.stop();
  receiver?.closeAllConnections();
  receiver?.close();
});

const one = async () => (await world.api("/destinations", app)).data.find((row) => row.id === id);
const deliveries = async (query = "") => (await world.api(`/destinations/${id}/deliveries${query}`, app)).data;

describe("destinations", () => {
  let secret;

  it("one is made, and its secret shown once", async () => {
    await world.visit(page, "destinations", app);
    await page.getByText("No destinations yet.").waitFor();
    await page.getByLabel("Name", { exact: true }).fill("Shop " + hostile);
    await page
      .getByLabel("Address", { exact: false })
      .first()
      .fill(receiver.base + "/hook");
    await page.getByLabel("Event 1", { exact: true }).fill("purchase");
    await page.getByLabel("Sent as 1").fill("Purchase");
    await page.getByLabel("Currency 1").fill("eur");
    await page.getByRole("button", { name: "Add a destination" }).click();
    secret = await page.locator(".secret code").innerText();
    assert.match(secret, /^whsec_/);
    await page.locator("tbody tr[data-row]").waitFor();
    const [made] = (await world.api("/destinations", app)).data;
    id = made.id;
    assert.deepEqual(
      [made.name, made.kind, made.enabled, made.environments, made.mapping],
      [
        "Shop " + hostile,
        "webhook",
        true,
        ["production"],
        [{ event: "purchase", destinationEvent: "Purchase", valueProperty: "", currency: "EUR" }],
      ],
    );
    await page.locator("tbody").getByText("Nothing sent yet").waitFor();
    await page.locator("tbody a").click();
    await page.getByRole("heading", { name: "Shop" }).waitFor();
    await page.getByText("No deliveries here.").waitFor();
  });

  it("a test is sent, and the log shows it without the secret", async () => {
    await page.getByRole("button", { name: "Send a test" }).click();
    await page.getByText("The test was accepted.").waitFor();
    assert.equal(shop.taken.at(-1).event.name, "test");
    await until("the log has it", async () => ((await deliveries()).length === 1 ? true : undefined));
    await world.visit(page, "destinations/" + id, app);
    await page.locator("tbody").getByRole("button", { name: "test" }).click();
    const shown = await page.locator("tbody pre").first().innerText();
    assert.match(shown, /X-SVC-Signature: •••/);
    assert.ok(!shown.includes("v1=") && !shown.includes(secret));
  });

  it("a conversion of a real event arrives, and a failure says why", async () => {
    const send = (event) =>
      call({ url: world.base }, world.server.secret, "POST", "/api/v1/events", {
        name: "purchase",
        id: event,
        distinctId: "ada",
        value: 12,
      });
    await send("order-1");
    await until("it arrives", async () => shop.taken.find((taken) => taken.event.id === "order-1"));
    shop.status = 400;
    await send("order-2");
    await until("it failed", async () => ((await deliveries("?status=failed")).length === 1 ? true : undefined));
    shop.status = 204;
    await world.visit(page, `destinations/${id}?status=failed`, app);
    assert.equal(await page.locator("tbody tr").count(), 1);
    await page.locator("tbody").getByText("the destination answered with status 400").waitFor();
    await page.locator("tbody").getByRole("button", { name: "Purchase" }).click();
    await page.locator("tbody pre").nth(1).getByText(hostile).waitFor();
    await world.visit(page, "destinations", app);
    await page.locator("tbody").getByText("Failing").waitFor();
  });

  it("parked deliveries are asked for", async () => {
    await world.visit(page, "destinations/" + id, app);
    await page.getByRole("button", { name: "Send all parked again" }).click();
    await page.getByText("0 deliveries are sent again.").waitFor();
  });

  it("settings are changed and the secret replaced", async () => {
    await world.visit(page, `destinations/${id}%2Fsettings`, app);
    await page.getByLabel("Of the person").selectOption("none");
    await page.getByRole("button", { name: "Add an event" }).click();
    await page.getByLabel("Event 2", { exact: true }).fill("signed_up");
    await page.getByLabel("Staging").check();
    await page.getByRole("button", { name: "Save" }).click();
    await until("it is saved", async () => ((await one()).mapping.length === 2 ? true : undefined));
    const changed = await one();
    assert.deepEqual(
      [changed.config.personFields, changed.environments, changed.mapping[1].destinationEvent],
      ["none", ["production", "staging"], "signed_up"],
    );
    await world.settled(page);
    await page.getByRole("button", { name: "Replace the credential" }).click();
    const next = await page.locator(".secret code").innerText();
    assert.ok(next.startsWith("whsec_") && next !== secret);
    await page.getByText(/Both secrets sign until/).waitFor();
  });

  it("each kind asks for what it needs", async () => {
    await world.visit(page, "destinations", app);
    for (const [kind, labels] of Object.entries({
      google_ads: ["Customer id", "Developer token", "Refresh token"],
      meta_capi: ["Pixel or dataset", "Access token"],
      slack: ["Address of the incoming webhook"],
      linkedin_capi: ["Conversion action or rule"],
      tiktok_events: ["Test event code"],
    })) {
      await page.getByLabel("Kind").selectOption(kind);
      for (const label of labels) await page.getByLabel(label).waitFor();
    }
    await page.getByLabel("Kind").selectOption("google_ads");
    await page.getByLabel("Name", { exact: true }).fill("Ads");
    await page.getByLabel("Customer id").fill("111-222-3333");
    await page.getByLabel("Conversion action or rule").fill("77");
    for (const label of ["Developer token", "Client id", "Client secret", "Refresh token"])
      await page.getByLabel(label).fill("a-" + label.replaceAll(" ", "-"));
    await page.getByLabel("Event 1", { exact: true }).fill("never");
    await page.getByRole("button", { name: "Add a destination" }).click();
    await page.locator("tbody tr[data-row]").nth(1).waitFor();
    assert.equal(
      (await world.api("/destinations", app)).data.find((row) => row.name === "Ads").config.customerId,
      "1112223333",
    );
    await page.getByRole("button", { name: "Switch off Ads" }).click();
    await page.getByRole("button", { name: "Switch on Ads" }).waitFor();
  });
});

describe("the connector", () => {
  it("is set with a secret of this browser, and judged", async () => {
    await world.visit(page, "settings/connector", app);
    await page.getByText("Not set").waitFor();
    await page.getByLabel("Base URL").fill(receiver.base + "/svc");
    await page.getByRole("button", { name: "Make a secret" }).click();
    handler.secret = await page.locator(".secret code").innerText();
    await page.getByRole("button", { name: "Save" }).click();
    await until("it is healthy", async () =>
      (await world.api("", app)).connector?.status === "healthy" ? true : undefined,
    );
    await page.getByRole("button", { name: "Probe now" }).click();
    await page.getByText(/It answered well/).waitFor();
    await page.getByText("Healthy", { exact: true }).waitFor();
    await page.getByText("overview, users").waitFor();
    assert.ok(handler.probes >= 2);
  });

  it("says what is wrong", async () => {
    const right = handler.secret;
    handler.secret = "another";
    for (const _ of [1, 2]) {
      const before = handler.probes;
      await page.getByRole("button", { name: "Probe now" }).click();
      await until("it is probed", async () => (handler.probes > before ? true : undefined));
      await page.locator(".said").getByText("the signature of the answer is not right").waitFor();
      await world.settled(page);
    }
    await page.getByText("Unhealthy", { exact: true }).waitFor();
    handler.secret = right;
    await page.getByRole("button", { name: "Probe now" }).click();
    await page.getByText("Healthy", { exact: true }).waitFor();
  });
});

const paths = () => [
  "destinations",
  "destinations/" + id,
  `destinations/${id}?status=failed`,
  `destinations/${id}%2Fsettings`,
  "settings/connector",
];

describe("every page", () => {
  it("is read by everybody: axe, both themes, 360 pixels, and shows hostile texts as text", async () => {
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      for (const path of paths()) {
        await world.visit(page, path, app);
        await accessible(page);
        assert.equal(await page.getByRole("alert").count(), 0, "a refusal on " + path);
        assert.notEqual(await page.title(), "owned");
      }
    }
    await page.emulateMedia({ colorScheme: "light" });
    await page.setViewportSize({ width: 360, height: 740 });
    for (const path of paths()) {
      await world.visit(page, path, app);
      const [needs, has] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
      assert.ok(needs <= has, `${path} needs ${needs} of ${has} pixels`);
    }
    await page.setViewportSize({ width: 1280, height: 900 });
  });

  it("shows a viewer what a viewer may do, and no more", async () => {
    await world.server.admin("members", "put", "--org", "acme", "--email", "viewer@acme.example", "--role", "viewer");
    const other = await world.as("viewer@acme.example");
    for (const path of paths()) {
      await world.visit(other, path, app);
      assert.equal(await other.getByRole("alert").count(), 0, "a refusal on " + path);
      for (const name of ["Add a destination", "Send a test", "Replace the credential", "Save", "Probe now"])
        assert.equal(await other.getByRole("button", { name }).count(), 0, name + " on " + path);
    }
    assert.ok(
      !(await other.locator("body").innerText()).includes(receiver.base),
      "a viewer sees where the connector is",
    );
    await other.context().close();
  });
});

it("what is deleted is gone", async () => {
  await world.visit(page, "destinations/" + id, app);
  await page.getByRole("button", { name: "Delete" }).click();
  await page.waitForFunction(() => location.hash.endsWith("/destinations"));
  assert.equal(await one(), undefined);
  await world.visit(page, "settings/connector", app);
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByText("Not set").waitFor();
  assert.equal((await world.api("", app)).connector, null);
});

it("the browser complained of nothing, and asked no other host", () => assert.deepEqual(world.complaints, []));
