import type { Values } from "./options";

/** One item of a batch, as `POST /api/v1/batch` accepts it. */
export type Item = Values & { type: string; id: string; ts: string };

/** The store for items that cannot be sent: the browser's localStorage, or nothing. */
export type Store = Pick<Storage, "getItem" | "setItem" | "removeItem"> | undefined;

const storedAs = "svc_queue";
/** A request that outlives its page, and a beacon, hold 64 KiB. */
const batchBytes = 60_000;
const batchItems = 50;
/** Items beyond this number are dropped, the oldest first. */
const waitingItems = 500;
/** Types of items that belong to the module of another type. */
const moduleOf: Record<string, string> = { page: "event", alias: "identify" };
/** Items within this time are sent together. */
const gatherMs = 200;
const firstPauseMs = 1_000;
const lastPauseMs = 60_000;

/**
 * A queue of items on their way to an endpoint. An item is sent until the service has accepted or refused it; it
 * carries an id and a time, so that a repetition counts once. Unsent items at the end of a page wait in the store for
 * the next page. If the service refuses a type of items because its module is switched off, the type is dropped until
 * the next page, which tries again.
 */
export function createQueue(endpoint: string, store: Store, envelope: () => Values) {
  let waiting: Item[] = [];
  let sending: Item[] = [];
  let failures = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const off = new Set<string>();
  const kind = ({ type }: Item) => moduleOf[type] ?? type;

  const encode = (items: Item[]) => JSON.stringify({ ...envelope(), sentAt: new Date().toISOString(), items });

  /** Removes the next batch from the waiting items. */
  function take(): Item[] {
    let bytes = 0;
    let count = 0;
    while (count < waiting.length && count < batchItems) {
      // A character takes three bytes at most.
      bytes += JSON.stringify(waiting[count]).length * 3;
      if (count > 0 && bytes > batchBytes) break;
      count++;
    }
    return waiting.splice(0, count);
  }

  function later(ms: number) {
    timer ??= setTimeout(() => {
      timer = undefined;
      void send();
    }, ms);
  }

  async function send() {
    if (sending.length || !waiting.length) return;
    sending = take();
    const body = encode(sending);
    let pause = 0;
    try {
      // A body of text needs no permission of the other origin (CORS preflight).
      const answer = await fetch(endpoint, {
        method: "POST",
        body,
        keepalive: body.length < batchBytes,
        credentials: "omit",
      });
      if (answer.status === 429 || answer.status > 499) pause = Number(answer.headers.get("Retry-After")) * 1000 || 1;
      else
        await answer
          .json()
          .then(heed)
          .catch(() => undefined);
    } catch {
      pause = 1;
    }
    if (pause) {
      waiting = sending.concat(waiting);
      pause = Math.max(pause, Math.min(firstPauseMs * 2 ** failures++, lastPauseMs));
      keep();
    } else {
      failures = 0;
      store?.removeItem(storedAs);
    }
    sending = [];
    if (waiting.length) later(pause);
  }

  /** Drops the types of items of modules that an answer reports as switched off. */
  function heed({ rejected }: { rejected: { index: number; code: string }[] }) {
    for (const { index, code } of rejected) if (code === "module_disabled") off.add(kind(sending[index]));
    waiting = waiting.filter((item) => !off.has(kind(item)));
  }

  /** Stores the waiting items. */
  function keep() {
    try {
      store?.setItem(storedAs, JSON.stringify(sending.concat(waiting)));
    } catch {
      // The store is full: the waiting items stay in memory.
    }
  }

  /** Takes over the items that an earlier page could not send. */
  function adopt() {
    try {
      const kept: Item[] = JSON.parse(store?.getItem(storedAs) ?? "[]");
      store?.removeItem(storedAs);
      kept.forEach(push);
    } catch {
      store?.removeItem(storedAs);
    }
  }

  function push(item: Item) {
    if (off.has(kind(item))) return;
    waiting.push(item);
    waiting.splice(0, waiting.length - waitingItems);
    if (document.visibilityState === "hidden") void Promise.resolve().then(leave);
    else later(gatherMs);
  }

  /** Sends the waiting items now, because the page may end. */
  function leave() {
    if (store && (!navigator.onLine || failures)) return keep();
    while (waiting.length) {
      const items = take();
      if (!navigator.sendBeacon?.(endpoint + "&beacon=1", encode(items))) {
        waiting = items.concat(waiting);
        return keep();
      }
    }
  }

  return {
    push,
    leave,
    adopt,
    /** Sends at once the items that wait for a retry. */
    retry() {
      clearTimeout(timer);
      timer = undefined;
      later(0);
    },
    clear() {
      waiting = [];
      store?.removeItem(storedAs);
    },
  };
}

export type Queue = ReturnType<typeof createQueue>;
