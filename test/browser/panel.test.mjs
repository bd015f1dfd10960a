// Talks to the assistant in its panel: answers, tools, proposals, passkeys, broken connections.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { after, before, describe, it } from "node:test";
import { startConsole } from "./console.mjs";
import { accessible, shoot } from "./page.mjs";

let model, world, page;
const prompts = [];
const words = Array.from({ length: 40 }, (_, n) => `word ${n} `);

// calls maps the first word of a question to the tool that the model calls, and its input.
const calls = {
  Make: ["goals_create", { name: "Orders <img src=x>", kind: "event", match: "order" }],
  Rename: ["apps_update", { name: "Renamed by the assistant" }],
  Speak: ["goals_list", {}],
};

// scripted serves a model in the wire format of OpenAI's Chat Completions. The model calls a tool and then answers.
async function scripted() {
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    const { messages } = JSON.parse(body);
    prompts.push(messages[0].content);
    response.writeHead(200, { "content-type": "text/event-stream" });
    const chunk = (delta, finish_reason = null) =>
      response.write(
        `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "scripted", choices: [{ index: 0, delta, finish_reason }] })}\n\n`,
      );
    const last = messages.at(-1);
    if (last.role === "user") {
      const [name, input] = calls[last.content.split(" ")[0]];
      chunk({
        tool_calls: [
          {
            index: 0,
            id: "c" + messages.length,
            type: "function",
            function: { name, arguments: JSON.stringify(input) },
          },
        ],
      });
      chunk({}, "tool_calls");
    } else {
      for (const content of String(last.content).includes("goals_list") ? words : ["It is **done**."]) {
        chunk({ content });
        await new Promise((done) => setTimeout(done, 50));
      }
      chunk({}, "stop");
    }
    response.end("data: [DONE]\n\n");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    close: () => (server.closeAllConnections(), server.close()),
  };
}

const panel = () => page.getByRole("complementary", { name: "Assistant" });

async function ask(question) {
  await panel().getByLabel("Ask about this application").fill(question);
  await panel().getByRole("button", { name: "Ask", exact: true }).click();
}

before(async () => {
  model = await scripted();
  world = await startConsole({ SVC_AI_PROVIDER: "openai", SVC_AI_API_KEY: "sk-scripted", SVC_AI_BASE_URL: model.url });
  page = await world.as("owner@acme.example");
  await world.visit(page, "settings/passkeys", "web");
  await page.getByRole("button", { name: "Add a passkey" }).click();
  await page.locator("tbody tr").first().waitFor();
});

after(async () => {
  await world?.stop();
  model?.close();
});

describe("the assistant beside a page", () => {
  it("answers while one watches, with the tools that it called, and knows the page", async () => {
    await world.visit(page, "goals?range=30d", "web");
    await page.getByRole("button", { name: "Assistant", exact: true }).click();
    await ask("Speak of goals");
    await panel().getByText("Called goals_list ✓").waitFor();
    await panel().getByText("word 2 ").waitFor();
    assert.ok(!(await panel().innerText()).includes("word 39"), "the answer comes at once");
    await panel().getByText(words.at(-1).trim()).waitFor();
    assert.ok((await panel().innerText()).includes(words.join("").trim()));
    assert.ok(prompts.at(-1).includes('"/apps/acme/web/goals?range=30d"'), prompts.at(-1).slice(-200));
    await accessible(page);
    await shoot(page, "console-assistant.png", {});
  });

  it("goes on where it was after the connection was away", async () => {
    await ask("Speak again");
    await panel().getByText(words[3].trim()).nth(1).waitFor();
    await page.context().setOffline(true);
    await new Promise((done) => setTimeout(done, 300));
    await page.context().setOffline(false);
    await page.waitForFunction(
      (last) => document.querySelector(".talk").innerText.split(last).length === 3,
      words.at(-1).trim(),
    );
    const text = await panel().locator(".said-text").last().innerText();
    assert.equal(text, words.join("").trim());
  });

  it("executes a change once it is approved", async () => {
    await ask("Make a goal");
    await panel().getByText('name: "Orders <img src=x>"').waitFor();
    assert.equal(await panel().locator("img").count(), 0);
    assert.equal((await world.api("/goals", "web")).data.length, 0);
    await panel().getByRole("button", { name: "Approve", exact: true }).click();
    await panel()
      .getByText(/^Done: goals_create answered 201/)
      .waitFor();
    await panel().locator("b", { hasText: "done" }).waitFor();
    assert.deepEqual(
      (await world.api("/goals", "web")).data.map((goal) => goal.match),
      ["order"],
    );
  });

  it("leaves a change that is rejected", async () => {
    await ask("Rename it");
    const proposal = panel().locator(".proposal").last();
    await proposal.getByLabel("Reason").fill("not today");
    await proposal.getByRole("button", { name: "Reject" }).click();
    await proposal.getByText("Rejected").waitFor();
    assert.equal((await world.api("", "web")).name, "Web");
  });

  it("asks for a passkey where a change cannot be undone", async () => {
    await ask("Rename it now");
    const proposal = panel().locator(".proposal").last();
    assert.equal(await proposal.getByRole("button", { name: "Approve with a passkey" }).isEnabled(), false);
    await proposal.getByLabel("Reason").fill("it is agreed");
    await proposal.getByRole("button", { name: "Approve with a passkey" }).click();
    await proposal.getByText(/^Done/).waitFor();
    assert.equal((await world.api("", "web")).name, "Renamed by the assistant");
  });

  it("opens an earlier conversation, and stays while pages change", async () => {
    await page.getByRole("link", { name: "Events" }).click();
    await world.settled(page);
    await panel().locator(".proposal").last().waitFor();
    await page.reload();
    await world.settled(page);
    await page.getByRole("button", { name: "Assistant", exact: true }).click();
    await panel().getByLabel("Conversations").selectOption({ label: "Speak of goals" });
    await panel().getByText(words.join("").trim()).first().waitFor();
    assert.equal(await panel().locator(".proposal").count(), 3);
    await page.setViewportSize({ width: 360, height: 740 });
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
    await page.keyboard.press("Escape");
  });
});

it("the browser complained of nothing else", () =>
  assert.deepEqual(
    world.complaints.filter((text) => !text.includes("ERR_INTERNET_DISCONNECTED")),
    [],
  ));
