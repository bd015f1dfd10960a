// Uses the console like people do: from the link of the first start to the last setting, with a passkey and with the
// keyboard. Also tests every role, small screens and both themes.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { settled } from "./console.mjs";
import { accessible, launch, shoot } from "./page.mjs";
import { call, freePort, start, traffic, until } from "./server.mjs";

let server, browser, page, port, base, complaints;

// A headless browser says so in its user agent, and overviews do not count robots. The tests therefore use the user
// agent of a normal browser.
const userAgent =
  "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36";

// open opens the console in a separate browser context that creates passkeys without a prompt.
async function open(options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, userAgent, ...options });
  const made = await context.newPage();
  const devtools = await context.newCDPSession(made);
  await devtools.send("WebAuthn.enable");
  await devtools.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  made.on(
    "console",
    (message) =>
      ["error", "warning"].includes(message.type()) &&
      !/status of 40\d/.test(message.text()) &&
      complaints.push(message.text()),
  );
  made.on("pageerror", (error) => complaints.push(String(error)));
  made.on(
    "request",
    (request) =>
      request.url().startsWith(base) || request.url().startsWith("data:") || complaints.push("asks " + request.url()),
  );
  made.on("dialog", (dialog) => dialog.accept());
  return made;
}

// as opens the console for a person; the operator signs the person in.
async function as(email, options) {
  const session = await server.admin("login", "--email", email);
  const made = await open(options);
  await made
    .context()
    .addCookies([
      { name: "svc_session", value: session.match(/svc_con_\w+/)[0], url: base, httpOnly: true, sameSite: "Lax" },
    ]);
  return made;
}

const at = (path) => base + "/console#/apps/acme/web/" + path;

async function visit(on, path) {
  await on.goto(at(path));
  await settled(on);
}

const api = (path) => call({ url: base }, server.token, "GET", "/api/v1/apps/acme/web" + path);

// hostile holds texts that strangers may send as names, texts and addresses.
const hostile = [
  `<img src=x onerror="document.title='owned'">`,
  `"><script>document.title='owned'</script>`,
  "javascript:document.title='owned'",
  "{{7*7}}${7*7}",
  "\u202Eetihw",
];

// propose proposes a change over MCP, like an agent. Only a passkey can confirm it.
async function propose(name) {
  const response = await fetch(`http://127.0.0.1:${port}/mcp`, {
    method: "POST",
    headers: {
      authorization: "Bearer " + server.token,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "call_write", arguments: { tool: "apps_update", arguments: { name } } },
    }),
  });
  const answer = await response.json();
  assert.equal(answer.result.structuredContent.executed, false, JSON.stringify(answer));
}

before(async () => {
  complaints = [];
  port = await freePort(); // the server must know the origin of passkeys before it starts
  base = `http://localhost:${port}`;
  server = await start({ SVC_HTTP_ADDR: `127.0.0.1:${port}`, SVC_PUBLIC_URL: base });
  browser = await launch();
  page = await open();
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

describe("the first minute", () => {
  it("leads from the printed link to a chart with one's own event", async () => {
    const began = Date.now();
    await page.goto(server.console);
    await page.getByRole("button", { name: "Add a passkey" }).click();
    await page.getByText("Waiting for the first event").waitFor();
    assert.ok(!page.url().includes("svc_lnk"), "the secret stays in the address");
    await page.getByRole("button", { name: "Make a key" }).click();
    const key = await page.locator(".secret code").innerText();
    assert.match(key, /^svc_pub_prod_\w{38}$/);
    assert.ok((await page.locator(".snippet code").first().innerText()).includes(key));
    await page.getByRole("button", { name: "Send a test event" }).click();
    await page.locator(".metric .value", { hasText: "1" }).first().waitFor();
    await page.locator(".plot canvas").waitFor();
    console.log(`      from the link to the chart: ${Date.now() - began} ms`);
  });

  it("opens the link once", async () => {
    const other = await open();
    await other.goto(server.console);
    await other.getByText("The link is over, or was used before").waitFor();
    await other.context().close();
  });

  it("signs out, and in again with the passkey", async () => {
    await page.getByLabel("Account").click();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("button", { name: "Sign in with a passkey" }).click();
    await page.locator(".metrics").waitFor();
    const cookie = (await page.context().cookies()).find((one) => one.name === "svc_session");
    assert.deepEqual([cookie.httpOnly, cookie.sameSite, cookie.secure], [true, "Lax", false]);
  });
});

describe("the pages", () => {
  before(async () => {
    const sent = traffic(Date.now());
    for (let from = 0; from < sent.length; from += 1000)
      await call({ url: base }, server.secret, "POST", "/api/v1/batch", { items: sent.slice(from, from + 1000) });
    const strange = hostile.flatMap((text, i) => [
      {
        type: "event",
        name: text,
        distinctId: text,
        url: "https://acme.example/" + encodeURIComponent(text),
        properties: { [text]: text },
      },
      {
        type: "error",
        id: "strange-" + i,
        distinctId: text,
        name: "Strange" + i,
        message: text,
        level: "error",
        url: "https://acme.example/cart",
        breadcrumbs: [{ category: text, message: text }],
        extra: { [text]: text },
        stack: `Strange: ${i}\n    at f${i} (https://acme.example/app/f${i}.js:${i + 1}:2)`,
      },
    ]);
    const ordinary = Array.from({ length: 24 }, (_, i) => ({
      type: "error",
      id: "ordinary-" + i,
      ts: new Date(Date.now() - i * 3_600_000).toISOString(),
      distinctId: "visitor-" + (i % 9),
      release: "shop@1." + (i % 3),
      name: "TypeError",
      message: "Cannot read properties of undefined (reading 'price')",
      level: "error",
      url: "https://acme.example/cart",
      stack:
        "TypeError: x\n    at priceOf (https://acme.example/app/cart.js:42:13)\n    at total (https://acme.example/app/cart.js:88:5)\n    at render (https://acme.example/node_modules/react-dom/index.js:1200:9)",
      context: { userAgent },
      breadcrumbs: [
        { timestamp: new Date().toISOString(), category: "navigation", message: "/ → /cart" },
        { timestamp: new Date().toISOString(), category: "click", message: "button.checkout" },
      ],
    }));
    const answer = await call({ url: base }, server.secret, "POST", "/api/v1/batch", {
      items: [...strange, ...ordinary],
    });
    assert.deepEqual(answer.rejected, []);
    const points = Array.from({ length: 96 }, (_, i) => ({
      type: "metric",
      name: "checkout.duration",
      kind: "histogram",
      unit: "ms",
      value: 120 + 40 * Math.sin(i / 9),
      labels: { region: ["eu", "us", hostile[0]][i % 3] },
      ts: new Date(Date.now() - i * 900_000).toISOString(),
    }));
    assert.deepEqual(
      (await call({ url: base }, server.secret, "POST", "/api/v1/batch", { items: points })).rejected,
      [],
    );
    await call({ url: base }, server.token, "POST", "/api/v1/apps/acme/web/goals", {
      name: hostile[0],
      kind: "path",
      match: "/pricing",
      value: 0,
    });
    await until("everything is stored", async () =>
      (await api("/analytics/overview?range=90d")).pageviews >= sent.length &&
      (await api("/errors")).data.length === hostile.length + 1
        ? true
        : undefined,
    );
  });

  it("ask once for all that the overview needs, before it is known who is signed in", async () => {
    const other = await page.context().newPage(),
      asked = [];
    other.on("request", (request) => request.url().startsWith(base + "/api/") && asked.push(new URL(request.url())));
    const names = () =>
      asked
        .map((url) => url.pathname.split("/").pop())
        .filter((name) => name !== "live")
        .sort();
    const needed = ["annotations", "apps", ...Array(5).fill("breakdown"), "me", "overview", "timeseries"];
    await other.route("**/api/v1/me", async (route) => {
      await until("all is asked", () => (names().length >= needed.length ? true : undefined));
      await route.continue();
    });
    await other.goto(base + "/console#/apps/acme/web/overview?range=30d");
    await other.locator(".panels tbody tr").first().waitFor();
    await other.locator(".plot canvas").waitFor();
    assert.deepEqual(names(), needed);
    assert.equal(new Set(asked.map((url) => url.href)).size, asked.length);
    await other.close();
  });

  it("show the numbers of the API", async () => {
    await visit(page, "overview?range=30d");
    const overview = await api("/analytics/overview?range=30d");
    const shown = async (label) => page.locator(".metric", { hasText: label }).locator(".value").innerText();
    for (const [label, name] of [
      ["Visitors", "visitors"],
      ["Page views", "pageviews"],
      ["Sessions", "sessions"],
      ["Conversions", "conversions"],
    ])
      assert.equal(await shown(label), overview[name].toLocaleString("en"));
    const { data } = await api("/analytics/breakdown?range=30d&dimension=country&limit=8");
    const rows = page.getByRole("region", { name: "Places" }).locator("tbody tr");
    assert.deepEqual(
      await rows.locator("td").allInnerTexts(),
      data.map((row) => row.visitors.toLocaleString("en")),
    );
    await page.getByText("The numbers as a table").click();
    await page.locator(".numbers td").first().waitFor();
    const series = await api("/analytics/timeseries?range=30d");
    assert.deepEqual(
      await page.locator(".numbers td").allInnerTexts(),
      series.points.map((point) => point.value.toLocaleString("en")),
    );
  });

  it("show who came back, and what is measured", async () => {
    await visit(page, "retention?range=90d");
    const { cohorts } = await api("/analytics/retention?range=90d&cohortBy=week");
    assert.deepEqual(
      await page.locator(".heat tbody td:nth-child(2)").allInnerTexts(),
      cohorts.map((one) => one.size.toLocaleString("en")),
    );
    await visit(page, "metrics");
    await page.getByRole("link", { name: /^checkout\.duration/ }).click();
    await page.getByLabel("Divide by").selectOption("region");
    await page.getByRole("cell", { name: hostile[0] }).waitFor();
    await page.getByLabel("Range").selectOption("7d");
    await settled(page);
    const series = await api("/metrics/series?name=checkout.duration&agg=avg&range=7d");
    assert.equal(await page.locator(".sums dd").last().innerText(), series.summary.count.toLocaleString("en"));
  });

  it("build a funnel, and show its numbers", async () => {
    await visit(page, "funnels?range=90d");
    await page.getByText("No funnels yet.").waitFor();
    await page.getByLabel("Name", { exact: true }).fill("Reads the prices");
    await page.getByLabel("Match of step 1").fill("/pricing");
    await page.getByLabel("Match of step 2").fill("/");
    await page.getByLabel("Move step 2 up").click();
    await page.getByRole("button", { name: "Make a funnel" }).click();
    await page.locator(".funnel tbody tr").first().waitFor();
    await settled(page);
    const [funnel] = (await api("/funnels")).data;
    assert.deepEqual(
      funnel.steps.map((step) => step.match),
      ["/", "/pricing"],
    );
    const { steps } = await api(`/funnels/${funnel.id}/results?range=90d`);
    assert.deepEqual(
      await page.locator(".funnel tbody tr td:nth-child(2)").allInnerTexts(),
      steps.map((step) => step.entered.toLocaleString("en")),
    );
    assert.deepEqual(
      await page.locator(".funnel tbody tr td:nth-child(5)").allInnerTexts(),
      steps.map((step) => step.dropOff.toLocaleString("en")),
    );
  });

  it("take a monitor, and a goal", async () => {
    await visit(page, "monitors");
    await page.getByLabel("Name").fill("Docs");
    await page.getByLabel("Address").fill("https://example.com/docs");
    await page.getByRole("button", { name: "Add a monitor" }).click();
    await page.getByRole("cell", { name: /^Docs https/ }).waitFor();
    assert.equal((await api("/monitors")).data[0].url, "https://example.com/docs");
    await page.getByRole("button", { name: "Delete Docs" }).click();
    await page.getByText("No monitors yet.").waitFor();
    await visit(page, "goals?range=30d");
    await page.getByLabel("Name", { exact: true }).fill("Docs read");
    await page.locator("form").getByLabel("Counts").selectOption("path");
    await page.getByLabel("Match").fill("/docs");
    await page.getByRole("button", { name: "Add a goal" }).click();
    await page.getByRole("cell", { name: "Docs read", exact: true }).waitFor();
    await page.getByRole("button", { name: "Delete Docs read" }).click();
    await page.getByRole("cell", { name: "Docs read", exact: true }).waitFor({ state: "detached" });
  });

  it("filter everything by a click, in the address, and compose", async () => {
    await visit(page, "overview?range=30d");
    await page.getByRole("link", { name: "Germany" }).click();
    await page.getByRole("region", { name: "Devices" }).getByRole("link", { name: "desktop" }).click();
    await settled(page);
    assert.match(decodeURIComponent(page.url()), /filter=country:DE&filter=device:desktop/);
    const filtered = await api("/analytics/overview?range=30d&filter=country:DE&filter=device:desktop");
    assert.equal(await page.locator(".metric .value").first().innerText(), filtered.visitors.toLocaleString("en"));
    await page.reload();
    await settled(page);
    assert.equal(await page.locator(".metric .value").first().innerText(), filtered.visitors.toLocaleString("en"));
    await page.getByRole("link", { name: "Remove the filter Device: desktop" }).click();
    await page.getByRole("link", { name: "Clear all" }).click();
    assert.ok(!page.url().includes("filter="), page.url());
  });

  it("show what strangers write as text", async () => {
    const later = [
      "journeys?range=30d",
      "vitals?range=30d",
      "segments",
      "companies",
      "releases",
      "releases/maps",
      "alerts/silences",
      "settings/telemetry",
      "settings/exclusions",
      "settings/erasures",
    ];
    for (const path of ["overview?range=30d", "events", "goals?range=30d", "errors", "approvals", ...later]) {
      await visit(page, path);
      assert.equal(await page.locator("main img, main script").count(), 0, path);
      assert.ok(!(await page.title()).includes("owned"), path);
    }
    await visit(page, "events");
    await page.getByRole("link", { name: hostile[0], exact: true }).click();
    await page.getByRole("complementary").getByText(hostile[0]).first().waitFor();
    await visit(page, "errors");
    const titles = await page.locator(".issues .title a").allInnerTexts();
    for (const text of hostile.slice(0, 3))
      assert.ok(
        titles.some((title) => title.includes(text)),
        text,
      );
    await page.locator(".issues .title a", { hasText: hostile[0] }).click();
    await page.getByText("Breadcrumbs").waitFor();
    assert.equal(await page.locator("main img, main script").count(), 0);
    assert.ok(!(await page.title()).includes("owned"));
  });

  it("grow while they are looked at", async () => {
    await visit(page, "events");
    await call({ url: base }, server.secret, "POST", "/api/v1/events", {
      name: "arrived_live",
      distinctId: "me",
      url: "https://acme.example/now",
    });
    await page.getByRole("link", { name: "arrived_live" }).waitFor();
    await page.getByText("visitor now").or(page.getByText("visitors now")).waitFor();
  });

  it("show an issue with its stack", async () => {
    await visit(page, "errors");
    await page.getByRole("link", { name: /^TypeError/ }).click();
    await page.getByText("Occurrence 1 of 24").waitFor();
    await page.getByText("priceOf", { exact: true }).waitFor();
    await page.getByText("1 library frame").waitFor();
    await settled(page);
    await shoot(page, "console-issue.png");
    await page.keyboard.press("j");
    await page.getByText("Occurrence 2 of 24").waitFor();
  });

  it("decide on issues, one and many, with keys", async () => {
    await visit(page, "errors");
    const first = await page.locator(".issues .title a").first().innerText();
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: first }).waitFor();
    await page.keyboard.press("e");
    await page.getByRole("button", { name: "Reopen" }).waitFor();
    assert.equal((await api("/errors?status=resolved")).data.length, 1);
    await visit(page, "errors");
    await page.getByLabel("Choose all on this page").check();
    await page.getByRole("button", { name: "Ignore" }).click();
    await page.getByText("No issues here.").waitFor();
    assert.equal((await api("/errors?status=ignored")).data.length, hostile.length);
    await visit(page, "errors?status=all");
    await page.keyboard.press("/");
    await page.keyboard.type("Strange2");
    await page.waitForFunction(() => document.querySelectorAll(".issues tbody tr").length === 1);
  });

  it("are shown when their part arrives between the first picture and its effects", async () => {
    await visit(page, "overview");
    await page.reload();
    await settled(page);
    // Effects wait for a frame or a timer. Both come later than the part, because the page requests the part when the
    // pointer is over the link.
    await page.evaluate(() => {
      const later = window.setTimeout;
      window.requestAnimationFrame = () => 0;
      window.setTimeout = (then, ms, ...rest) => later(then, Math.max(ms ?? 0, 2000), ...rest);
    });
    await page.route("**/*.js", async (route) => {
      await new Promise((then) => setTimeout(then, 500));
      await route.continue();
    });
    await page.getByRole("link", { name: "Monitors", exact: true }).click();
    await page.getByRole("heading", { level: 1, name: "Monitors" }).waitFor();
    await page.unroute("**/*.js");
    await page.reload();
  });

  it("go anywhere from the keyboard", async () => {
    await visit(page, "overview");
    await page.keyboard.press("Control+k");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.type("goals");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Goals", level: 1 }).waitFor();
    await page.keyboard.press("?");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    assert.equal(await page.getByRole("dialog").count(), 0);
  });

  it("are read by everybody: axe, both themes, 360 pixels", async () => {
    const paths = [
      "overview?range=30d",
      "events",
      "goals",
      "funnels?range=90d",
      "retention?range=90d",
      "metrics?name=checkout.duration",
      "monitors",
      "incidents?status=all",
      "errors",
      "errors/" + (await api("/errors?status=all")).data[0].id,
      "approvals",
      ...["application", "keys", "team", "tokens", "passkeys"].map((tab) => "settings/" + tab),
    ];
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      for (const path of paths) {
        await visit(page, path);
        await accessible(page);
        if (path.startsWith("overview")) await shoot(page, `console-${colorScheme}.png`, {});
      }
    }
    await page.emulateMedia({ colorScheme: "light" });
    await page.setViewportSize({ width: 360, height: 740 });
    for (const path of paths) {
      await visit(page, path);
      const [needs, has] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
      assert.ok(needs <= has, `${path} needs ${needs} of ${has} pixels`);
      if (path.startsWith("overview")) await shoot(page, "console-mobile.png", {});
    }
    await page.setViewportSize({ width: 1280, height: 900 });
  });
});

describe("people", () => {
  it("are invited by a link that ends in a passkey, and are out when they are removed", async () => {
    await visit(page, "settings/team");
    await page.getByLabel("E-mail address").fill("vic@acme.example");
    await page.locator("form").getByLabel("Role").selectOption("viewer");
    await page.getByRole("button", { name: "Invite" }).click();
    const link = await page.locator(".secret code").innerText();
    const guest = await open();
    await guest.goto(link);
    await guest.getByRole("heading", { name: "Join Acme" }).waitFor();
    await accessible(guest);
    await guest.getByRole("button", { name: "Accept with a passkey" }).click();
    await settled(guest);

    await visit(guest, "settings/keys");
    await guest.getByText("Keys are for administrators.").waitFor();
    await visit(guest, "settings/team");
    assert.equal(await guest.getByRole("button", { name: "Invite" }).count(), 0);
    await visit(guest, "errors?status=all");
    assert.equal(await guest.getByRole("checkbox").count(), 0);
    await visit(guest, "goals");
    assert.equal(await guest.getByRole("button", { name: "Add a goal" }).count(), 0);

    await visit(page, "settings/team");
    await page.getByRole("button", { name: "Remove vic@acme.example" }).click();
    await page.getByRole("button", { name: "Remove vic@acme.example" }).waitFor({ state: "detached" });
    await guest.reload();
    await guest.getByText("You have no application yet.").waitFor();

    await guest.getByRole("button", { name: "Create an application" }).click();
    await guest.getByRole("heading", { name: "Create an application" }).waitFor();
    assert.deepEqual(await guest.locator("form select").first().locator("option").allInnerTexts(), [
      "A new organization",
    ]);
    await accessible(guest);
    await guest.getByLabel("Name of the organization").fill("Vic & Sons");
    await guest.getByLabel("Name of the application").fill("Vic's shop");
    await guest.getByRole("button", { name: "Create it" }).click();
    await guest.getByRole("heading", { name: "Send your first event" }).waitFor();
    assert.equal(new URL(guest.url()).hash, "#/apps/vic-sons/vic-s-shop/overview");
    await guest.context().close();
  });

  it("see the way in once their session has ended", async () => {
    const other = await as("owner@acme.example");
    await visit(other, "overview");
    const cookie = (await other.context().cookies()).find((one) => one.name === "svc_session");
    await fetch(base + "/console/api/v1/sessions", {
      method: "DELETE",
      headers: { cookie: "svc_session=" + cookie.value },
    });
    await other.goto(at("goals"));
    await other.getByRole("button", { name: "Sign in with a passkey" }).waitFor();
    await other.context().close();
  });
});

describe("what waits for a passkey", () => {
  const nameOfApp = async () => (await api("")).name;

  it("is approved with a reason and with it", async () => {
    await propose("Shop <b>by an agent</b>");
    await visit(page, "approvals");
    const action = page.locator(".decisions li");
    assert.match(await action.innerText(), /name: "Web" → "Shop <b>by an agent<\/b>"/);
    await action.getByRole("button").click();
    await action.getByRole("alert").waitFor();
    assert.equal(await nameOfApp(), "Web");
    await action.getByLabel("Reason").fill("the owner wants it");
    await action.getByRole("button").click();
    await page.getByText("The action is executed.").waitFor();
    assert.equal(await nameOfApp(), "Shop <b>by an agent</b>");
  });

  it("is refused without one", async () => {
    await propose("Again");
    const other = await as("owner@acme.example");
    await visit(other, "settings/passkeys");
    await other.getByRole("button", { name: "Remove" }).click();
    await other.getByText("No passkey yet.").waitFor();
    await visit(other, "approvals");
    const action = other.locator(".decisions li");
    await action.getByLabel("Reason").fill("why not");
    await action.getByRole("button").click();
    await other.getByText("Register a passkey first").waitFor();
    assert.equal(await nameOfApp(), "Shop <b>by an agent</b>");
    await other.context().close();
  });
});

describe("who has a new application", () => {
  it("creates it in an organization or a new one, and chooses its modules", async () => {
    page = await as("owner@acme.example"); // the removal of the passkey has ended the first session
    await visit(page, "overview");
    await page.locator("summary[aria-label^=Account]").click();
    await page.getByRole("link", { name: "Create an application" }).click();
    await page.getByLabel("Name of the application").fill("Away");
    await page.getByRole("link", { name: "Cancel" }).click();
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    await page.keyboard.press("Control+k");
    await page.keyboard.type("create an");
    await page.keyboard.press("Enter");
    await page.locator("form select").first().selectOption("");
    await page.getByLabel("Name of the organization").fill("Initech Ltd.");
    await page.getByLabel("Name of the application").fill("Printer");
    await page.getByLabel("Platform").selectOption("server");
    await page.getByLabel("Address").fill("https://initech.example");
    await page.getByLabel("Time zone").selectOption("Europe/Lisbon");
    await page.getByLabel("Revenue").check();
    await page.getByLabel("Feature flags").uncheck();
    for (const [width, height] of [
      [360, 740],
      [1280, 900],
    ]) {
      await page.setViewportSize({ width, height });
      await accessible(page);
      assert.ok(await page.evaluate((most) => document.documentElement.scrollWidth <= most, width));
    }
    await page.getByRole("button", { name: "Create it" }).click();
    await page.getByRole("heading", { name: "Send your first event" }).waitFor();
    assert.equal(new URL(page.url()).hash, "#/apps/initech-ltd/printer/overview");
    const links = () => page.getByRole("navigation", { name: "Pages" }).getByRole("link").allInnerTexts();
    assert.ok((await links()).includes("Revenue") && !(await links()).includes("Flags"), String(await links()));
    await page.getByRole("link", { name: "Settings" }).click();
    assert.equal(await page.getByLabel("Time zone").inputValue(), "Europe/Lisbon");
    await page.getByLabel("Feature flags").check();
    await page.getByLabel("Revenue").uncheck();
    await page.getByLabel("Additional personal fields").fill("badge\n\n ward ");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Flags" }).waitFor();
    assert.ok(!(await links()).includes("Revenue"));
    await page.getByRole("link", { name: "Overview" }).first().click();
    await page.getByRole("link", { name: "Settings" }).click();
    assert.equal(await page.getByLabel("Additional personal fields").inputValue(), "badge\nward");
  });
});

it("the browser complained of nothing, and asked no other host", () => assert.deepEqual(complaints, []));
