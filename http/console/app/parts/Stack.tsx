import { count } from "../core/format";
import { t } from "../core/texts";

// Stack draws a bar for each day, divided by outcome, with its numbers in a table below.
export function Stack({
  days,
  names,
  label,
}: {
  days: { name: string; parts: Record<string, number> }[];
  names: Record<string, string>;
  label: string;
}) {
  const sum = (parts: Record<string, number>) => Object.values(parts).reduce((all, n) => all + n, 0);
  const most = Math.max(1, ...days.map((day) => sum(day.parts)));
  const used = Object.keys(names).filter((name) => days.some((day) => (day.parts[name] ?? 0) > 0));
  const width = 100 / Math.max(1, days.length);
  return (
    <div class="stacked">
      <svg
        viewBox="0 0 100 40"
        preserveAspectRatio="none"
        role="img"
        aria-label={label + ". " + t.telemetry.tableBelow}
      >
        {days.map((day, i) => {
          let top = 40;
          return used.map((name, n) => {
            const tall = ((day.parts[name] ?? 0) / most) * 40;
            top -= tall;
            return (
              tall > 0 && (
                <rect
                  key={day.name + name}
                  class={"hue" + (n % 8)}
                  x={i * width + width * 0.1}
                  y={top}
                  width={width * 0.8}
                  height={tall}
                >
                  <title>{day.name + ", " + names[name] + ": " + count(day.parts[name] ?? 0)}</title>
                </rect>
              )
            );
          });
        })}
      </svg>
      <ul class="legend">
        {used.map((name, n) => (
          <li key={name}>
            <i class={"hue" + (n % 8)} aria-hidden="true" />
            {names[name]}
          </li>
        ))}
      </ul>
      <details class="numbers">
        <summary>{t.overview.table}</summary>
        <div class="scroll" tabIndex={0} role="region" aria-label={t.overview.table}>
          <table>
            <thead>
              <tr>
                <th scope="col">{t.overview.time}</th>
                {used.map((name) => (
                  <th key={name} scope="col">
                    {names[name]}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {days.map((day) => (
                <tr key={day.name}>
                  <th scope="row">{day.name}</th>
                  {used.map((name) => (
                    <td key={name}>{count(day.parts[name] ?? 0)}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </details>
    </div>
  );
}
