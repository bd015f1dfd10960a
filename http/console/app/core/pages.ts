// Lists that are longer than one answer: the first page follows its question, the others are added when the person
// scrolls.
import { useEffect, useState } from "preact/hooks";
import { useAsk, type Asked } from "./ask";

interface Page {
  data: unknown[];
  nextCursor: string | null;
}

export interface Pages<P extends Page> {
  rows: P["data"][number][];
  first: Asked<P>;
  cursor: string | null;
  // grown is true if more than the first page is shown.
  grown: boolean;
  // more adds the next page, if there is one.
  more: () => void;
  again: () => void;
}

// usePages reads the first page of a list whenever key changes, and the others by more.
export function usePages<P extends Page>(
  key: string,
  question: (cursor: string | undefined, signal?: AbortSignal) => Promise<P>,
): Pages<P> {
  const first = useAsk(key, (signal) => question(undefined, signal));
  const [older, append] = useState<{ of: string; rows: P["data"][number][]; cursor: string | null }>();
  const [asking, wait] = useState(false);
  useEffect(() => append(undefined), [key]);
  const added = older?.of === key ? older : undefined;
  const cursor = added ? added.cursor : (first.data?.nextCursor ?? null);
  const more = () => {
    if (!cursor || asking || first.loading) return;
    wait(true);
    question(cursor)
      .then(
        (page) =>
          append((now) => ({
            of: key,
            rows: [...(now?.of === key ? now.rows : []), ...page.data],
            cursor: page.nextCursor,
          })),
        () => {}, // the button repeats the request
      )
      .finally(() => wait(false));
  };
  const again = () => {
    append(undefined);
    first.again();
  };
  return {
    rows: added ? [...(first.data?.data ?? []), ...added.rows] : (first.data?.data ?? []),
    first,
    cursor,
    grown: added !== undefined,
    more,
    again,
  };
}
