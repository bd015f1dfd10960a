import { share } from "../core/format";
import { t } from "../core/texts";

// Days draws a bar for each day: the uptime of a monitor.
export function Days({ of, label }: { of: { date: string; uptime: number | null }[]; label: string }) {
  const tone = (uptime: number | null) =>
    uptime === null ? "none" : uptime >= 0.999 ? "up" : uptime >= 0.95 ? "some" : "down";
  return (
    <svg class="days" viewBox={`0 0 ${of.length * 10} 32`} preserveAspectRatio="none" role="img" aria-label={label}>
      {of.map((day, i) => (
        <rect key={day.date} class={tone(day.uptime)} x={i * 10 + 1} width={8} height={32} rx={2}>
          <title>{day.date + ": " + (day.uptime === null ? t.hints.none : share(day.uptime))}</title>
        </rect>
      ))}
    </svg>
  );
}
