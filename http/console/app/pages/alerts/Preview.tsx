import type { Schema } from "../../api/client";
import { count, duration, when } from "../../core/format";
import { useHere } from "../../core/me";
import { t } from "../../core/texts";
import { Chart } from "../../parts/Chart";

// Preview shows when a rule would have fired in the last seven days.
export function Preview({ of }: { of: Schema["AlertPreview"] }) {
  const { app } = useHere();
  return (
    <section class="preview" aria-label={t.alerts.preview} role="status">
      <p class="strong">{t.alerts.previewed(of.firings.length, of.notices)}</p>
      {of.points.length > 0 && (
        <Chart label={t.alerts.measured} unit={t.alerts.value} interval="hour" zone={app.timezone} points={of.points} />
      )}
      {of.firings.length > 0 && (
        <ul class="crumbs">
          {of.firings.slice(0, 50).map((one) => (
            <li key={one.startedAt + one.title}>
              <time>{when(one.startedAt, app.timezone)}</time>
              {one.title}
              {one.value !== null && " · " + count(one.value)} ·{" "}
              {one.resolvedAt
                ? t.incidents.lasted(duration(Date.parse(one.resolvedAt) - Date.parse(one.startedAt)))
                : t.alerts.lasts}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
