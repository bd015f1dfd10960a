import type { ComponentChildren } from "preact";

// Empty stands where a list would, and says what to do.
export function Empty({ title, hint, children }: { title: string; hint?: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="strong">{title}</p>
      {hint && <p class="quiet">{hint}</p>}
      {children}
    </div>
  );
}
