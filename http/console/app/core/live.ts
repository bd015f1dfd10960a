// The live view of an application: one connection per tab, for all visible numbers. A hidden tab has none.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Schema } from "../api/client";

const pause = 5_000;

// every is the minimum time between two updates of numbers, in milliseconds.
const every = 5_000;

// useFollow calls the function again after new events have arrived, but at most once per pause. It does not call while
// busy is true: a request that takes longer than the pause would never finish.
export function useFollow(live: string | undefined, busy: boolean, again: () => void, pause = every): void {
  const last = useRef(Date.now()),
    told = useRef(live);
  useEffect(() => {
    if (!live || busy || live === told.current) return;
    const timer = setTimeout(
      () => {
        told.current = live;
        last.current = Date.now();
        again();
      },
      Math.max(0, last.current + pause - Date.now()),
    );
    return () => clearTimeout(timer);
  }, [live, busy]);
}

export function useLive(
  at: { org: string; app: string },
  env: string,
  wanted: boolean,
): Schema["LiveView"] | undefined {
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
      source = new EventSource(
        `/api/v1/apps/${encodeURIComponent(at.org)}/${encodeURIComponent(at.app)}/analytics/live?env=${encodeURIComponent(env)}`,
      );
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
