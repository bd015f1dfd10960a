// Walks through the pages of alerting, journeys, vitals, releases, segments, companies, flags, telemetry and privacy
// with the demo data. Creates things on each page like people do, and tests axe, both themes, 360 pixels, roles and
// hostile texts. At the end it removes the demo data.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startConsole, whole } from "./console.mjs";
import { accessible, fitting } from "./page.mjs";
import { call, until } from "./server.mjs";

let world, page;
const hostile = `<img src=x onerror="document.title='owned'">`;

before(async () => {
  world = await startConsole();
  page = await world.as("owner@acme.example");
  await world.visit(page, "overview", "web");
  await page.getByRole("button", { name: "Fill the demo" }).click();
  await page.locator(".metrics .value").first().waitFor({ timeout: 240_000 });
  await until("all is counted", async () =>
    (await world.api("/analytics/overview?range=90d")).visitors > 2000 &&
    (await world.api("/metrics/names")).data.length > 8 &&
    (await world.api("/incidents?status=all")).data.length > 0
      ? true
      : undefined,
  );
});

after(() => world?.stop());

// readable checks that the shown page is accessible and not wider than the window, at two widths.
async function readable(path) {
  for (const [width, height] of [
    [360, 740],
    [1280, 900],
  ]) {
    await page.setViewportSize({ width, height });
    await accessible(page);
    const needs = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(needs <= width, `${path} needs ${needs} of ${width} pixels`);
  }
}

// changed changes the answers that the page receives, until the returned function is called.
async function changed(pattern, change) {
  const handle = async (route) => {
    const response = await route.fetch();
    const json = await response.json();
    change(json);
    await route.fulfill({ response, json });
  };
  await page.route(pattern, handle);
  return () => page.unrouteAll({ behavior: "wait" });
}

describe("what people make", () => {
  it("silences begin and end", async () => {
    await world.visit(page, "alerts/silences");
    await page.getByLabel("Name", { exact: true }).fill("Move " + hostile);
    await page.getByRole("button", { name: "Make a silence" }).click();
    await page.locator("tbody tr[data-row]", { hasText: hostile }).waitFor();
    const made = (await world.api("/silences")).data.find((one) => one.name.startsWith("Move"));
    assert.deepEqual(
      [made.name, made.environment, Date.parse(made.endsAt) - Date.parse(made.startsAt)],
      ["Move " + hostile, "production", 3_600_000],
    );
    await page.getByRole("button", { name: "End Move" }).click();
    await until("it is over", async () =>
      (await world.api("/silences")).data.every((one) => one.id !== made.id || one.state === "ended")
        ? true
        : undefined,
    );
  });

  it("a rule is tried before it is made", async () => {
    await world.visit(page, "alerts");
    await page.getByLabel("Watches").selectOption("event_volume");
    await page.getByLabel("Threshold").fill("1");
    await page.getByRole("button", { name: "Try it on the last 7 days" }).click();
    await page
      .getByRole("status", { name: "What it would have done" })
      .getByText(/It would (not )?have fired/)
      .waitFor();
  });

  it("marks stand on the chart of the overview", async () => {
    await world.visit(page, "overview?range=30d");
    await page.locator(".marks summary").click();
    await page.getByLabel("What happened").fill("Campaign " + hostile);
    await page.getByRole("button", { name: "Add the mark" }).click();
    await page.locator(".marks li", { hasText: "Campaign " + hostile }).waitFor();
    assert.equal(
      (await world.api("/annotations?range=30d")).data.filter((one) => one.title === "Campaign " + hostile).length,
      1,
    );
    await page.getByRole("button", { name: "Delete the mark Campaign" }).click();
    await page.locator(".marks li", { hasText: "Campaign " + hostile }).waitFor({ state: "detached" });
  });

  it("segments count while they are built", async () => {
    await world.visit(page, "segments");
    await page.getByLabel("Value of condition 1").selectOption("signup");
    await page.getByText(/people now\./).waitFor();
    const { memberCount } = await world.write("POST", "/segments/preview", {
      definition: { all: [{ field: "stage", op: "eq", value: "signup" }] },
    });
    assert.equal(await page.locator(".said b").innerText(), whole(memberCount) + " people now.");
    await page.getByLabel("Name", { exact: true }).fill("Signed up " + hostile);
    await page.getByRole("button", { name: "Make a segment" }).click();
    await page.locator("tbody tr[data-row]", { hasText: hostile }).waitFor();
    assert.equal(
      (await world.api("/segments")).data.find((one) => one.name.startsWith("Signed up")).memberCount,
      memberCount,
    );
  });

  it("flags are made, switched, tried and archived", async () => {
    await world.visit(page, "flags");
    await page.getByLabel("Name", { exact: true }).fill("Beta " + hostile);
    await page.getByLabel("Key", { exact: false }).first().fill("beta");
    await page.getByRole("button", { name: "Add a rule" }).click();
    await page.getByLabel("Value of rule 1").fill("team");
    await page.getByRole("button", { name: "Make a flag" }).click();
    await page.getByRole("heading", { name: "Beta" }).waitFor();
    const made = await world.api("/flags/beta");
    assert.deepEqual(
      [made.name, made.rules[0].conditions[0].value, made.environments.production.enabled],
      ["Beta " + hostile, "team", false],
    );
    await world.visit(page, "flags");
    await page.getByRole("button", { name: "Off: Beta" }).click();
    await until("it is on", async () =>
      (await world.api("/flags/beta")).environments.production.enabled ? true : undefined,
    );
    await world.visit(page, "flags/beta%2Fpreview");
    await page.getByLabel("Id of a person").fill("u1");
    await page.getByLabel("What is known of the person").fill('{"plan":"team"}');
    await page.getByRole("button", { name: "What would they get?" }).click();
    await page.getByText("They get on (rule).").waitFor();
    await world.visit(page, "flags/beta%2Fhistory");
    await page.getByText("Version 2").waitFor();
    await world.visit(page, "flags/beta");
    // If an answer arrives after people have left the page, it does not bring them back.
    let release;
    const held = new Promise((done) => {
        release = done;
      }),
      arrived = page.waitForResponse((response) => response.request().method() === "DELETE");
    await page.route("**/flags/beta", async (route) => {
      await held;
      await route.continue();
    });
    await page.getByRole("button", { name: "Archive" }).click();
    await world.visit(page, "settings/exclusions");
    release();
    await (await arrived).finished();
    await page.unrouteAll();
    await world.settled(page);
    assert.match(page.url(), /settings\/exclusions$/);
    assert.equal((await world.api("/flags/beta")).archived, true);
  });

  it("traffic of the team is left out, and kept again", async () => {
    await world.visit(page, "settings/exclusions");
    await page.getByLabel("Value").fill("203.0.113.0/24");
    await page.getByLabel("Label").fill("Office " + hostile);
    await page.getByRole("button", { name: "Leave it out" }).click();
    await page.locator("tbody tr").waitFor();
    assert.equal((await world.api("/exclusions")).data[0].label, "Office " + hostile);
    await page.locator("tbody").getByRole("button").click();
    await page.getByText("Everything is kept.").waitFor();
  });

  it("a file of events is made and downloaded", async () => {
    await world.visit(page, "settings/exports");
    await page.getByText("No exports yet.").waitFor();
    await page.getByRole("button", { name: "Make the file" }).click();
    const fetched = page.waitForEvent("download", { timeout: 60_000 });
    await page.getByRole("button", { name: "Download" }).click();
    await fetched;
    const [made] = (await world.api("/exports")).data;
    assert.deepEqual([made.kind, made.format, made.rows > 100], ["events", "csv", true]);
  });

  it("the policy says what it would have made of yesterday, and is saved", async () => {
    await world.visit(page, "settings/telemetry");
    await page.getByLabel("Percent of visitors kept").fill("50");
    await page.getByText(/this would have kept about/).waitFor();
    await page.getByRole("button", { name: "Save" }).click();
    await until("it is saved", async () =>
      (await world.api("/telemetry")).policy.events.sampleRate === 0.5 ? true : undefined,
    );
    assert.ok((await page.locator(".stacked rect").count()) > 0, "nothing came in");
  });
});

describe("telemetry", () => {
  const section = (name) => page.getByRole("region", { name, exact: true });
  // opened requests the numbers again, even if the page is already shown.
  const opened = async () => {
    await world.visit(page, "settings/exports");
    await world.visit(page, "settings/telemetry");
  };

  it("says in whose words items are missing", async () => {
    const { dsn } = await world.write("POST", "/keys", { kind: "public", environment: "production", label: "sdk" });
    const { username, pathname } = new URL(dsn);
    const report = {
      timestamp: Date.now() / 1000,
      discarded_events: [
        { reason: "queue_overflow", category: "error", quantity: 7 },
        { reason: "before_send", category: "security", quantity: 2 },
      ],
    };
    const sent = await fetch(
      `${world.base}${pathname.replace("/sentry/", "/sentry/api/")}/envelope/?sentry_version=7&sentry_key=${username}`,
      { method: "POST", body: '{}\n{"type":"client_report"}\n' + JSON.stringify(report) },
    );
    assert.equal(sent.status, 200);
    const counted = async () =>
      (await world.api("/telemetry")).usage.flatMap((day) => day.signals.errors?.clientSide ?? []);
    await until("the report is counted", async () => ((await counted()).length === 2 ? true : undefined));
    await opened();
    assert.equal(await section("Why items are missing").count(), 0, "events are missing");
    await page.getByRole("button", { name: "Errors", exact: true }).click();
    const rows = await section("Why items are missing")
      .locator("tbody tr")
      .evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.innerText)));
    assert.deepEqual(rows, [
      ["queue_overflow", "Not sent", "7"],
      ["before_send (security)", "Not sent", "2"],
    ]);
    await readable("settings/telemetry");
  });

  it("says what makes metrics and events wide, in the time that is chosen", async () => {
    await opened();
    await section("Cardinality").locator("tbody tr").first().waitFor();
    for (const [days, name] of [
      [7, "7 days"],
      [30, "30 days"],
    ]) {
      await page.getByRole("button", { name, exact: true }).click();
      await world.settled(page);
      const { metrics, properties, series } = await world.api("/telemetry/cardinality?days=" + days);
      assert.ok(metrics.length > 5 && properties.length > 5 && metrics[0].topLabels.length > 0, "the demo is narrow");
      const of = (caption) => section("Cardinality").getByRole("table", { name: caption });
      assert.deepEqual(
        await of("Metrics by their series").locator("tbody td:nth-child(1)").allInnerTexts(),
        metrics.map((one) => one.name),
      );
      assert.deepEqual(
        await of("Metrics by their series").locator("tbody td:nth-child(3)").allInnerTexts(),
        metrics.map((one) => whole(one.series)),
      );
      await of("Metrics by their series")
        .getByRole("columnheader", { name: "Series of " + whole(series) })
        .waitFor();
      const [label] = metrics[0].topLabels;
      assert.match(
        await of("Metrics by their series").locator("tbody td:nth-child(2)").first().innerText(),
        new RegExp("^" + label.key + ": " + whole(label.distinctValues)),
      );
      const shown = await of("Properties of events by their values")
        .locator("tbody tr")
        .evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.innerText)));
      assert.deepEqual(
        shown,
        properties.map((one) => [one.key, one.event, one.types.join(", "), whole(one.distinctValues)]),
      );
    }
    await readable("settings/telemetry");
  });

  it("says which half of it somebody may not read", async () => {
    for (const [change, text, there] of [
      [
        (answer) => Object.assign(answer, { metrics: null, series: null }),
        "Which metrics are wide is for those who may read metrics.",
        "Properties of events by their values",
      ],
      [
        (answer) => Object.assign(answer, { properties: null, propertyKeys: null, events: null }),
        "Which properties are wide is for those who may read analytics.",
        "Metrics by their series",
      ],
    ]) {
      const restore = await changed(/\/telemetry\/cardinality\?/, change);
      await opened();
      await section("Cardinality").getByText(text).waitFor();
      assert.equal(await section("Cardinality").getByRole("table").count(), 1);
      await section("Cardinality").getByRole("table", { name: there }).waitFor();
      await restore();
    }
  });

  it("says what an address may send, who was held back, and what the policy would have made of yesterday", async () => {
    const restore = await changed(/\/telemetry\?/, (answer) => {
      answer.fairness.addresses = { sending: 12, bytesPerSecond: 4096, boundBytesPerSecond: 2097152 };
      answer.fairness.met = [
        {
          keyId: "key_1",
          network: "203.0.113.0/24",
          delayed: 31,
          refused: 4,
          byAddress: 29,
          rateLimited: 5,
          lastAt: new Date().toISOString(),
        },
      ];
      answer.policy.events.sampleRate = 1;
      const none = Object.fromEntries(Object.keys(answer.usage[0].dropped).map((name) => [name, 0]));
      const of = (received, duplicates, dropped) => ({
        received,
        duplicates,
        stored: received - duplicates - Object.values(dropped).reduce((sum, n) => sum + n, 0),
        dropped: { ...none, ...dropped },
        codes: {},
        clientSide: [],
        bytes: 0,
      });
      // Of 1,000 events without duplicates, a policy decides about 900. Of 60 errors it decides about 50.
      answer.usage.at(-2).signals = {
        events: of(1010, 10, { invalid: 60, badKey: 15, tooOld: 5, excluded: 20, sampled: 300 }),
        errors: of(60, 0, { clientSide: 10, rateLimited: 20 }),
        metricPoints: of(7, 0, {}),
      };
    });
    await opened();
    const facts = await section("Fairness")
      .locator(".facts > div")
      .evaluateAll((all) => Object.fromEntries(all.map((one) => [one.firstChild.innerText, one.lastChild.innerText])));
    assert.deepEqual(
      [facts["Addresses that send"], facts["The busiest one sends"], facts["That one may send"]],
      ["12", "4.0 KiB a second", "2.0 MiB a second"],
    );
    assert.deepEqual(
      (await section("Fairness").locator("tbody td").allInnerTexts())
        .slice(0, 5)
        .map((text) => text.replace(/\s+/, " ")),
      ["key_1 203.0.113.0/24", "31", "29", "4", "5"],
    );
    const said = (events, errors) =>
      page
        .getByText(
          `this would have kept about ${events} of 1,000 events, ${errors} of 60 errors and 7 of 7 metric points.`,
        )
        .waitFor();
    await said("900", "50");
    await page.getByLabel("Percent of visitors kept").fill("50");
    await said("450", "50");
    await page.getByLabel("Errors of an issue a minute").fill("3");
    await said("450", "30");
    assert.equal(await page.getByText("How many of them programs sent is not known").count(), 0);
    await page.getByLabel("Drop what programs send").check();
    await page.getByText("How many of them programs sent is not known before they are dropped.").waitFor();
    await page.getByLabel("Errors", { exact: true }).uncheck();
    await said("450", "0");
    await readable("settings/telemetry");
    await restore();
  });

  it("keeps of the same traffic what the preview says, once the policy is saved", async () => {
    const { key } = await world.write("POST", "/keys", { kind: "secret", environment: "staging", label: "preview" });
    const agents = [
      "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
      "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    ];
    const today = async () => {
      const { signals } = (await world.api("/telemetry?env=staging")).usage.at(-1);
      return Object.fromEntries(["events", "errors", "metricPoints"].map((name) => [name, signals[name]]));
    };
    // traffic sends 600 events from 600 visitors, 30 errors and 20 points. A tenth of the visitors are programs.
    const traffic = async (round) => {
      const before = (await today()).events?.received ?? 0;
      const items = [
        ...Array.from({ length: 600 }, (_, n) => ({
          type: "event",
          id: `preview-${round}-${n}`,
          name: "opened",
          distinctId: "visitor-" + n,
          context: { userAgent: agents[n % 10 === 0 ? 1 : 0] },
        })),
        ...Array.from({ length: 30 }, (_, n) => ({
          type: "error",
          id: `preview-${round}-e${n}`,
          distinctId: "visitor-" + n,
          message: "preview",
        })),
      ];
      const answer = await call({ url: world.base }, key, "POST", "/api/v1/batch", { items });
      assert.deepEqual(answer.rejected, []);
      const points = await fetch(world.base + "/api/v1/batch", {
        method: "POST",
        headers: { authorization: "Bearer " + key, "content-type": "application/json" },
        body: JSON.stringify({
          items: Array.from({ length: 20 }, (_, n) => ({
            type: "metric",
            name: "preview",
            kind: "gauge",
            value: n,
            labels: { n: String(n) },
          })),
        }),
      });
      await points.text();
      await until("all is counted", async () =>
        (await today()).events.received === before + 600 && (await today()).metricPoints.received === 20 * round
          ? true
          : undefined,
      );
    };
    const { revision } = await world.api("/telemetry?env=staging");
    await world.write("POST", "/telemetry?env=staging", {
      expectedRevision: revision,
      policy: { events: { dropBots: true } },
    });
    await traffic(1);
    // The page shows today's numbers as yesterday's.
    const restore = await changed(/\/telemetry\?/, ({ usage }) => {
      if (usage) usage.at(-2).signals = usage.at(-1).signals;
    });
    await world.visit(page, "settings/telemetry?env=staging");
    await page
      .getByText("this would have kept about 540 of 600 events, 30 of 30 errors and 20 of 20 metric points.")
      .waitFor();
    await page.getByLabel("Percent of visitors kept").fill("40");
    await page.getByLabel("Drop what programs send").uncheck();
    await page.getByLabel("Metrics", { exact: true }).uncheck();
    await page
      .getByText("this would have kept about 240 of 600 events, 30 of 30 errors and 0 of 20 metric points.")
      .waitFor();
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await until("the policy is saved", async () =>
      (await world.api("/telemetry?env=staging")).policy.events.sampleRate === 0.4 ? true : undefined,
    );
    await restore();
    const before = await today();
    await traffic(2);
    const after = await today();
    const stored = Object.fromEntries(
      Object.keys(after).map((name) => [name, after[name].stored - before[name].stored]),
    );
    // Five standard deviations of a random choice among 600 visitors are 60.
    assert.ok(Math.abs(stored.events - 240) <= 60, `${stored.events} events are kept`);
    assert.deepEqual([stored.errors, stored.metricPoints], [30, 0]);
  });
});

const paths = async () => [
  "overview?range=90d",
  "journeys?range=90d",
  "journeys?range=90d&direction=to&start=signed_up",
  "vitals?range=90d",
  "vitals?range=90d&by=device",
  "segments",
  "companies",
  "releases",
  "releases/maps",
  "flags",
  ...["", "%2Fresults", "%2Fpreview", "%2Fhistory"].map((tab) => "flags/quick-board" + tab),
  "monitors/" + (await world.api("/monitors")).data[0].id,
  "alerts/silences",
  ...(await world.api("/incidents?status=all")).data.slice(0, 1).map((one) => "incidents/" + one.id),
  ...["application", "telemetry", "exclusions", "exports", "erasures"].map((tab) => "settings/" + tab),
];

describe("every page", () => {
  it("is full with the demo", async () => {
    for (const [path, what] of [
      ["journeys?range=90d", ".journey tbody tr"],
      ["vitals?range=90d", "tbody tr[data-row]"],
      ["companies", "tbody tr[data-row]"],
      ["releases", "tbody tr[data-row]"],
    ]) {
      await world.visit(page, path);
      assert.ok((await page.locator(what).count()) > 2, path + " is empty");
    }
    const companies = (await world.api("/companies?limit=100")).data;
    await world.visit(page, "companies");
    assert.deepEqual(
      await page.locator("tbody .title").allInnerTexts(),
      companies.map((one) => one.name),
    );
  });

  it("is read by everybody: axe, both themes, 360 pixels, and shows hostile texts as text", async () => {
    await world.write("POST", "/monitors", { name: hostile, url: "https://example.com/", enabled: false });
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      for (const path of await paths()) {
        await world.visit(page, path);
        await accessible(page);
        if (colorScheme === "light") await fitting(page, path);
        assert.equal(await page.getByRole("alert").count(), 0, "a refusal on " + path);
        assert.notEqual(await page.title(), "owned");
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
    for (const role of ["member", "viewer"]) {
      await world.server.admin("members", "put", "--org", "acme", "--email", role + "@acme.example", "--role", role);
      const other = await world.as(role + "@acme.example");
      for (const path of await paths()) {
        await world.visit(other, path);
        assert.equal(await other.getByRole("alert").count(), 0, `${role} sees a refusal on ${path}`);
        assert.equal(await other.getByRole("button", { name: "Remove the demo" }).count(), 0, role);
      }
      await other.context().close();
    }
  });
});

it("the demo is removed in one step, with a passkey", async () => {
  await world.visit(page, "settings/passkeys");
  await page.getByRole("button", { name: "Add a passkey" }).click();
  await page.locator("tbody tr").waitFor();
  await world.visit(page, "settings/application");
  await page.getByRole("button", { name: "Remove the demo" }).click();
  await page.waitForFunction(() => location.hash.startsWith("#/apps/acme/web/"));
  await assert.rejects(world.api("/analytics/overview"), /404/);
});

it("the browser complained of nothing, and asked no other host", () => assert.deepEqual(world.complaints, []));
