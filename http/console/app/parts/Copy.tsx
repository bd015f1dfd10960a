import { useState } from "preact/hooks";
import { t } from "../core/texts";

// Copy copies a text to the clipboard.
export function Copy({ text }: { text: string }) {
  const [done, change] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    change(true);
    setTimeout(() => change(false), 2_000);
  };
  return (
    <button type="button" class="small" onClick={() => void copy().catch(() => {})}>
      <span aria-live="polite">{done ? t.hints.copied : t.hints.copy}</span>
    </button>
  );
}
