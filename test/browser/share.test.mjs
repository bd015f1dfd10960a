// Reads the public page like people do: with a pointer, with the keyboard, without scripts, on small screens, in a
// frame of another site.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, describe, it } from "node:test";
import { accessible, launch, open, shoot } from "./page.mjs";
import { call, start, traffic, until } from "./server.mjs";

const settings = "/console/api/v1/apps/acme/web/share";

let server, browser, share, sent;

before(async () => {
  server = await start();
  sent = traffic(Date.now());
  for (let at = 0; at < sent.length; at += 1000) {
    const answer = await call(server, server.secret, "POST", "/api/v1/batch", { items: sent.slice(at, at + 1000) });
    assert.deepEqual(answer.rejected, []);
  }
  await until("everything is stored", async () =>
    (await overview("90d")).pageviews === sent.length ? true : undefined,
  );
  share = await call(server, server.session, "POST", settings, {
    pages: true,
    campaigns: true,
    locations: true,
    browsers: true,
    privatePaths: ["/admin*"],
    legacyLink: true,
  });
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

const overview = (range) =>
  call(server, server.token, "GET", "/api/v1/apps/acme/web/analytics/overview?range=" + range);

const visit = (path, options, test) => open(browser, server, path, options, test);

describe("the public page", () => {
  it("shows the numbers of the API, in less than 100 KB, in one answer", () =>
    visit(share.path, {}, async (page, response) => {
      const numbers = await overview("30d");
      const exact = async (name) =>
        Number(
          (await page.locator(".metric", { hasText: name }).locator(".value").getAttribute("title")).replaceAll(
            ",",
            "",
          ),
        );
      assert.deepEqual(
        [await exact("Visitors"), await exact("Page views"), await exact("Sessions")],
        [numbers.visitors, numbers.pageviews, numbers.sessions],
      );
      const rows = await page.locator("#numbers tbody td").allTextContents();
      assert.equal(
        rows.reduce((sum, cell) => sum + Number(cell.replaceAll(",", "")), 0),
        numbers.visitors,
      );
      const { responseBodySize } = await response.request().sizes();
      const whole = (await response.body()).length;
      console.log(`first paint: ${whole} bytes, ${responseBodySize} compressed`);
      assert.ok(whole < 100_000, `${whole} bytes`);
    }));

  it("hides private paths, secrets in paths, and places of few visitors", () =>
    visit(share.path + "?range=90d", {}, async (page) => {
      const text = await page.locator("main").innerText();
      assert.ok(
        sent.some((event) => event.url.includes("/admin/billing")) &&
          sent.some((event) => event.url.includes("/reset/")),
      );
      for (const hidden of ["/admin", "/reset", "visitor-", "Norway"]) assert.ok(!text.includes(hidden), hidden);
      for (const shown of ["/pricing", "Germany", "newsletter"].slice(0, 2)) assert.ok(text.includes(shown), shown);
    }));

  for (const [name, options, path, shot] of [
    ["light", {}, "", "share-light.png"],
    ["dark", { colorScheme: "dark" }, "?compare=1&pages=entry_path&devices=browser", "share-dark.png"],
    [
      "light, comparing",
      {},
      "?range=7d&granularity=hour&metric=sessions&compare=1&sources=medium&campaigns=utm_campaign&locations=city&devices=os",
    ],
    ["dark, an empty range of panels", { colorScheme: "dark" }, "?range=24h&locations=region"],
    ["every hour of 90 days", {}, "?range=90d&granularity=hour&compare=1"],
    [
      "on a phone",
      { viewport: { width: 390, height: 844 }, deviceScaleFactor: 1, hasTouch: true },
      "?compare=1",
      "share-mobile.png",
    ],
    ["320 pixels wide", { viewport: { width: 320, height: 640 } }, "?compare=1&range=90d"],
  ]) {
    it("is accessible and fits: " + name, () =>
      visit(share.path + path, options, async (page) => {
        await accessible(page);
        const width = await page.evaluate(() => document.documentElement.scrollWidth);
        assert.ok(width <= (options.viewport?.width ?? 1200), `${width} pixels wide`);
        if (shot) await shoot(page, shot);
      }),
    );
  }

  it("tells the numbers under a pointer", () =>
    visit(share.path + "?compare=1", {}, async (page) => {
      const cells = await page.locator("#numbers tbody tr").nth(10).locator("th, td").allTextContents();
      const box = await page.locator(".chart").boundingBox();
      const count = await page.locator("#numbers tbody tr").count();
      await page.mouse.move(box.x + (box.width * 10.5) / count, box.y + 100);
      assert.equal(await page.locator(".tip").innerText(), `${cells[0]}\n${cells[1]} visitors\nbefore: ${cells[2]}`);
      await page.mouse.move(box.x + box.width / 2, box.y + box.height + 300);
      assert.equal(await page.locator(".tip").isVisible(), false);
    }));

  it("is read with keys alone", () =>
    visit(share.path, {}, async (page) => {
      for (let n = 0; n < 60; n++) {
        await page.keyboard.press("Tab");
        if (await page.evaluate(() => document.activeElement.className === "keys")) break;
      }
      const last = await page.locator("#numbers tbody tr").count();
      const said = async (row) => {
        const [name, value] = await page.locator("#numbers tbody tr").nth(row).locator("th, td").allTextContents();
        return `${name}: ${value} visitors`;
      };
      assert.equal(await page.locator(".keys").getAttribute("aria-valuetext"), await said(last - 1));
      assert.equal(await page.locator(".tip").isVisible(), true);
      await page.keyboard.press("ArrowLeft");
      assert.equal(await page.locator(".keys").getAttribute("aria-valuetext"), await said(last - 2));
      await page.keyboard.press("Home");
      assert.equal(await page.locator(".keys").getAttribute("aria-valuetext"), await said(0));
      await page.keyboard.press("Escape");
      assert.equal(await page.locator(".tip").isVisible(), false);
    }));

  it("works without scripts", () =>
    visit(share.path, { javaScriptEnabled: false }, async (page) => {
      assert.equal(await page.locator("h1").innerText(), "Web");
      assert.ok((await page.locator(".band title").first().textContent()).endsWith("visitors"));
      await page.getByRole("link", { name: "7 days" }).click();
      assert.ok(page.url().endsWith(share.path + "?range=7d"), page.url());
      await page.getByRole("link", { name: /^Compare/ }).click();
      await page.getByRole("link", { name: "Page views" }).click();
      await page.getByRole("link", { name: "Entry page" }).click();
      assert.ok(
        page.url().endsWith(share.path + "?range=7d&metric=pageviews&compare=1&pages=entry_path#pages"),
        page.url(),
      );
      assert.ok((await page.locator(".change").count()) === 6);
      await page.getByText("The numbers as a table").click();
      assert.equal(await page.locator("#numbers").isVisible(), true);
    }));

  it("stands in frames of other sites as embed, and only so", async () => {
    const site = createServer((request, response) => {
      response.setHeader("content-type", "text/html");
      response.end(
        `<!doctype html><title>Site</title><iframe width="1000" height="900" src="${server.url}${new URL(request.url, "http://x").searchParams.get("frame")}"></iframe>`,
      );
    });
    await new Promise((done) => site.listen(0, "127.0.0.1", done));
    const page = await browser.newPage({ viewport: { width: 1040, height: 940 } });
    try {
      const framed = async (path) => {
        await page.goto(`http://localhost:${site.address().port}/?frame=${path}`);
        return page.frames()[1].locator("h1").allInnerTexts();
      };
      assert.deepEqual(await framed(share.embedPath), ["Web"]);
      await shoot(page, "share-embed.png", {});
      await framed(share.path);
      assert.match(page.frames()[1].url(), /^chrome-error:/);
    } finally {
      await page.close();
      site.close();
    }
  });

  it("ends at once for every link when it is rotated or disabled", async () => {
    const status = async (path) => (await fetch(server.url + path)).status;
    const links = (s) => [s.path, s.embedPath, s.path + "?range=7d"];
    const statuses = (paths) => Promise.all(paths.map(status));
    assert.deepEqual(await statuses([...links(share), share.legacyPath]), [200, 200, 200, 200]);
    const rotated = await call(server, server.session, "POST", settings + "/rotate");
    assert.deepEqual(await statuses([...links(share), share.legacyPath]), [404, 404, 404, 404]);
    assert.deepEqual(await statuses(links(rotated)), [200, 200, 200]);
    await call(server, server.session, "DELETE", settings);
    assert.deepEqual(await statuses(links(rotated)), [404, 404, 404]);
    await visit(rotated.path, {}, async (page, response) => {
      assert.equal(response.status(), 404);
      await accessible(page);
    });
  });
});
