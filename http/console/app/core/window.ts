// Long lists: only the rows near the visible part are rendered.
import { useLayoutEffect, useState } from "preact/hooks";
import type { RefObject } from "preact";

// spare is the number of rows that are rendered above and below the visible part.
const spare = 20;

export interface Window {
  from: number;
  to: number;
  // before and after are the heights of the omitted rows, in pixels.
  before: number;
  after: number;
}

// useWindow returns the rows, out of count rows of equal height, that are near the visible part of the table. Short
// lists are rendered as a whole.
export function useWindow(body: RefObject<HTMLTableSectionElement | null>, count: number, height: number): Window {
  const few = count <= 4 * spare;
  const [span, move] = useState<[number, number]>([0, 4 * spare]);
  useLayoutEffect(() => {
    if (few) return;
    let asked = 0;
    const look = () => {
      asked = 0;
      const top = body.current?.getBoundingClientRect().top ?? 0;
      const from = Math.max(0, Math.floor(-top / height) - spare),
        to = Math.min(count, Math.ceil((innerHeight - top) / height) + spare);
      // The rows change in steps, so that not every scrolled pixel renders a row.
      const step = spare / 2,
        next: [number, number] = [Math.floor(from / step) * step, Math.min(count, Math.ceil(to / step) * step)];
      move((now) => (now[0] === next[0] && now[1] === next[1] ? now : next));
    };
    const scroll = () => {
      asked ||= requestAnimationFrame(look);
    };
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
  const from = Math.min(span[0], count),
    to = Math.min(span[1], count);
  return { from, to, before: from * height, after: (count - to) * height };
}
