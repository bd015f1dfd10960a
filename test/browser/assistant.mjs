// A model that answers slowly, a relay that cuts connections, and a server with the assistant between them.
import { once } from "node:events";
import { createServer } from "node:http";
import { start } from "./server.mjs";

// The answer of the model: the words, and the pause between them in milliseconds.
export const words = Array.from({ length: 80 }, (_, n) => `word ${n} `);
const gap = 60;

// model serves an answer in two rounds, in the wire format of OpenAI's Chat Completions. The first round calls a tool,
// the second sends the words.
async function model() {
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    const { messages } = JSON.parse(body);
    response.writeHead(200, { "content-type": "text/event-stream" });
    const chunk = (delta, finish_reason = null) =>
      response.write(
        `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "scripted", choices: [{ index: 0, delta, finish_reason }] })}\n\n`,
      );
    if (messages.at(-1).role === "user") {
      chunk({
        tool_calls: [{ index: 0, id: "c1", type: "function", function: { name: "goals_list", arguments: "{}" } }],
      });
      chunk({}, "tool_calls");
    } else {
      for (const content of words) {
        chunk({ content });
        await new Promise((done) => setTimeout(done, gap));
      }
      chunk({}, "stop");
    }
    response.end("data: [DONE]\n\n");
  });
  return listen(server);
}

async function listen(server) {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    close: () => (server.closeAllConnections(), server.close()),
  };
}

// relay serves a page at / and forwards everything else to a server, with a token. It cuts the first streams, each
// after the number of bytes in cuts. A cut may be at any place in a frame.
async function relay(to, token, cuts) {
  const seen = [];
  const server = createServer(async (request, response) => {
    if (request.url === "/")
      return response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>client</title>");
    let body = "";
    for await (const part of request) body += part;
    const gone = new AbortController();
    response.on("close", () => gone.abort());
    try {
      const headers = { authorization: "Bearer " + token, accept: request.headers.accept ?? "*/*" };
      for (const name of ["content-type", "last-event-id"])
        if (request.headers[name]) headers[name] = request.headers[name];
      const answer = await fetch(to + request.url, {
        method: request.method,
        headers,
        body: body || undefined,
        signal: gone.signal,
      });
      const isStream = answer.headers.get("content-type")?.startsWith("text/event-stream");
      if (isStream) seen.push(request.headers["last-event-id"] ?? "");
      let left = isStream && cuts.length > 0 ? cuts.shift() : Infinity;
      response.writeHead(answer.status, {
        "content-type": answer.headers.get("content-type"),
        "cache-control": "no-store",
      });
      for await (const part of answer.body) {
        response.write(part.subarray(0, Math.min(left, part.length)));
        if ((left -= part.length) <= 0) {
          // The written bytes must be sent before the connection is reset.
          await new Promise((done) => setTimeout(done, 50));
          return response.destroy();
        }
      }
      response.end();
    } catch (error) {
      if (!gone.signal.aborted) throw error;
    }
  });
  return { ...(await listen(server)), seen };
}

// assisted starts a server with an assistant that uses the slow model. through returns a relay to the server that cuts
// streams.
export async function assisted() {
  const slow = await model();
  const server = await start({ SVC_AI_PROVIDER: "openai", SVC_AI_API_KEY: "sk-scripted", SVC_AI_BASE_URL: slow.url });
  const stop = async () => {
    await server.stop();
    slow.close();
  };
  return { ...server, stop, through: (cuts) => relay(server.url, server.token, [...cuts]) };
}

export const ask = "/api/v1/apps/acme/web/ai/ask";
export const conversations = "/api/v1/apps/acme/web/ai/conversations/";

// whole describes the frames that a client received, to compare them with expected. The client must have every frame
// once and in order.
export function whole(frames) {
  const ids = frames.map((frame) => Number(frame.id));
  const problems = ids.flatMap((id, n) => (n > 0 && id !== ids[n - 1] + 1 ? [`${id} after ${ids[n - 1]}`] : []));
  const names = frames.map((frame) => frame.event).filter((name, n, all) => name !== "text" || all[n - 1] !== "text");
  const text = frames
    .filter((frame) => frame.event === "text")
    .map((frame) => JSON.parse(frame.data).text)
    .join("");
  return { first: ids[0] % 2 ** 20, problems, names: names.join(" "), text };
}

// expected is the description of a complete answer of the slow model.
export const expected = {
  first: 1,
  problems: [],
  names: "start status tool_call tool_result text status done",
  text: words.join(""),
};
