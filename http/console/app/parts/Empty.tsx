import type { ComponentChildren } from "preact";

// Empty replaces an empty list and suggests the next step.
export function Empty({ title, hint, children }: { title: string; hint?: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="strong">{title}</p>
      {hint && <p class="quiet">{hint}</p>}
      {children}
    </div>
  );
}
