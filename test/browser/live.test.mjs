// The live pages show answers even if an answer takes longer than the pause between two requests. Events arrive all the
// time.
import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { startConsole } from "./console.mjs";
import { call } from "./server.mjs";

const slow = 7_000; // longer than the console's pause of five seconds
let world,
  ended = false;
const send = (n) =>
  call({ url: world.base }, world.server.secret, "POST", "/api/v1/batch", {
    items: [{ type: "page", name: "page_view", distinctId: "visitor-" + n, url: "https://acme.example/page-" + n }],
  });

before(async () => {
  world = await startConsole();
  await send(0);
});

after(async () => {
  ended = true;
  await world?.stop();
});

it("a slow answer is waited for, whatever arrives meanwhile", async () => {
  const page = await world.as("owner@acme.example");
  const arriving = (async () => {
    for (let n = 1; !ended; n++) await send(n).then(() => new Promise((done) => setTimeout(done, 400)));
  })();
  await page.route(/analytics\/overview|\/events\?/, async (route) => {
    await new Promise((done) => setTimeout(done, slow));
    await route.continue().catch(() => {}); // the page may be closed already
  });
  for (const [path, shown] of [
    ["overview?range=today", ".metrics .value[title]"],
    ["events", "tbody tr[data-row]"],
  ]) {
    await page.goto(world.at("web", path));
    await page
      .locator(shown)
      .first()
      .waitFor({ timeout: 6 * slow });
  }
  ended = true;
  await arriving;
  assert.deepEqual(world.complaints, []);
});
