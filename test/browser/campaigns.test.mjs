// Walks through the pages of campaigns. A draft is created, written and submitted; its author cannot approve it. A
// second member approves it with a passkey, then it is scheduled and canceled. Another campaign is sent, pauses,
// continues and completes. Also tests axe, both themes, 360 pixels, roles and hostile texts.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startConsole, whole } from "./console.mjs";
import { startMail } from "./mail.mjs";
import { accessible } from "./page.mjs";
import { call, until } from "./server.mjs";

const hostile = `<img src=x onerror="document.title='owned'">`;
const html = `<style>h1 { color: rgb(1, 2, 3) }</style><h1 style="text-align: center">Hello {{firstName|friend}}</h1>${hostile}`;
const app = "web";
let world, mail, page, second, id;

before(async () => {
  mail = await startMail(["reader-3@acme.example"]);
  world = await startConsole({ SVC_MAIL_SERVER: mail.url, SVC_MAIL_FROM: "news@acme.example" });
  page = await world.as("owner@acme.example");
  await world.server.admin("members", "put", "--org", "acme", "--email", "second@acme.example", "--role", "admin");
  await world.server.admin("members", "put", "--org", "acme", "--email", "viewer@acme.example", "--role", "viewer");
  second = await world.as("second@acme.example");
  await world.write(
    "POST",
    "/segments",
    { kind: "dynamic", name: "Readers", definition: { all: [{ field: "stage", op: "eq", value: "lead" }] } },
    app,
  );
});
after(async () => {
  await world?.stop();
  await mail?.stop();
});

const one = async () => (await world.api("/campaigns/" + id, app)).campaign;
const becomes = (status) => until("it is " + status, async () => ((await one()).status === status ? true : undefined));

describe("a campaign", () => {
  it("is begun as a draft", async () => {
    await world.visit(page, "campaigns", app);
    await page.getByText("No campaigns yet.").waitFor();
    await page.getByLabel("Name", { exact: true }).fill("Autumn " + hostile);
    await page.getByRole("button", { name: "Begin the draft" }).click();
    await page.getByRole("heading", { name: "Autumn" }).waitFor();
    const [made] = (await world.api("/campaigns", app)).data;
    id = made.id;
    assert.deepEqual(
      [made.name, made.status, made.environment, made.channels, made.audience.kind],
      ["Autumn " + hostile, "draft", "production", ["email"], "all"],
    );
  });

  it("is written, with a preview that runs nothing", async () => {
    await world.visit(page, "campaigns/" + id, app);
    await page.getByLabel("Audience").selectOption("segment");
    await page.getByLabel("Segment", { exact: false }).last().selectOption({ label: "Readers" });
    await page.getByText("0 people now").waitFor();
    await page.getByLabel("Sender's name").fill("Acme");
    await page.getByLabel("Subject", { exact: true }).fill("News " + hostile);
    await page.getByLabel("Preheader", { exact: false }).fill("Of autumn");
    await page
      .locator("textarea")
      .first()
      .fill("Hello {{firstName|friend}} " + hostile);
    await page.locator("textarea").nth(1).fill(html);
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved.").waitFor();
    const now = await one();
    assert.deepEqual(
      [now.audience.kind, now.from.name, now.subject, now.preheader, now.html],
      ["segment", "Acme", "News " + hostile, "Of autumn", html],
    );
    const letter = page.frameLocator("iframe.letter").getByRole("heading", { name: "Hello" });
    await letter.waitFor();
    await until("the styles are put on", async () =>
      (await letter.evaluate((node) => getComputedStyle(node).textAlign + getComputedStyle(node).color)) ===
      "centerrgb(1, 2, 3)"
        ? true
        : undefined,
    );
    assert.equal(await page.locator("iframe.letter").getAttribute("sandbox"), "allow-same-origin");
    assert.notEqual(await page.title(), "owned");
  });

  it("says what of a message is wrong", async () => {
    await page.getByLabel("Subject", { exact: true }).fill("{{nothing}}");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("alert").waitFor();
    assert.equal((await one()).subject, "News " + hostile);
  });

  it("is submitted, and its author cannot approve it and is told so", async () => {
    await world.visit(page, "campaigns", app);
    await world.visit(page, "campaigns/" + id, app);
    await page.getByRole("button", { name: "Submit for approval" }).click();
    await page.getByText("You wrote this campaign, so another member approves it.").waitFor();
    assert.equal(await page.getByRole("button", { name: "Approve with a passkey" }).count(), 0);
    assert.equal(await page.locator("iframe.letter").count(), 1);
    await becomes("pending_approval");
  });

  it("is returned with a reason, and submitted again", async () => {
    await world.visit(second, "campaigns/" + id, app);
    await second.getByLabel("Why it is returned").fill("Too loud " + hostile);
    await second.getByRole("button", { name: "Return" }).click();
    await second.getByText("returned it").waitFor();
    await becomes("draft");
    await world.visit(page, "campaigns", app);
    await world.visit(page, "campaigns/" + id, app);
    await page.getByText("Too loud " + hostile).waitFor();
    await page.getByRole("button", { name: "Submit for approval" }).click();
    await becomes("pending_approval");
  });

  it("is approved by a second member with a passkey", async () => {
    await world.visit(second, "settings/passkeys", app);
    await second.getByRole("button", { name: "Add a passkey" }).click();
    await second.locator("tbody tr").waitFor();
    await world.visit(second, "campaigns/" + id, app);
    await second.getByRole("button", { name: "Approve with a passkey" }).click();
    await second.getByText("approved it").waitFor();
    await becomes("approved");
  });

  it("is scheduled, and canceled", async () => {
    await world.visit(page, "campaigns", app);
    await world.visit(page, "campaigns/" + id, app);
    await page.getByLabel("Begins at").fill(new Date(Date.now() + 7 * 86_400_000).toISOString().slice(0, 16));
    await page.getByRole("button", { name: "Schedule" }).click();
    await becomes("scheduled");
    await page.getByRole("button", { name: "Cancel the campaign" }).click();
    await becomes("canceled");
    await page.getByText("The campaign is now: Canceled.").waitFor();
    await world.visit(page, "campaigns?status=canceled", app);
    await page.locator("tbody a").getByText("Autumn").waitFor();
    assert.match(await page.getByLabel("Status").locator("option:checked").innerText(), /Canceled \(1\)/);
  });
});

describe("a campaign that is sent", () => {
  const readers = Array.from({ length: 8 }, (_, n) => `reader-${n}@acme.example`);
  let sent;
  const state = () => world.api("/campaigns/" + sent, app);
  const is = (status) =>
    until("it is " + status, async () => ((await state()).campaign.status === status ? true : undefined));
  const open = async (on) => {
    await world.visit(on, "campaigns", app);
    await world.visit(on, "campaigns/" + sent, app);
  };
  // shown returns the numbers of the page by their names.
  const shown = () =>
    page
      .locator(".sums > div")
      .evaluateAll((all) =>
        Object.fromEntries(
          all.map((one) => [one.querySelector("dt").textContent, one.querySelector("dd").textContent]),
        ),
      );

  it("is written for everybody, and approved", async () => {
    const items = readers.map((email, n) => ({
      type: "identify",
      distinctId: "reader-" + n,
      traits: { email, name: "Reader " + n },
    }));
    await call({ url: world.base }, world.server.secret, "POST", "/api/v1/batch", { items });
    await until("all are known", async () =>
      (await world.api("/people", app)).data.length === readers.length ? true : undefined,
    );
    await world.visit(page, "campaigns", app);
    await page.getByLabel("Name", { exact: true }).fill("Spring");
    await page.getByRole("button", { name: "Begin the draft" }).click();
    await page.getByRole("heading", { name: "Spring" }).waitFor();
    sent = (await world.api("/campaigns?status=draft", app)).data[0].id;
    await page.getByLabel("Subject", { exact: true }).fill("Hello {{firstName|friend}}");
    await page.locator("textarea").first().fill("Hello {{firstName|friend}}");
    await page.getByLabel("Messages a second").fill("1");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved.").waitFor();
    await page.getByRole("button", { name: "Submit for approval" }).click();
    await is("pending_approval");
    await open(second);
    await second.getByRole("button", { name: "Approve with a passkey" }).click();
    await is("approved");
  });

  it("begins, and pauses with what it has sent", async () => {
    await open(page);
    await page.getByRole("button", { name: "Send now" }).click();
    await until("the first message is taken", async () => (mail.taken.length > 0 ? true : undefined));
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByText("The campaign is now: Paused.").waitFor();
    await page.getByRole("button", { name: "Go on" }).waitFor();
    assert.ok(mail.taken.length < readers.length - 1, "all were sent before the pause");
    const { stats } = await until("what was under way has ended", async () => {
      const now = await state();
      return now.stats.sent === mail.taken.length && now.stats.queued > 0 ? now : undefined;
    });
    assert.equal(stats.sent + stats.queued + stats.failed + stats.skipped, readers.length);
    await open(page);
    const { Sent, Queued } = await shown();
    assert.deepEqual([Sent, Queued], [whole(stats.sent), whole(stats.queued)]);
  });

  it("goes on, and ends with a message for each", async () => {
    await page.getByRole("button", { name: "Go on" }).click();
    await page.getByText("The campaign is now: Sending.").waitFor();
    await is("completed");
    assert.deepEqual(
      mail.taken.toSorted(),
      readers.filter((email) => email !== "reader-3@acme.example"),
    );
    await open(page);
    const { stats } = await state();
    assert.deepEqual([stats.sent, stats.failed, stats.failures.bounced, stats.queued, stats.skipped], [7, 1, 1, 0, 0]);
    assert.deepEqual(
      Object.values(await shown()),
      ["queued", "sent", "delivered", "opened", "clicked", "failed", "skipped"].map((name) => whole(stats[name])),
    );
    await page.getByText("No such address").waitFor();
  });
});

describe("e-mail reports", () => {
  it("are made, changed, switched off and deleted", async () => {
    const weekly = async () => (await world.api("/reports", app)).data.find((one) => one.kind === "weekly");
    await world.visit(page, "settings/reports", app);
    const form = page.getByRole("form", { name: "Every week" });
    await form.getByText("Not sent.").waitFor();
    await form.getByLabel("To").fill("owner@acme.example\nsecond@acme.example");
    await form.getByRole("button", { name: "Send it" }).click();
    await form.getByText("Next:").waitFor();
    const made = await weekly();
    assert.deepEqual(
      [made.recipients.toSorted(), made.enabled, made.environment],
      [["owner@acme.example", "second@acme.example"], true, "production"],
    );
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
    await form.getByLabel("To").fill("owner@acme.example");
    await form.getByRole("button", { name: "Save" }).click();
    await until("one recipient is left", async () => ((await weekly()).recipients.length === 1 ? true : undefined));
    await form.getByRole("button", { name: "Switch off" }).click();
    await form.getByText("Switched off.").waitFor();
    assert.equal((await weekly()).enabled, false);
    await form.getByRole("button", { name: "Remove" }).click();
    await form.getByText("Not sent.").waitFor();
    assert.equal(await weekly(), undefined);
  });
});

describe("every page", () => {
  const paths = () => ["campaigns", "campaigns?status=draft", "campaigns/" + id, "campaigns/" + other];
  let other;

  it("is read by everybody: axe, both themes, 360 pixels, and shows hostile texts as text", async () => {
    await world.visit(page, "campaigns", app);
    await page.getByLabel("Name", { exact: true }).fill("Winter " + hostile);
    await page.getByRole("button", { name: "Begin the draft" }).click();
    await page.getByRole("heading", { name: "Winter" }).waitFor();
    other = (await world.api("/campaigns?status=draft", app)).data[0].id;
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
    const viewer = await world.as("viewer@acme.example");
    for (const path of paths()) {
      await world.visit(viewer, path, app);
      assert.equal(await viewer.getByRole("alert").count(), 0, "a refusal on " + path);
      for (const name of ["Begin the draft", "Save", "Submit for approval", "Return"])
        assert.equal(await viewer.getByRole("button", { name }).count(), 0, name + " on " + path);
    }
    await viewer.context().close();
  });
});

// The browser reports everything that the sandbox and the policy block in a preview.
it("the browser complained of nothing but what previews must not do, and asked no other host", () =>
  assert.deepEqual(
    world.complaints.filter((text) => !/about:srcdoc|Content Security Policy/.test(text)),
    [],
  ));
