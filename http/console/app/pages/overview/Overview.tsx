import { call } from "../../api/client";
import { useAsk } from "../../core/ask";
import { useFollow } from "../../core/live";
import { useHere } from "../../core/me";
import { set } from "../../core/place";
import { t } from "../../core/texts";
import { Chart } from "../../parts/Chart";
import { Failure } from "../../parts/Failure";
import { Headline } from "./Headline";
import { Marks } from "./Marks";
import { Panel } from "./Panel";

const panels: [name: string, dimensions: string[]][] = [
  ["pages", ["path", "entry_path", "exit_path"]], ["sources", ["source", "referrer_domain", "medium", "utm_campaign"]],
  ["places", ["country", "region", "city"]], ["devices", ["device", "browser", "os"]], ["events", ["event"]],
];
const metrics = ["visitors", "pageviews", "sessions", "conversions"] as const;
type Metric = (typeof metrics)[number];

// Overview has the headline numbers, their course, and what they are made of. A click on a row filters all.
export function Overview({ live }: { live?: string }) {
  const { at, env, range, filters, place, app } = useHere();
  const query = { env, range, filter: filters };
  const key = JSON.stringify([at, query]);
  const asked = place.query.get("metric") as Metric | null;
  const metric: Metric = asked && metrics.includes(asked) ? asked : "visitors";
  const overview = useAsk(key, (signal) => call("get", "/api/v1/apps/{org}/{app}/analytics/overview", { path: at, query, signal }));
  const series = useAsk(key + metric, (signal) => call("get", "/api/v1/apps/{org}/{app}/analytics/timeseries", { path: at, query: { ...query, metric }, signal }));
  const marks = useAsk(JSON.stringify([at, env, range, "marks"]), (signal) => call("get", "/api/v1/apps/{org}/{app}/annotations", { path: at, query: { env, range, limit: 200 }, signal }));
  useFollow(live, overview.loading || series.loading, () => { overview.again(); series.again(); });
  return (
    <>
      <section class={"card overview" + (overview.loading ? " busy" : "")} aria-label={t.pages["overview"]} aria-busy={overview.loading}>
        {overview.error ? <Failure error={overview.error} again={overview.again} /> : <Headline data={overview.data} metric={metric} href={(name) => (name === "visitors" ? set(place, "metric", "") : set(place, "metric", name))} />}
        <div class="course">
          {series.error ? <Failure error={series.error} again={series.again} />
            : series.data ? <Chart label={t.overview.chart(t.overview[series.data.metric as Metric])} unit={t.overview[series.data.metric as Metric]} interval={series.data.interval} zone={app.timezone} points={series.data.points} marks={marks.data?.data} />
            : <div class="holdplot" role="status"><span class="hidden">{t.hints.loading}</span></div>}
          {overview.data?.capped && <p class="quiet">{t.overview.capped}</p>}
          <Marks of={marks} />
        </div>
      </section>
      <div class="panels">{panels.map(([name, dimensions]) => <Panel key={name} name={name} dimensions={dimensions} />)}</div>
    </>
  );
}
