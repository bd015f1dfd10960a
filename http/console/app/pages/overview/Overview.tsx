import { useAnswer } from "../../core/ask";
import { useFollow } from "../../core/live";
import { useHere } from "../../core/me";
import { set } from "../../core/place";
import { t } from "../../core/texts";
import { Chart } from "../../parts/Chart";
import { Failure } from "../../parts/Failure";
import { Headline } from "./Headline";
import { Marks } from "./Marks";
import { Panel } from "./Panel";
import { course, dimensions, headline, marks, metricAt, type Metric } from "./questions";

// Overview has the headline numbers, their chart, and their breakdowns. A click on a row filters all.
export function Overview({ live }: { live?: string }) {
  const here = useHere(),
    { place, app } = here;
  const metric = metricAt(place);
  const overview = useAnswer(headline(here)),
    series = useAnswer(course(here, metric)),
    noted = useAnswer(marks(here));
  useFollow(live, overview.loading || series.loading, () => {
    overview.again();
    series.again();
  });
  return (
    <>
      <section
        class={"card overview" + (overview.loading ? " busy" : "")}
        aria-label={t.pages["overview"]}
        aria-busy={overview.loading}
      >
        {overview.error ? (
          <Failure error={overview.error} again={overview.again} />
        ) : (
          <Headline
            data={overview.data}
            metric={metric}
            href={(name) => (name === "visitors" ? set(place, "metric", "") : set(place, "metric", name))}
          />
        )}
        <div class="course">
          {series.error ? (
            <Failure error={series.error} again={series.again} />
          ) : series.data ? (
            <Chart
              label={t.overview.chart(t.overview[series.data.metric as Metric])}
              unit={t.overview[series.data.metric as Metric]}
              interval={series.data.interval}
              zone={app.timezone}
              points={series.data.points}
              marks={noted.data?.data}
            />
          ) : (
            <div class="holdplot" role="status">
              <span class="hidden">{t.hints.loading}</span>
            </div>
          )}
          {overview.data?.capped && <p class="quiet">{t.overview.capped}</p>}
          <Marks of={noted} />
        </div>
      </section>
      <div class="panels">
        {Object.entries(dimensions).map(([name, some]) => (
          <Panel key={name} name={name} dimensions={some} />
        ))}
      </div>
    </>
  );
}
