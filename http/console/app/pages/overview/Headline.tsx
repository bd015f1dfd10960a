import type { Schema } from "../../api/client";
import { brief, count, duration, share } from "../../core/format";
import { t } from "../../core/texts";
import { Delta } from "../../parts/Delta";

const shown = ["visitors", "pageviews", "sessions", "bounceRate", "avgDurationMs", "conversions"] as const;
const charted = ["visitors", "pageviews", "sessions", "conversions"];

function text(name: (typeof shown)[number], value: number): string {
  return name === "bounceRate" ? share(value) : name === "avgDurationMs" ? duration(value) : brief(value);
}

// Headline shows the six numbers of a range and their changes. A number with a time series selects it in the chart.
export function Headline({
  data,
  metric,
  href,
}: {
  data?: Schema["Overview"];
  metric: string;
  href: (name: string) => string;
}) {
  return (
    <ul class="metrics">
      {shown.map((name) => {
        const inside = (
          <>
            <span class="label">{t.overview[name]}</span>
            <span
              class="value"
              title={data && name !== "bounceRate" && name !== "avgDurationMs" ? count(data[name]) : undefined}
            >
              {data ? text(name, data[name]) : <i class="hold" aria-hidden="true" />}
            </span>
            <span class="change" title={data && t.overview.previous + ": " + text(name, data.comparison[name])}>
              {data ? <Delta value={data.comparison.delta[name]} upIsGood={name !== "bounceRate"} /> : " "}
            </span>
          </>
        );
        return (
          <li key={name}>
            {charted.includes(name) ? (
              <a class="metric" href={href(name)} aria-current={name === metric ? "true" : undefined}>
                {inside}
              </a>
            ) : (
              <div class="metric">{inside}</div>
            )}
          </li>
        );
      })}
    </ul>
  );
}
