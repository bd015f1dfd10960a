// Reads the documentation like people do, starting from the address in a refused request.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { accessible, launch, open } from "./page.mjs";
import { start } from "./server.mjs";

let server, browser;

before(async () => {
  server = await start();
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

describe("the documentation", () => {
  it("explains the code of a refusal where its type points", async () => {
    const refusal = await (await fetch(server.url + "/api/v1/me")).json();
    const { pathname, hash } = new URL(refusal.type, server.url);
    assert.equal(pathname + hash, "/docs/errors#unauthorized");
    await open(browser, server, pathname + hash, {}, async (page) => {
      assert.equal(await page.locator(":target").innerText(), "unauthorized");
      assert.match(await page.locator(":target + p").innerText(), /^Status 401/);
    });
  });

  for (const colorScheme of ["light", "dark"]) {
    for (const width of [360, 1200]) {
      it(`reads well on ${width} pixels, ${colorScheme}, without scripts`, () =>
        open(browser, server, "/docs", { viewport: { width, height: 800 }, colorScheme }, async (page) => {
          for (const name of ["Analytics", "Metrics"]) {
            await page.getByRole("navigation").getByRole("link", { name, exact: true }).first().click();
            assert.equal(await page.locator("h1").innerText(), name);
            assert.equal(await page.locator("nav [aria-current]").innerText(), name);
          }
          assert.ok(
            (await page.evaluate(() => document.documentElement.scrollWidth)) <= width,
            "the page is wider than the screen",
          );
          assert.equal(await page.locator("script").count(), 0);
          await accessible(page);
        }));
    }
  }
});
