// The stream of an answer: it is requested once, and followed across connections that break and computers that sleep.
import { Refusal, type Schema } from "../api/client";

export interface Frame {
  event: string;
  data: Record<string, unknown>;
}

export interface Question {
  question: string;
  conversationId?: string;
  contextPath?: string;
  contextSearch?: string;
}

// silence is the maximum time without a message, in milliseconds; the service sends a heartbeat every 15 seconds.
const silence = 40_000;
// The pause before a broken stream is followed again, and the maximum number of failures.
const pause = 1_000,
  patience = 30;

// read reads one connection to its end. It reports whether the answer ended.
async function read(
  response: Response,
  heard: (id: string, frame: Frame) => void,
  alive: () => void,
): Promise<boolean> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let buffered = "",
    over = false;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    alive();
    const blocks = (buffered + part.value).split("\n\n");
    buffered = blocks.pop() ?? "";
    for (const block of blocks) {
      const field = (name: string) =>
        block
          .split("\n")
          .find((line) => line.startsWith(name + ":"))
          ?.slice(name.length + 1)
          .trim() ?? "";
      const event = field("event");
      if (!event) continue;
      heard(field("id"), { event, data: JSON.parse(field("data")) as Frame["data"] });
      over ||= event === "done" || event === "error";
    }
  }
  return over;
}

// refused returns the refusal of an answer that is not a stream.
async function refused(response: Response): Promise<Refusal> {
  return new Refusal(response.status, (await response.json().catch(() => ({}))) as Partial<Schema["Problem"]>);
}

// follow sends a question, or follows the turn of an earlier one, until the answer ends.
export async function follow(
  app: string,
  asked: Question,
  signal: AbortSignal,
  heard: (frame: Frame) => void,
): Promise<void> {
  let last = "",
    conversation = asked.conversationId ?? "",
    begun = asked.question === "",
    failed = 0;
  while (!signal.aborted) {
    const one = new AbortController();
    const stop = () => one.abort();
    let timer = setTimeout(stop, silence);
    const alive = () => {
      clearTimeout(timer);
      timer = setTimeout(stop, silence);
    };
    // After a computer wakes up, its connection may be dead without an error.
    const wake = () => {
      if (!document.hidden && begun) alive();
    };
    signal.addEventListener("abort", stop);
    addEventListener("online", stop);
    document.addEventListener("visibilitychange", wake);
    try {
      const headers: Record<string, string> = { accept: "text/event-stream" };
      if (last) headers["last-event-id"] = last;
      const response = begun
        ? await fetch(`/api/v1/apps/${app}/ai/conversations/${conversation}`, { headers, signal: one.signal })
        : await fetch(`/api/v1/apps/${app}/ai/ask`, {
            method: "POST",
            headers: { ...headers, "content-type": "application/json" },
            body: JSON.stringify(asked),
            signal: one.signal,
          });
      if (!response.ok) throw await refused(response);
      const over = await read(
        response,
        (id, frame) => {
          if (frame.event === "start") {
            conversation = String(frame.data["conversationId"]);
            begun = true;
          }
          if (id) last = id;
          failed = 0;
          heard(frame);
        },
        alive,
      );
      if (over) return;
    } catch (error) {
      const final = error instanceof Refusal && error.status < 500 && error.status !== 429;
      if (signal.aborted) return;
      if (final || !begun || ++failed > patience) throw error;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
      removeEventListener("online", stop);
      document.removeEventListener("visibilitychange", wake);
    }
    await new Promise((then) => setTimeout(then, pause));
  }
}
