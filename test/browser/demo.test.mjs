// Fills the demo with the button of an empty application, and walks through it.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startConsole, whole } from "./console.mjs";
import { until } from "./server.mjs";

let world, page;

before(async () => {
  world = await startConsole();
  page = await world.as("owner@acme.example");
});

after(() => world?.stop());

describe("the demo", () => {
  it("is filled by a button, with progress", async () => {
    const began = Date.now();
    await world.visit(page, "overview", "web");
    await page.getByRole("button", { name: "Fill the demo" }).click();
    await page.getByRole("progressbar", { name: "Nothing to send yet?" }).waitFor();
    await page.locator(".metrics .value").first().waitFor({ timeout: 60_000 });
    console.log(`      filled in ${Date.now() - began} ms`);
    assert.match(page.url(), /\/apps\/acme\/demo\/overview\?range=90d$/);
    await until("all is counted", async () => ((await world.api("/analytics/overview?range=90d")).visitors > 2000 ? true : undefined));
    await page.reload();
    await world.settled(page);
    const { visitors } = await world.api("/analytics/overview?range=90d");
    assert.equal(await page.locator(".metrics .value").first().getAttribute("title"), whole(visitors));
  });

  it("leaves no key open", async () => assert.deepEqual((await world.api("/keys")).data.filter((key) => key.revokedAt === null), []));
});

it("the browser complained of nothing, and asked no other host", () => assert.deepEqual(world.complaints, []));
