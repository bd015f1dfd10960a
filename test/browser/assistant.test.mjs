// Follows answers of the assistant in Chromium, over connections that are cut.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { launch } from "./page.mjs";
import { ask, assisted, conversations, expected, whole } from "./assistant.mjs";

let server, browser;

before(async () => {
  server = await assisted();
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

// asking runs in the page. It asks, and asks again after each broken connection, with the id of the last complete
// frame. It stops after most frames.
async function asking({ ask, most }) {
  const frames = [];
  let conversationId = "",
    attempts = 0;
  while (attempts++ < 10 && frames.length < most && frames.at(-1)?.event !== "done") {
    const headers = { "content-type": "application/json", accept: "text/event-stream" };
    if (frames.length > 0) headers["last-event-id"] = frames.at(-1).id;
    try {
      const answer = await fetch(ask, {
        method: "POST",
        headers,
        body: JSON.stringify({ question: "Speak.", conversationId }),
      });
      if (answer.status !== 200) throw new Error("answered " + answer.status);
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      for (
        let buffered = "", part = await reader.read();
        !part.done && frames.length < most;
        part = await reader.read()
      ) {
        const blocks = (buffered + part.value).split("\n\n");
        buffered = blocks.pop();
        for (const block of blocks) {
          const frame = Object.fromEntries(
            block.split("\n").map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)]),
          );
          if (!frame.id) continue; // a heartbeat
          frames.push({ id: frame.id, event: frame.event, data: frame.data });
          if (frame.event === "start") conversationId = JSON.parse(frame.data).conversationId;
        }
      }
      await reader.cancel();
    } catch {
      await new Promise((done) => setTimeout(done, 100));
    }
  }
  return { frames, conversationId, attempts: attempts - 1 };
}

// following runs in the page. It listens with the browser's own client, which reconnects automatically.
function following(url) {
  return new Promise((done) => {
    const source = new EventSource(url);
    const frames = [];
    let broken = 0;
    source.onerror = () => broken++;
    for (const event of ["start", "status", "text", "tool_call", "tool_result", "done", "error"]) {
      source.addEventListener(event, (message) => {
        if (event === "error" && !message.data) return; // the browser's own error event about the connection
        frames.push({ id: message.lastEventId, event, data: message.data });
        if (event === "done" || event === "error") {
          source.close();
          done({ frames, broken });
        }
      });
    }
  });
}

async function inPage(cuts, test) {
  const relay = await server.through(cuts);
  const page = await browser.newPage();
  try {
    await page.goto(relay.url + "/");
    await test(page, relay);
  } finally {
    await page.close();
    relay.close();
  }
}

describe("an answer of the assistant", () => {
  it("reaches a page that asks with fetch, whole, over connections that are cut", () =>
    inPage([700, 1111, 1501], async (page, relay) => {
      const { frames, attempts } = await page.evaluate(asking, { ask, most: Infinity });
      assert.deepEqual(whole(frames), expected);
      assert.equal(attempts, 4);
      assert.equal(relay.seen.filter(Boolean).length, 3, "three times it came back with an id");
    }));

  it("reaches the browser's own EventSource, whole, over connections that are cut", () =>
    inPage([Infinity, 1501, 1111], async (page, relay) => {
      const { conversationId } = await page.evaluate(asking, { ask, most: 6 });
      const { frames, broken } = await page.evaluate(following, conversations + conversationId);
      assert.deepEqual(whole(frames), expected);
      assert.equal(broken, 2);
      assert.equal(relay.seen.filter(Boolean).length, 2, "twice it came back with an id");
    }));
});
