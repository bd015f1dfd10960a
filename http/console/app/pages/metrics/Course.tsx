import { useState } from "preact/hooks";
import { call, type Schema } from "../../api/client";
import { useAsk } from "../../core/ask";
import { useHere } from "../../core/me";
import { t } from "../../core/texts";
import { Chart } from "../../parts/Chart";
import { Failure } from "../../parts/Failure";

const aggs = ["avg", "sum", "count", "min", "max", "p50", "p75", "p90", "p95", "p99"] as const;
type Agg = (typeof aggs)[number];
type Range = "1h" | "6h" | "24h" | "7d" | "30d" | "90d";

const precise = (n: number | null) =>
  n === null ? t.hints.none : n.toLocaleString("en", { maximumSignificantDigits: 6 });

// Course draws a metric over a range, and divides it by a label.
export function Course({ metric }: { metric: Schema["MetricName"] }) {
  const { at, env, app } = useHere();
  const [agg, choose] = useState<Agg>(metric.kind === "counter" ? "sum" : "avg"),
    [range, reach] = useState<Range>("24h"),
    [groupBy, divide] = useState("");
  const query = { env, name: metric.name, agg, range, groupBy: groupBy || undefined };
  const { data, error, loading, again } = useAsk(JSON.stringify([at, query]), (signal) =>
    call("get", "/api/v1/apps/{org}/{app}/metrics/series", { path: at, query, signal }),
  );
  return (
    <div class={loading ? "busy" : ""} aria-busy={loading}>
      <div class="scope">
        <h2 class="text">{metric.name}</h2>
        <span class="zone quiet">{t.frame.zone(app.timezone)}</span>
        <select aria-label={t.metrics.agg} value={agg} onChange={(event) => choose(event.currentTarget.value as Agg)}>
          {aggs.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
        <select aria-label={t.metrics.groupBy} value={groupBy} onChange={(event) => divide(event.currentTarget.value)}>
          <option value="">
            {t.metrics.groupBy}: {t.metrics.whole}
          </option>
          {metric.labelKeys.map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
        <select
          aria-label={t.frame.range}
          value={range}
          onChange={(event) => reach(event.currentTarget.value as Range)}
        >
          {Object.entries(t.metrics.ranges).map(([key, text]) => (
            <option key={key} value={key}>
              {text}
            </option>
          ))}
        </select>
      </div>
      {error ? (
        <Failure error={error} again={again} />
      ) : data ? (
        <>
          <dl class="sums">
            {(["avg", "min", "max", "sum", "count"] as const).map((one) => (
              <div key={one}>
                <dt>{t.metrics.summary[one]}</dt>
                <dd>{precise(data.summary[one])}</dd>
              </div>
            ))}
          </dl>
          <Chart
            label={metric.name}
            unit={metric.unit && metric.unit !== "1" ? metric.unit : agg}
            interval={range === "30d" || range === "90d" ? "day" : "hour"}
            zone={app.timezone}
            points={data.points}
          />
          {groupBy && data.groups && data.groups.length > 0 && (
            <table class="rows">
              <thead>
                <tr>
                  <th scope="col">{groupBy}</th>
                  <th scope="col" class="number">
                    {agg}
                  </th>
                </tr>
              </thead>
              <tbody>
                {data.groups.map((one) => (
                  <tr key={one.label}>
                    <td>{one.label || t.overview.unknown}</td>
                    <td class="number">{precise(one.value)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          )}
        </>
      ) : (
        <div class="holdplot" role="status">
          <span class="hidden">{t.hints.loading}</span>
        </div>
      )}
    </div>
  );
}
