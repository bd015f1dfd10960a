// Follows answers of the assistant with the npm client eventsource, over connections that are cut.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { EventSource } from "eventsource";
import { ask, assisted, conversations, expected, whole } from "../browser/assistant.mjs";

let server;

before(async () => {
  server = await assisted();
});
after(async () => {
  await server?.stop();
});

// listen collects the frames of a stream until the answer is done. The client reconnects automatically. request adds
// the missing parts to each request of the client.
function listen(url, request, most = Infinity) {
  return new Promise((resolve, reject) => {
    const frames = [];
    let conversationId = "",
      broken = 0;
    const source = new EventSource(url, {
      fetch: (address, options) =>
        fetch(address, {
          ...options,
          ...request(conversationId),
          headers: { ...options.headers, ...request(conversationId).headers },
        }),
    });
    const finish = () => {
      source.close();
      resolve({ frames, conversationId, broken });
    };
    source.onerror = (error) => {
      if (error.code >= 400) reject(new Error(error.message));
      broken++;
    };
    for (const event of ["start", "status", "text", "tool_call", "tool_result", "done"]) {
      source.addEventListener(event, (message) => {
        frames.push({ id: message.lastEventId, event, data: message.data });
        if (event === "start") conversationId = JSON.parse(message.data).conversationId;
        if (event === "done" || frames.length === most) finish();
      });
    }
  });
}

const asking = (conversationId) => ({
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ question: "Speak.", conversationId }),
});

test("an answer that is asked for comes whole over connections that are cut", async () => {
  const relay = await server.through([1501, 1111]);
  try {
    const { frames, broken } = await listen(relay.url + ask, asking);
    assert.deepEqual(whole(frames), expected);
    assert.equal(broken, 2);
    assert.equal(relay.seen.filter(Boolean).length, 2, "twice it came back with an id");
  } finally {
    relay.close();
  }
});

test("a turn that is followed comes whole over connections that are cut, also after its end", async () => {
  const relay = await server.through([Infinity, 1501, 3001]);
  try {
    const { conversationId } = await listen(relay.url + ask, asking, 5);
    const { frames, broken } = await listen(relay.url + conversations + conversationId, () => ({}));
    assert.deepEqual(whole(frames), expected);
    assert.equal(broken, 2);
    const { frames: late } = await listen(relay.url + conversations + conversationId, () => ({}));
    assert.deepEqual(late, frames, "another client reads the same afterwards");
  } finally {
    relay.close();
  }
});
