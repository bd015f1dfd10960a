// Keys of lists: j and k move, Enter opens, x chooses, / goes to the search.
import { useLayoutEffect, useRef, useState } from "preact/hooks";

export const typing = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (/^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.isContentEditable);

// useKeys calls the action of a key, unless the person is typing or a dialog is open. It handles keys from the first
// render on.
export function useKeys(keys: Record<string, (event: KeyboardEvent) => void>): void {
  const held = useRef(keys);
  held.current = keys;
  useLayoutEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (
        event.ctrlKey ||
        event.metaKey ||
        event.altKey ||
        typing(event.target) ||
        document.querySelector("dialog[open]")
      )
        return;
      const act = held.current[event.key];
      if (act) act(event);
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
}

// useCursor moves through a list of rows by keys. Each row has the attribute data-row, with its number if not all rows
// are rendered.
export function useCursor(
  length: number,
  open: (at: number) => void,
  more: Record<string, (at: number) => void> = {},
): number {
  const [at, move] = useState(-1);
  const to = (next: number) => {
    const clamped = Math.max(0, Math.min(length - 1, next));
    move(clamped);
    const rows = document.querySelectorAll("[data-row]");
    (document.querySelector(`[data-row="${clamped}"]`) ?? rows[clamped])?.scrollIntoView({ block: "nearest" });
  };
  const keys: Record<string, (event: KeyboardEvent) => void> = {
    j: () => to(at + 1),
    k: () => to(at - 1),
    Enter: (event) => {
      if (
        at >= 0 &&
        at < length &&
        !(event.target instanceof HTMLElement && event.target.closest("a, button, summary"))
      )
        open(at);
    },
    "/": (event) => {
      event.preventDefault();
      document.querySelector<HTMLInputElement>("input[type=search]")?.focus();
    },
  };
  for (const [key, act] of Object.entries(more)) keys[key] = () => at >= 0 && at < length && act(at);
  useKeys(keys);
  return at < length ? at : -1;
}
