// Long lists: only the rows near the part that is seen are made.
import { useLayoutEffect, useState } from "preact/hooks";
import type { RefObject } from "preact";

// spare is how many rows are made above and below what is seen.
const spare = 20;

export interface Window {
  from: number;
  to: number;
  // before and after are the heights of the rows that are left out, in pixels.
  before: number;
  after: number;
}

// useWindow says which of count rows of equal height are near the part of the table that is seen. Short lists are made whole.
export function useWindow(body: RefObject<HTMLTableSectionElement | null>, count: number, height: number): Window {
  const few = count <= 4 * spare;
  const [span, move] = useState<[number, number]>([0, 4 * spare]);
  useLayoutEffect(() => {
    if (few) return;
    let asked = 0;
    const look = () => {
      asked = 0;
      const top = body.current?.getBoundingClientRect().top ?? 0;
      const from = Math.max(0, Math.floor(-top / height) - spare), to = Math.min(count, Math.ceil((innerHeight - top) / height) + spare);
      // The rows change in steps, so that not every pixel makes a row.
      const step = spare / 2, next: [number, number] = [Math.floor(from / step) * step, Math.min(count, Math.ceil(to / step) * step)];
      move((now) => (now[0] === next[0] && now[1] === next[1] ? now : next));
    };
    const scroll = () => { asked ||= requestAnimationFrame(look); };
    look();
    addEventListener("scroll", scroll, { passive: true });
    addEventListener("resize", scroll);
    return () => {
      cancelAnimationFrame(asked);
      removeEventListener("scroll", scroll);
      removeEventListener("resize", scroll);
    };
  }, [few, count, height]);
  if (few) return { from: 0, to: count, before: 0, after: 0 };
  const from = Math.min(span[0], count), to = Math.min(span[1], count);
  return { from, to, before: from * height, after: (count - to) * height };
}
