// Registers a passkey in Chromium and approves a destructive action with it.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, describe, it } from "node:test";
import { launch } from "./page.mjs";
import { call, start } from "./server.mjs";

let server, browser, page, port;

// freePort returns a port of loopback that nobody listens on: the origin of passkeys is
// named before the server starts.
function freePort() {
  return new Promise((done) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => done(port));
    });
  });
}

// propose has an agent propose a change over MCP, which only a passkey can confirm.
async function propose(name) {
  const response = await fetch(`http://127.0.0.1:${port}/mcp`, {
    method: "POST", headers: { authorization: "Bearer " + server.token, "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "call_write", arguments: { tool: "apps_update", arguments: { name } } } }),
  });
  const answer = await response.json();
  assert.equal(answer.result.structuredContent.executed, false, JSON.stringify(answer));
}

const nameOfApp = async () => (await call({ url: `http://127.0.0.1:${port}` }, server.token, "GET", "/api/v1/apps/acme/web")).name;

before(async () => {
  port = await freePort();
  server = await start({ SVC_HTTP_ADDR: `127.0.0.1:${port}`, SVC_PUBLIC_URL: `http://localhost:${port}` });
  browser = await launch();
  page = await browser.newPage();
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("WebAuthn.enable");
  await devtools.send("WebAuthn.addVirtualAuthenticator", {
    options: { protocol: "ctap2", transport: "internal", hasResidentKey: true, hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true },
  });
  await page.goto(`http://localhost:${port}/console`);
  await page.getByLabel("Session").fill(server.session);
  await page.getByLabel("Application").fill("acme/web");
  await page.getByRole("button", { name: "Show" }).click();
  await page.getByText("Signed in.").waitFor();
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

describe("the console's page", () => {
  it("registers a passkey and approves with it", async () => {
    await page.getByLabel("Name").fill("Laptop");
    await page.getByRole("button", { name: "Register a passkey" }).click();
    await page.getByText("The passkey is registered.").waitFor();
    assert.match(await page.locator("#passkeys").innerText(), /Laptop for localhost/);

    await propose("Shop <b>by an agent</b>");
    await page.getByRole("button", { name: "Show" }).click();
    await page.getByText("Signed in.").waitFor();
    const action = page.locator("#actions li");
    assert.match(await action.innerText(), /name: "Web" → "Shop <b>by an agent<\/b>"/);
    await action.getByRole("button").click();
    await page.getByText("reason", { exact: false }).first().waitFor();
    assert.equal(await nameOfApp(), "Web");
    await action.getByLabel("Reason").fill("the owner wants it");
    await action.getByRole("button").click();
    await page.getByText("The action is executed.").waitFor();
    assert.equal(await nameOfApp(), "Shop <b>by an agent</b>");
    assert.equal(await page.locator("#actions li").count(), 0);
  });

  it("says why it cannot approve without a passkey", async () => {
    await page.getByRole("button", { name: "Remove" }).click();
    await page.getByText("The passkey is removed.").waitFor();
    await propose("Again");
    await page.getByRole("button", { name: "Show" }).click();
    await page.getByText("Signed in.").waitFor();
    const action = page.locator("#actions li");
    await action.getByLabel("Reason").fill("why not");
    await action.getByRole("button").click();
    await page.getByText("Register a passkey first").waitFor();
    assert.equal(await nameOfApp(), "Shop <b>by an agent</b>");
  });
});
