import type { Flags, Values } from "./options";
import type { Store } from "./queue";

const storedAs = "svc_flags";

/** The visitor; undefined without the visitor's consent. */
export type Who = { anonymousId: string; distinctId: string | undefined } | undefined;

/**
 * Evaluates the flags of a visitor, and again after every change on the service. The last answer is stored on the
 * device, so that the next page begins with it.
 */
export function watchFlags(host: string, key: string, store: Store, who: () => Who) {
  const address = (path: string) => `${host}/api/v1/flags/${path}?key=${encodeURIComponent(key)}`;
  const listeners: ((flags: Flags) => void)[] = [];
  let context: Values = {};
  let flags: Flags | undefined;
  let asked = 0;
  let failed = false;
  /** The module is switched off: this page sends no more requests. */
  let off = false;
  let stream: EventSource | undefined;

  /** Notifies the listeners, if the answer has changed. */
  function tell(next: Flags) {
    if (flags && JSON.stringify(flags) === JSON.stringify(next)) return;
    flags = next;
    listeners.forEach((listener) => listener(next));
  }

  /** Begins with the stored answer of an earlier page, if it was for the same visitor and context. */
  function recall(about: string) {
    try {
      const kept = JSON.parse(store?.getItem(storedAs) ?? "{}");
      if (kept.about === about) tell(kept.flags);
    } catch {
      // The stored value is unreadable: the service is asked anyway.
    }
  }

  function keep(about: string) {
    try {
      store?.setItem(storedAs, JSON.stringify({ about, flags }));
    } catch {
      // The store is full: the next page waits for its answer.
    }
  }

  async function ask() {
    const turn = ++asked;
    const visitor = who();
    if (!visitor) {
      stream?.close();
      stream = undefined;
      store?.removeItem(storedAs);
      return tell({});
    }
    if (off) return;
    const body = JSON.stringify({
      distinctId: visitor.distinctId ?? visitor.anonymousId,
      anonymousId: visitor.anonymousId,
      context,
    });
    if (!flags) recall(body);
    listen();
    try {
      // A body of text needs no permission of the other origin (CORS preflight).
      const answer = await fetch(address("evaluate"), { method: "POST", body, credentials: "omit" });
      const next = await answer.json();
      off = next.code === "module_disabled";
      if (!answer.ok) throw answer.status;
      if (turn !== asked) return;
      failed = false;
      tell(next.flags);
      keep(body);
    } catch {
      if (turn !== asked) return;
      failed = true;
      if (!flags) tell({});
    }
  }

  function listen() {
    if (stream) return;
    stream = new EventSource(address("stream"));
    stream.onmessage = () => void ask();
    stream.onopen = () => failed && void ask();
  }

  // A page in the browser's back-forward cache must hold no connection.
  addEventListener("pagehide", () => {
    stream?.close();
    stream = undefined;
  });
  addEventListener("pageshow", (event) => event.persisted && void ask());

  return {
    /** Calls `changed` with the flags, when they are known and after every change. */
    add(changed: (flags: Flags) => void, more?: Values) {
      listeners.push(changed);
      const known = flags;
      context = { ...context, ...more };
      if (known) changed(known);
      if (!known || more) void ask();
    },
    /** Evaluates again, for another visitor. */
    ask,
  };
}
