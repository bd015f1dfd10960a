// The live view of an application: one connection a tab, for everything that is shown. A tab that nobody sees
// has none.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Schema } from "../api/client";

const pause = 5_000;

// every is how often, in milliseconds, numbers follow what arrives.
const every = 5_000;

// useFollow calls what asks again when something has arrived, but not more often than people read, and not while busy says that an
// answer is under way: one that takes longer than the pause would never come.
export function useFollow(live: string | undefined, busy: boolean, again: () => void, pause = every): void {
  const last = useRef(Date.now()), told = useRef(live);
  useEffect(() => {
    if (!live || busy || live === told.current) return;
    const timer = setTimeout(() => {
      told.current = live;
      last.current = Date.now();
      again();
    }, Math.max(0, last.current + pause - Date.now()));
    return () => clearTimeout(timer);
  }, [live, busy]);
}

export function useLive(at: { org: string; app: string }, env: string, wanted: boolean): Schema["LiveView"] | undefined {
  const [view, change] = useState<Schema["LiveView"]>();
  useEffect(() => {
    change(undefined);
    if (!wanted) return;
    let source: EventSource | undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const close = () => {
      clearTimeout(timer);
      source?.close();
      source = undefined;
    };
    const open = () => {
      close();
      if (document.hidden) return;
      source = new EventSource(`/api/v1/apps/${encodeURIComponent(at.org)}/${encodeURIComponent(at.app)}/analytics/live?env=${encodeURIComponent(env)}`);
      const read = (event: MessageEvent<string>) => change(JSON.parse(event.data) as Schema["LiveView"]);
      source.onmessage = read;
      source.onerror = () => {
        if (source?.readyState === EventSource.CLOSED) timer = setTimeout(open, pause);
      };
    };
    open();
    document.addEventListener("visibilitychange", open);
    return () => {
      document.removeEventListener("visibilitychange", open);
      close();
    };
  }, [at.org, at.app, env, wanted]);
  return view;
}
