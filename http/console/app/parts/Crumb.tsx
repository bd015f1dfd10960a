import { useHere } from "../core/me";
import { to } from "../core/place";
import { t } from "../core/texts";

// Crumb leads from a detail back to the list of its page.
export function Crumb({ page, query }: { page: string; query?: Record<string, string> }) {
  const { place } = useHere();
  return (
    <p class="crumb">
      <a href={to(place, page, "", query)}>
        <span aria-hidden="true">← </span>
        {t.pages[page]}
      </a>
    </p>
  );
}
