// Fills the demo with the button of an empty application, and walks through every page with it. Compares numbers with
// the API, and tests the keyboard, long lists, axe, both themes, 360 pixels and roles.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startConsole, whole } from "./console.mjs";
import { accessible, fitting, shoot } from "./page.mjs";
import { until } from "./server.mjs";

let world, page;
const rows = (name) => page.getByRole("region", { name, exact: true }).locator("tbody tr[data-row]");

// tasks returns the processor time in milliseconds of each task of the page's main thread while act ran, the longest
// first. It uses processor time because elapsed time depends on the other programs of the machine.
async function tasks(on, act) {
  await world.browser.startTracing(on, {
    categories: ["toplevel", "disabled-by-default-devtools.timeline", "devtools.timeline"],
  });
  await act();
  const { traceEvents } = JSON.parse(await world.browser.stopTracing());
  const main = new Set(
    traceEvents
      .filter((one) => one.name === "thread_name" && one.args.name === "CrRendererMain")
      .map((one) => one.pid + "." + one.tid),
  );
  const all = traceEvents.filter((one) => one.name === "RunTask" && main.has(one.pid + "." + one.tid));
  assert.ok(all.length > 100, "the trace has no tasks");
  return all.map((one) => one.tdur / 1000).sort((a, b) => b - a);
}

// plainRows returns the processor time in milliseconds that this browser on this machine needs for a table of 100 plain
// rows. It is the median of many runs.
async function plainRows(on) {
  const times = 60;
  const all = await tasks(on, () =>
    on.evaluate(async (times) => {
      const table = document.body.appendChild(document.createElement("table"));
      for (let n = 0; n < times; n++) {
        await new Promise(requestAnimationFrame);
        table.replaceChildren();
        for (let i = 0; i < 100; i++)
          for (const text of ["time " + i, "name " + n, "page", "place"])
            (table.rows[i] ?? table.insertRow()).insertCell().textContent = text;
      }
      table.remove();
    }, times),
  );
  return all[times / 2];
}

before(async () => {
  world = await startConsole();
  page = await world.as("owner@acme.example");
});

after(() => world?.stop());

describe("the demo", () => {
  it("is filled by a button, with progress, and leaves no key open", async () => {
    const began = Date.now();
    await world.visit(page, "overview", "web");
    await page.getByRole("button", { name: "Fill the demo" }).click();
    await page.getByRole("progressbar", { name: "Nothing to send yet?" }).waitFor();
    await page.locator(".metrics .value").first().waitFor({ timeout: 120_000 });
    console.log(`      filled in ${Date.now() - began} ms`);
    assert.match(page.url(), /\/apps\/acme\/demo\/overview\?range=90d$/);
    // The items sent last belong to the last day.
    await until("all is counted", async () => {
      const { visitors } = await world.api("/analytics/overview?range=90d");
      const { data } = await world.api("/metrics/names");
      return visitors > 2000 && data.length > 8 ? true : undefined;
    });
    await page.reload();
    await world.settled(page);
    const { visitors } = await world.api("/analytics/overview?range=90d");
    assert.equal(await page.locator(".metrics .value").first().getAttribute("title"), whole(visitors));
    assert.deepEqual(
      (await world.api("/keys")).data.filter((key) => key.revokedAt === null),
      [],
    );
  });
});

describe("people", () => {
  let person;

  it("are found, listed and filtered as the API has them", async () => {
    await world.visit(page, "people?stage=signup");
    const { data } = await world.api("/people?stage=signup&limit=100");
    assert.deepEqual(
      await rows("People").locator(".title a").allInnerTexts(),
      data
        .slice(0, 80)
        .map((one) => one.name ?? one.email ?? one.distinctId ?? "Not identified")
        .slice(0, await rows("People").count()),
    );
    person = data.find((one) => one.name);
    await page.keyboard.press("/");
    await page.keyboard.type(person.email);
    await page.waitForFunction(() => document.querySelectorAll("tr[data-row]").length === 1);
    await world.settled(page);
    await page.keyboard.press("Escape");
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: person.name, level: 1 }).waitFor();
  });

  it("have a profile, a timeline, notes, tags and a stage", async () => {
    await world.settled(page);
    assert.equal(await page.locator(".sums dd").nth(1).innerText(), whole(person.pageviews));
    await page.getByLabel("Write a note").fill("Asked for an <b>invoice</b>.");
    await page.getByRole("button", { name: "Add the note" }).click();
    await page.getByText("Asked for an <b>invoice</b>.").waitFor();
    await page.getByLabel("New tag").fill("vip");
    await page.getByRole("button", { name: "Add", exact: true }).click();
    await page.getByRole("button", { name: "Remove the tag vip" }).waitFor();
    await page.getByLabel("Stage").selectOption("paying");
    await until("the stage is kept", async () =>
      (await world.api("/people/" + person.id)).lifecycleStage === "paying" ? true : undefined,
    );
    const { data } = await world.api(`/people/${person.id}/timeline?limit=1`);
    await page.locator(".timeline li").first().waitFor();
    assert.ok(data.length === 1);
    await world.settled(page);
    await shoot(page, "console-person.png", {});
  });

  it("are merged by hand", async () => {
    const { data } = await world.api("/people?stage=visitor&limit=50");
    const other = data.find((one) => one.distinctId && !one.name);
    await page.getByLabel("Find the other record").fill(other.distinctId);
    await page.locator(".found button").first().click();
    await until("the records are one", async () =>
      (await world.api("/people/" + other.id)).name === person.name ? true : undefined,
    );
  });
});

describe("an issue", () => {
  it("is assigned, commented and merged, and tells what was done", async () => {
    await world.visit(page, "errors?status=all");
    const before = (await world.api("/errors?status=all")).data;
    assert.deepEqual(
      await rows("Errors").locator(".number").first().innerText(),
      before[0].eventCount.toLocaleString("en"),
    );
    const [into, part] = before;
    await page.getByLabel("Choose " + into.title, { exact: true }).check();
    await page.getByLabel("Choose " + part.title, { exact: true }).check();
    await page.getByRole("button", { name: "Merge" }).click();
    await page.getByText("2 issues are one.").waitFor({ state: "attached" });
    await until("one row is less", async () =>
      (await world.api("/errors?status=all")).data.length === before.length - 1 ? true : undefined,
    );
    await world.visit(page, "errors/" + into.id);
    await page.getByLabel("Merged issues").getByText(part.id).waitFor();
    await page.getByLabel("Assign to").selectOption({ index: 1 });
    await page.getByText("assigned it").waitFor();
    await page.getByLabel("Write a comment").fill("Seen at <i>noon</i>.");
    await page.getByRole("button", { name: "Comment" }).click();
    await page.getByText("Seen at <i>noon</i>.").waitFor();
    await page.getByRole("button", { name: "Separate" }).click();
    await page.getByText("separated an issue from it").waitFor();
    assert.equal((await world.api(`/errors/${into.id}/activity`)).data.length, 4);
  });

  it("is decided with others in one request", async () => {
    await world.visit(page, "errors?status=all");
    const asked = [];
    page.on("request", (request) => request.method() === "PATCH" && asked.push(request.url()));
    await page.getByLabel("Choose all on this page").check();
    await page.getByRole("button", { name: "Ignore" }).click();
    await until("all are ignored", async () =>
      (await world.api("/errors?status=ignored")).data.length > 5 ? true : undefined,
    );
    assert.equal(asked.length, 1);
  });
});

describe("alerts", () => {
  it("have rules that are made, changed, switched off and deleted", async () => {
    await world.visit(page, "alerts");
    const rules = (await world.api("/alerts")).data;
    assert.deepEqual(
      await rows("Alert rules").locator("b").allInnerTexts(),
      rules.map((rule) => rule.name),
    );
    await page.getByLabel("Name", { exact: true }).fill("Orders stop");
    await page.getByLabel("Watches").selectOption("event_volume");
    await page.getByLabel("Name of the event").fill("subscribed");
    await page.getByLabel("Fires when it is").selectOption("lt");
    await page.getByLabel("Threshold").fill("1");
    await page.getByRole("button", { name: "Add a rule" }).click();
    await page.getByRole("button", { name: "Change Orders stop" }).click();
    await page.getByLabel("Threshold").fill("2");
    await page.getByRole("button", { name: "Save the rule" }).click();
    await page.getByRole("heading", { name: "Add a rule" }).waitFor();
    await page.getByRole("button", { name: "On: Orders stop" }).click();
    await until("it is off", async () => {
      const rule = (await world.api("/alerts")).data.find((one) => one.name === "Orders stop");
      return rule && !rule.enabled && rule.threshold === 2 && rule.condition.name === "subscribed" ? true : undefined;
    });
    await page.getByRole("button", { name: "Delete Orders stop" }).click();
    await page.getByRole("button", { name: "Delete Orders stop" }).waitFor({ state: "detached" });
  });

  it("go to channels", async () => {
    await world.visit(page, "alerts/channels");
    await page.getByText("No channels yet.").waitFor();
    await page.getByLabel("Name", { exact: true }).fill("Team chat");
    await page.getByLabel("Address").fill("https://example.com/hook");
    await page.getByRole("button", { name: "Add a channel" }).click();
    await page.locator(".secret code").waitFor();
    assert.equal((await world.api("/channels")).data[0].name, "Team chat");
    await page.getByRole("button", { name: "Delete Team chat" }).click();
    await page.getByText("No channels yet.").waitFor();
  });
});

describe("settings", () => {
  it("say what the assistant may do", async () => {
    await world.visit(page, "settings/assistant");
    await page.getByLabel("Most that it may do").selectOption("read");
    await page.getByLabel("Tokens a month").fill("100000");
    await page.getByLabel("leaves the service").check();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved.").waitFor();
    await page.reload();
    await world.settled(page);
    assert.deepEqual(
      [
        await page.getByLabel("Most that it may do").inputValue(),
        await page.getByLabel("Tokens a month").inputValue(),
        await page.getByLabel("leaves the service").isChecked(),
      ],
      ["read", "100000", true],
    );
    await page.getByLabel("API key").fill("sk-of-the-organization-1234");
    await page.getByRole("button", { name: "Use this credential" }).click();
    await page.getByText("…1234").waitFor();
    assert.ok(!(await page.content()).includes("sk-of-the-organization"), "the credential is shown");
    await page.getByRole("button", { name: "Remove it" }).click();
    await page.getByText("The platform's credential is used.").waitFor();
  });

  it("publish a page, and take it back", async () => {
    await world.visit(page, "settings/share");
    await page.getByRole("button", { name: "Publish", exact: true }).click();
    const link = await page.locator(".snippet code").first().innerText();
    assert.equal((await fetch(link)).status, 200);
    await page.getByRole("button", { name: "Unpublish" }).click();
    await page.getByText("Not published.").waitFor();
    assert.equal((await fetch(link)).status, 404);
  });

  it("show the ledger, and that its chain is whole", async () => {
    await world.visit(page, "settings/ledger");
    await page.getByText("share.disabled").or(page.getByText("share.")).first().waitFor();
    await page.getByRole("button", { name: "Check the chain" }).click();
    await page.getByText(/^The chain of \d+ entries is whole\.$/).waitFor();
  });
});

describe("long lists", () => {
  it("scroll 10,000 rows without a long task", async () => {
    await world.visit(page, "events");
    // The page loads more rows when the end of the list is near.
    const height = () => page.evaluate(() => document.querySelector("#content").scrollHeight);
    while ((await height()) < 10_000 * 39) {
      const before = await height();
      await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
      await page.waitForFunction((was) => document.querySelector("#content").scrollHeight > was, before);
    }
    assert.ok((await page.locator("tbody tr").count()) < 200, "only what is near is made");
    const [longest] = await tasks(page, () =>
      page.evaluate(async () => {
        for (let at = 0; at < document.documentElement.scrollHeight; at += 1_500) {
          scrollTo(0, at);
          await new Promise(requestAnimationFrame);
        }
      }),
    );
    // A long task takes over 50 ms. On a slow machine it takes longer than four tables of 100 plain rows.
    const plain = await plainRows(page);
    console.log(`      the longest task ${longest.toFixed(1)} ms, 100 plain rows ${plain.toFixed(1)} ms`);
    assert.ok(longest <= Math.max(50, 4 * plain), `a task takes ${longest} ms, and 100 plain rows take ${plain} ms`);
    await page.evaluate(() => scrollTo(0, 200_000));
    await page.waitForFunction(
      () => document.querySelector("tbody tr[data-row]").getBoundingClientRect().top < innerHeight,
    );
  });
});

describe("funnels", () => {
  const cells = (rows) => rows.evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.innerText)));
  const all = (values) =>
    values.map(({ value, steps }) => [
      value || "(not known)",
      ...steps.map((one) => whole(one.entered)),
      new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 1 }).format(
        steps.at(-1).entered / steps[0].entered,
      ),
    ]);

  it("are divided by a dimension or by a property", async () => {
    const funnel = (await world.api("/funnels")).data.find((one) => one.name === "First project");
    await world.visit(page, "funnels?range=90d&funnel=" + funnel.id);
    await page.getByLabel("Divide by").selectOption("country");
    await page.getByRole("region", { name: "The steps by Country" }).waitFor();
    const countries = (await world.api(`/funnels/${funnel.id}/results?range=90d&breakdown=country`)).breakdown.values;
    assert.ok(countries.length > 3, "the demo has few countries");
    assert.deepEqual(await cells(page.locator(".heat tbody tr")), all(countries));
    await page.getByLabel("Divide by").selectOption("property.");
    await page.getByLabel("Key of the property").fill("plan");
    await page.getByRole("button", { name: "Divide", exact: true }).click();
    await page.getByRole("region", { name: "The steps by plan" }).waitFor();
    const plans = (await world.api(`/funnels/${funnel.id}/results?range=90d&breakdown=property.plan`)).breakdown.values;
    assert.deepEqual(plans.map((one) => one.value).sort(), ["business", "free", "team"]);
    assert.deepEqual(await cells(page.locator(".heat tbody tr")), all(plans));
    for (const [width, height] of [
      [360, 740],
      [1280, 900],
    ]) {
      await page.setViewportSize({ width, height });
      await accessible(page);
      assert.ok(
        (await page.evaluate(() => document.documentElement.scrollWidth)) <= width,
        `the page is wider than ${width} pixels`,
      );
    }
    await page.getByLabel("Divide by").selectOption("");
    await page.locator(".heat").waitFor({ state: "detached" });
  });

  it("lead to the people who stopped at a step, where people are shown", async () => {
    const funnel = (await world.api("/funnels")).data.find((one) => one.name === "First project");
    const { steps } = await world.api(`/funnels/${funnel.id}/results?range=90d`);
    await world.visit(page, "funnels?range=90d&funnel=" + funnel.id);
    const links = page.locator(".funnel tbody td:nth-child(5) a");
    assert.deepEqual(
      await links.allInnerTexts(),
      steps.filter((one) => one.dropOff > 0).map((one) => whole(one.dropOff)),
    );
    await page.setViewportSize({ width: 360, height: 740 });
    await links.nth(1).click();
    await page
      .getByText("Those who stopped at step 2, project_created, within 90 days, of the funnel First project")
      .waitFor();
    await world.settled(page);
    await accessible(page);
    assert.ok(
      (await page.evaluate(() => document.documentElement.scrollWidth)) <= 360,
      "the list is wider than 360 pixels",
    );
    await page.setViewportSize({ width: 1280, height: 900 });
    await accessible(page);
    const stopped = [];
    for (let cursor = ""; cursor !== null;) {
      const answer = await world.api(
        `/people?funnel=${funnel.id}&step=2&range=90d&limit=100${cursor && "&cursor=" + encodeURIComponent(cursor)}`,
      );
      stopped.push(...answer.data);
      cursor = answer.nextCursor;
    }
    assert.equal(stopped.length, steps[1].dropOff);
    const titles = await rows("People").locator(".title a").allInnerTexts();
    assert.ok(titles.length > 5, "few people are listed");
    assert.deepEqual(
      titles,
      stopped.slice(0, titles.length).map((one) => one.name ?? one.email ?? one.distinctId ?? "Not identified"),
    );
    await rows("People").locator(".title a").first().click();
    await page.getByRole("heading", { name: titles[0], level: 1 }).waitFor();
    await page.goBack();
    await page.getByRole("link", { name: "Show everybody" }).click();
    await page.getByText("Those who stopped").waitFor({ state: "detached" });
    assert.equal(new URL(page.url()).hash.includes("funnel"), false);
  });

  it("lead nobody to people who may not see them", async () => {
    const other = await world.as("owner@acme.example");
    await other.route(/\/me$/, async (route) => {
      const response = await route.fetch();
      const json = await response.json();
      await route.fulfill({ response, json: JSON.parse(JSON.stringify(json).replaceAll('"people.read",', "")) });
    });
    await world.visit(other, "funnels?range=90d");
    await other.locator(".funnel tbody tr").first().waitFor();
    assert.equal(await other.getByRole("link", { name: "People", exact: true }).count(), 0);
    assert.equal(await other.locator(".funnel a").count(), 0);
    await other.context().close();
  });
});

const paths = async () => [
  "overview?range=90d",
  "events",
  "goals?range=90d",
  "funnels?range=90d",
  "retention?range=90d",
  "people",
  "people/" + (await world.api("/people?stage=signup")).data[0].id,
  "errors?status=all",
  "errors/" + (await world.api("/errors?status=all")).data[0].id,
  "metrics?name=http.duration",
  "monitors",
  "incidents?status=all",
  "alerts",
  "alerts/channels",
  "alerts/silences",
  "segments",
  "campaigns",
  "campaigns/" + (await world.api("/campaigns")).data[0].id,
  "destinations",
  "destinations/" + (await world.api("/destinations")).data[0].id,
  "approvals",
  ...["application", "keys", "share", "team", "tokens", "passkeys", "assistant", "ledger"].map(
    (tab) => "settings/" + tab,
  ),
];

describe("every page with the demo", () => {
  // The element that shows that a page is full; for all other pages it is a row of a table. In a demo no approval is
  // waiting, and settings do not depend on the demo.
  const full = {
    overview: ".bars tbody tr",
    incidents: ".decisions li",
    approvals: "h1, h2",
    settings: "form",
    journeys: ".journey tbody tr",
    metrics: ".names a",
    revenue: "tbody tr[data-row]",
  };

  it("has rows", async () => {
    await world.visit(page, "overview?range=90d");
    const names = await page
      .locator(".pages a")
      .evaluateAll((all) => all.map((one) => one.hash.split("/")[4].split("?")[0]));
    for (const name of ["campaigns", "destinations", "segments", "revenue", "flags"])
      assert.ok(names.includes(name), name + " is not shown");
    for (const path of [...names, "alerts/silences"]) {
      await world.visit(page, path + "?range=90d" + (["errors", "incidents"].includes(path) ? "&status=all" : ""));
      await page
        .locator("main")
        .locator(full[path] ?? "tbody tr")
        .first()
        .waitFor({ timeout: 10_000 })
        .catch(() => assert.fail(path + " is empty"));
    }
  });

  it("has marks, a silence to come, segments, a draft and a destination that is off", async () => {
    await world.visit(page, "overview?range=90d");
    await page.locator(".marks summary").click();
    for (const title of ["The autumn letter", "The database is slow", "New prices"])
      await page.locator(".marks li", { hasText: title }).waitFor();
    for (const [path, of, texts] of [
      ["alerts/silences", "/silences", ["The database moves"]],
      ["segments", "/segments", ["Made a project this month", "Plans that cost something"]],
      ["campaigns", "/campaigns", ["What is new in Harbor"]],
      ["destinations", "/destinations", ["Sales"]],
    ]) {
      const { data } = await world.api(of);
      assert.deepEqual(data.map((one) => one.name).sort(), texts, path);
      await world.visit(page, path);
      for (const text of texts) await page.locator("tbody tr", { hasText: text }).waitFor();
    }
    const [silence] = (await world.api("/silences")).data,
      [campaign] = (await world.api("/campaigns")).data,
      [destination] = (await world.api("/destinations")).data;
    assert.deepEqual([silence.state, campaign.status, destination.enabled], ["upcoming", "draft", false]);
  });

  it("shows the numbers of the API", async () => {
    await world.visit(page, "goals?range=90d");
    const goals = (await world.api("/analytics/goals?range=90d&limit=100")).data;
    assert.deepEqual(
      await page.locator("tbody tr td:nth-child(4)").allInnerTexts(),
      goals.map((goal) => whole(goal.conversions)),
    );
    await world.visit(page, "funnels?range=90d");
    const [funnel] = (await world.api("/funnels")).data;
    const { steps } = await world.api(`/funnels/${funnel.id}/results?range=90d`);
    assert.deepEqual(
      await page.locator(".funnel tbody tr td:nth-child(2)").allInnerTexts(),
      steps.map((step) => whole(step.entered)),
    );
    await world.visit(page, "incidents?status=all");
    const incidents = (await world.api("/incidents?status=all&limit=100")).data;
    assert.equal(await page.locator(".decisions li").count(), incidents.length);
  });

  it("takes keys in every list, and leads from a number to its rows", async () => {
    for (const path of [
      "events",
      "goals?range=90d",
      "people",
      "errors?status=all",
      "monitors",
      "incidents?status=all",
      "alerts",
    ]) {
      await world.visit(page, path);
      await page.keyboard.press("j");
      await page.locator("[data-row].at").waitFor();
      await page.keyboard.press("?");
      await page.getByRole("dialog").waitFor();
      await page.keyboard.press("Escape");
    }
    await world.visit(page, "goals?range=90d");
    const goal = (await world.api("/goals")).data.find((one) => one.kind === "event" && one.match === "signed_up");
    await page.locator("tr", { hasText: goal.name }).locator("td.number a").click();
    await world.settled(page);
    assert.deepEqual(
      [...new Set(await page.locator("tbody tr[data-row] td:nth-child(2)").allInnerTexts())],
      ["signed_up"],
    );
  });

  it("is read by everybody: axe, both themes, 360 pixels", async () => {
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      for (const path of await paths()) {
        await world.visit(page, path);
        await accessible(page);
        if (colorScheme === "light") await fitting(page, path);
        const shot = {
          people: "console-people.png",
          funnels: "console-funnels.png",
          retention: "console-retention.png",
          errors: "console-errors.png",
          metrics: "console-metrics.png",
          alerts: "console-alerts.png",
        }[path.split("?")[0]];
        if (shot && colorScheme === "light") await shoot(page, shot, {});
      }
    }
    await page.emulateMedia({ colorScheme: "light" });
    await page.setViewportSize({ width: 360, height: 740 });
    for (const path of await paths()) {
      await world.visit(page, path);
      await fitting(page, path);
    }
    await page.setViewportSize({ width: 1280, height: 900 });
  });

  it("shows a member and a viewer what they may do, and no more", async () => {
    for (const [role, writes] of [
      ["member", true],
      ["viewer", false],
    ]) {
      await world.server.admin("members", "put", "--org", "acme", "--email", role + "@acme.example", "--role", role);
      const other = await world.as(role + "@acme.example");
      for (const path of await paths()) {
        await world.visit(other, path);
        assert.equal(await other.getByRole("alert").count(), 0, `${role} sees a refusal on ${path}`);
      }
      await world.visit(other, "alerts");
      assert.equal(await other.getByRole("button", { name: "Add a rule" }).count(), writes ? 1 : 0, role);
      await world.visit(other, "settings/ledger");
      await other.getByText("The ledger is for administrators.").waitFor();
      const { email } = (await world.api("/people?stage=signup&limit=1")).data[0];
      await world.visit(other, "people?stage=signup");
      assert.equal((await other.locator("main").innerText()).includes(email), false, `${role} sees an address`);
      await other.context().close();
    }
  });
});

it("the browser complained of nothing, and asked no other host", () => assert.deepEqual(world.complaints, []));
