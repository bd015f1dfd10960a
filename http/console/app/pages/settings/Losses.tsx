import type { Schema } from "../../api/client";
import { count } from "../../core/format";
import { t } from "../../core/texts";

interface Loss {
  fate: string;
  why: string;
  items: number;
}

// lossesOf sums the missing items of a signal by reason: reasons of clients for unsent items, and codes of invalid and
// stripped items.
function lossesOf(days: Schema["UsageDay"][], signal: string): Loss[] {
  const sums = new Map<string, Loss>();
  const add = (fate: string, why: string, items: number) => {
    const key = fate + " " + why,
      sum = sums.get(key);
    if (sum) sum.items += items;
    else sums.set(key, { fate, why, items });
  };
  for (const day of days) {
    const of = day.signals[signal];
    for (const one of of?.clientSide ?? [])
      add("clientSide", one.category === "error" ? one.reason : one.reason + " (" + one.category + ")", one.items);
    for (const [code, items] of Object.entries(of?.codes ?? {})) add("invalid", code, items);
    for (const [code, items] of Object.entries(of?.stripped ?? {})) add("stripped", code, items);
  }
  return [...sums.values()].sort((a, b) => b.items - a.items || a.why.localeCompare(b.why));
}

// Losses shows why items of a signal are missing, if more is known than the outcome in the chart.
export function Losses({ days, signal }: { days: Schema["UsageDay"][]; signal: string }) {
  const losses = lossesOf(days, signal);
  if (losses.length === 0) return null;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={t.telemetry.losses}>
      <table>
        <thead>
          <tr>
            <th scope="col">{t.telemetry.why}</th>
            <th scope="col">{t.telemetry.fate}</th>
            <th scope="col">{t.telemetry.items}</th>
          </tr>
        </thead>
        <tbody>
          {losses.map((one) => (
            <tr key={one.fate + one.why}>
              <th scope="row">{one.why}</th>
              <td>{t.telemetry.reasons[one.fate]}</td>
              <td>{count(one.items)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
