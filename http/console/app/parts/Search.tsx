import { useEffect, useState } from "preact/hooks";
import { t } from "../core/texts";

const pause = 250;

// Search reports its text after a pause in typing.
export function Search({ label, value, change }: { label: string; value: string; change: (text: string) => void }) {
  const [text, write] = useState(value);
  useEffect(() => write(value), [value]);
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => change(text), pause);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <input
      type="search"
      aria-label={label}
      placeholder={t.hints.search}
      value={text}
      onInput={(event) => write(event.currentTarget.value)}
      onKeyDown={(event) => event.key === "Escape" && event.currentTarget.blur()}
    />
  );
}
