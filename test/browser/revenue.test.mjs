// Walks through revenue and the settings of billing connectors with the demo data. Compares the figures with a direct
// count of the demo's bills. Also tests axe, both themes, 360 pixels, roles and hostile texts.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startConsole } from "./console.mjs";
import { accessible } from "./page.mjs";
import { call, until } from "./server.mjs";

let world, page, until0, bills;
const usd = new Intl.NumberFormat("en", { style: "currency", currency: "USD" });

before(async () => {
  world = await startConsole();
  page = await world.as("owner@acme.example");
  await world.visit(page, "overview", "web");
  const parts = [];
  page.on("response", async (response) => {
    if (/\/demo\/\d+/.test(response.url()) && response.ok()) parts.push(response.json());
  });
  await page.getByRole("button", { name: "Fill the demo" }).click();
  await page.locator(".metrics .value").first().waitFor({ timeout: 240_000 });
  const all = await Promise.all(parts);
  until0 = Date.parse(all[0].until);
  bills = all.flatMap((part) => part.calls.filter((one) => one.path === "/api/v1/revenue").flatMap((one) => one.body));
  await until("all is counted", async () =>
    (await world.api("/revenue/overview?range=90d")).totals.activeSubscriptions === active().length ? true : undefined,
  );
});

after(() => world?.stop());

// active returns the last states of the subscriptions that are active at the end of the demo, with a simple loop over
// the bills.
function active() {
  const last = new Map();
  for (const one of bills
    .filter((bill) => bill.type === "subscription")
    .sort((a, b) => Date.parse(a.ts) - Date.parse(b.ts)))
    last.set(one.subscriptionId, one);
  return [...last.values()].filter((one) => one.status === "active");
}

describe("revenue", () => {
  it("is what the bills of the demo say", async () => {
    assert.ok(active().length > 20, "the demo has few subscriptions");
    const { totals, otherCurrencies, series } = await world.api("/revenue/overview?range=90d");
    const dollars = active()
      .filter((one) => one.currency === "USD")
      .reduce((sum, one) => sum + one.amountCents * one.quantity, 0);
    const euros = active()
      .filter((one) => one.currency === "EUR")
      .reduce((sum, one) => sum + one.amountCents * one.quantity, 0);
    const other = otherCurrencies.find((one) => one.currency === "EUR");
    assert.equal(other.mrrCents, euros);
    assert.equal(other.converted, true);
    const converted = totals.mrrCents - dollars;
    assert.ok(converted > euros * 1.07 && converted < euros * 1.09, `${euros} EUR cents are ${converted}`);
    const payments = bills
      .filter((one) => one.type === "payment" && one.currency === "EUR")
      .reduce((sum, one) => sum + one.amountCents, 0);
    assert.equal(other.paymentsCents, payments);
    let sum = 0,
      cursor = "";
    do {
      const rows = await world.api(
        "/revenue/movements?range=90d&limit=200" + (cursor ? "&cursor=" + encodeURIComponent(cursor) : ""),
      );
      sum += rows.data.reduce((all, one) => all + one.cents, 0);
      cursor = rows.nextCursor;
    } while (cursor);
    assert.equal(sum, totals.netNewMrrCents);
    const moved = series.movements.reduce(
      (all, one) => all + one.newCents + one.expansionCents - one.contractionCents - one.churnCents,
      0,
    );
    assert.equal(moved, totals.netNewMrrCents);
  });

  it("is shown with its movements, which lead to people", async () => {
    const { totals } = await world.api("/revenue/overview?range=90d");
    await world.visit(page, "revenue?range=90d");
    await page.locator("tbody tr[data-row]").first().waitFor();
    assert.equal(
      await page.locator(".metrics .value").first().getAttribute("title"),
      usd.format(totals.mrrCents / 100),
    );
    assert.ok((await page.locator(".stacked rect").count()) > 5, "no movements are drawn");
    await page.getByRole("link", { name: "Churn", exact: true }).click();
    await until("churn alone is listed", async () =>
      (await page.locator("tbody tr[data-row] td:nth-child(2)").allInnerTexts()).every((text) => text === "Churn")
        ? true
        : undefined,
    );
    const who = await page.locator("tbody tr[data-row] .title a").first().innerText();
    await page.locator("tbody tr[data-row] .title a").first().click();
    await page.locator("tbody tr[data-row]").first().waitFor();
    assert.match(page.url(), new RegExp("people\\?.*q=" + who));
  });

  it("connectors are made, fail without hiding it, and are removed", async () => {
    await world.visit(page, "settings/billing");
    await page.getByText("No billing system is connected.").waitFor();
    await page.getByLabel("Restricted key").fill("rk_live_51Mabc");
    await page.getByRole("button", { name: "Connect", exact: true }).click();
    await page.locator("tbody tr").waitFor();
    assert.equal(await page.getByLabel("Restricted key").inputValue(), "");
    assert.ok(!(await page.content()).includes("51Mabc"), "the key is shown");
    await until("nobody answers", async () =>
      (await world.api("/revenue/overview?range=30d")).coverage.state === "failing" ? true : undefined,
    );
    await world.visit(page, "revenue?range=30d");
    await page.getByRole("status", { name: "What is not known" }).getByText("stripe:").waitFor();
    await world.visit(page, "settings/billing");
    await page.getByRole("button", { name: "Delete stripe" }).click();
    await page.getByText(/All billing items that it brought/).waitFor();
  });

  it("exchange rates are given, and what is no rate is refused", async () => {
    const converted = async () =>
      (await world.api("/revenue/overview?range=30d", "web")).otherCurrencies.find((one) => one.currency === "CHF")
        ?.converted;
    await call({ url: world.base }, world.server.secret, "POST", "/api/v1/revenue", [
      { type: "payment", paymentId: "usd-1", customerId: "payer", amountCents: 100, currency: "USD" },
      { type: "payment", paymentId: "chf-1", customerId: "payer", amountCents: 500, currency: "CHF" },
    ]);
    await until("there is no rate", async () => ((await converted()) === false ? true : undefined));
    await world.visit(page, "settings/billing", "web");
    await page.getByRole("combobox", { name: "Provider" }).selectOption("generic");
    await page.getByLabel("Exchange rates").fill("2026-03-01 CHF CHF 1.12");
    await page.getByRole("button", { name: "Connect", exact: true }).click();
    await page.getByRole("alert").getByText("to is not a code of another currency.").waitFor();
    await page.getByLabel("Exchange rates").fill("2026-03-01 CHF USD 1.1275\n2026-03-02, CHF, USD, 1.13");
    await page.getByRole("button", { name: "Connect", exact: true }).click();
    await page.getByRole("button", { name: "Delete generic" }).waitFor();
    assert.equal(await page.getByLabel("Exchange rates").inputValue(), "");
    await until("the rate holds", async () => ((await converted()) === true ? true : undefined));
    await page.getByRole("button", { name: "Delete generic" }).click();
    await page.getByText(/All billing items that were sent/).waitFor();
  });

  it("is read by everybody: axe, both themes, 360 pixels, roles", async () => {
    const hostile = `<img src=x onerror="document.title='owned'">`;
    await world.server.admin("members", "put", "--org", "acme", "--email", "viewer@acme.example", "--role", "viewer");
    const other = await world.as("viewer@acme.example");
    const paths = [
      "revenue?range=90d",
      "revenue?range=12m&kind=" + encodeURIComponent(hostile),
      "revenue?range=today",
      "settings/billing",
    ];
    for (const on of [page, other]) {
      for (const colorScheme of ["light", "dark"]) {
        await on.emulateMedia({ colorScheme });
        for (const path of paths) {
          await world.visit(on, path);
          await accessible(on);
          assert.equal(await on.getByRole("alert").count(), 0, "a refusal on " + path);
          assert.notEqual(await on.title(), "owned");
        }
      }
    }
    await page.setViewportSize({ width: 360, height: 740 });
    for (const path of paths) {
      await world.visit(page, path);
      const [needs, has] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
      assert.ok(needs <= has, `${path} needs ${needs} of ${has} pixels`);
    }
    await other.context().close();
  });
});

it("the browser complained of nothing, and asked no other host", () => assert.deepEqual(world.complaints, []));
