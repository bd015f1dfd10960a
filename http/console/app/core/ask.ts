// Reads from the service, as pages make them.
import { useCallback, useLayoutEffect, useRef, useState } from "preact/hooks";
import { addressOf, answer, Refusal, type Answer, type Question } from "../api/client";

export interface Asked<T> {
  // data is the last answer; it stays during the next request, so that the page does not jump.
  data?: T;
  error?: Refusal;
  loading: boolean;
  again: () => void;
}

// useAsk sends a question again whenever its key changes. It drops an answer if a newer request exists.
export function useAsk<T>(key: string, question: (signal: AbortSignal) => Promise<T>): Asked<T> {
  const [state, change] = useState<{ key?: string; data?: T; error?: Refusal; loading: boolean }>({ loading: true });
  const [turn, next] = useState(0);
  const asked = useRef(question);
  asked.current = question;
  useLayoutEffect(() => {
    const abort = new AbortController();
    change((old) => (old.loading ? old : { ...old, loading: true }));
    asked.current(abort.signal).then(
      (data) => abort.signal.aborted || change({ key, data, loading: false }),
      (error: unknown) =>
        abort.signal.aborted || change((old) => ({ key, data: old.data, error: refusalOf(error), loading: false })),
    );
    return () => abort.abort();
  }, [key, turn]);
  // An answer to another key is about to be replaced.
  return {
    data: state.data,
    error: state.key === key ? state.error : undefined,
    loading: state.loading || state.key !== key,
    again: useCallback(() => next((n) => n + 1), []),
  };
}

// useAnswer sends a question, and again whenever it changes.
export function useAnswer<P extends Parameters<typeof answer>[0]["path"]>(of: Question<P>): Asked<Answer<P, "get">> {
  return useAsk(addressOf(of.path, of.request), (signal) => answer(of, signal));
}

export function refusalOf(error: unknown): Refusal {
  return error instanceof Refusal
    ? error
    : new Refusal(0, { detail: error instanceof Error ? error.message : String(error) });
}

// useAct runs the actions of a person, one at a time.
export function useAct(): {
  busy: boolean;
  error?: Refusal;
  run: (act: () => Promise<unknown>) => Promise<boolean>;
  clear: () => void;
} {
  const [state, change] = useState<{ busy: boolean; error?: Refusal }>({ busy: false });
  const run = async (act: () => Promise<unknown>) => {
    change({ busy: true });
    try {
      await act();
      change({ busy: false });
      return true;
    } catch (error) {
      change({ busy: false, error: refusalOf(error) });
      return false;
    }
  };
  return { ...state, run, clear: () => change({ busy: false }) };
}
