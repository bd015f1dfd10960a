import type { ComponentChildren } from "preact";

// Door is the card in the middle of an empty page.
export function Door({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <main class="door">
      <section class="card">
        <svg class="mark" viewBox="0 0 16 16" aria-hidden="true">
          <rect width="16" height="16" rx="4" />
          <path d="M3 11l3-4 3 2 4-5" />
        </svg>
        <h1>{title}</h1>
        {children}
      </section>
    </main>
  );
}
