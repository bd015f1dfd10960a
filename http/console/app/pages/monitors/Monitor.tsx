import { useState } from "preact/hooks";
import { call } from "../../api/client";
import { useAct, useAsk } from "../../core/ask";
import { count, day, duration, share, when } from "../../core/format";
import { useKeys } from "../../core/keys";
import { useHere } from "../../core/me";
import { usePages } from "../../core/pages";
import { go, to } from "../../core/place";
import { t } from "../../core/texts";
import { Chart } from "../../parts/Chart";
import { Crumb } from "../../parts/Crumb";
import { Days } from "../../parts/Days";
import { Empty } from "../../parts/Empty";
import { Facts } from "../../parts/Facts";
import { Failure } from "../../parts/Failure";
import { More } from "../../parts/More";

type Range = "1h" | "6h" | "24h" | "7d" | "30d" | "90d";

// Monitor is one checked address: an overview of 30 days, the durations of its answers, and the last checks.
export function Monitor({ id }: { id: string }) {
  const { at, place, app, may } = useHere();
  const path = { ...at, id };
  const [range, reach] = useState<Range>("24h");
  const monitor = useAsk(id, (signal) => call("get", "/api/v1/apps/{org}/{app}/monitors/{id}", { path, signal }));
  const query = { range, limit: 50 };
  const { rows, first, cursor, more, again } = usePages(JSON.stringify([id, query]), (after, signal) =>
    call("get", "/api/v1/apps/{org}/{app}/monitors/{id}/checks", { path, query: { ...query, cursor: after }, signal }),
  );
  const { busy, error, run } = useAct();
  useKeys({ u: () => go(to(place, "monitors")) });
  const now = () =>
    void run(async () => {
      await call("post", "/api/v1/apps/{org}/{app}/monitors/{id}/check", { path });
      monitor.again();
      again();
    });
  if (monitor.error)
    return (
      <section class="card">
        <Failure error={monitor.error} again={monitor.again} />
      </section>
    );
  const one = monitor.data;
  if (!one)
    return (
      <p class="quiet" role="status" aria-busy="true">
        {t.hints.loading}
      </p>
    );
  const days = one.days.slice(-30);
  return (
    <>
      <Crumb page="monitors" />
      <section class="card issue" aria-labelledby="monitor">
        <div class="top">
          <div>
            <h1 id="monitor">{one.name}</h1>
            <p class="quiet text">
              {one.method} {one.url}
            </p>
          </div>
          <div class="bulk">
            {may("metrics.write") && (
              <button type="button" disabled={busy} onClick={now}>
                {t.monitors.now}
              </button>
            )}
          </div>
        </div>
        {error && <Failure error={error} />}
        <dl class="sums">
          <div>
            <dt>{t.monitors.status}</dt>
            <dd>
              <span class={"level " + (one.lastStatus === "up" ? "up" : one.lastStatus === "down" ? "error" : "")}>
                {one.lastStatus === null ? t.monitors.pending : (t.monitors.statuses[one.lastStatus] ?? one.lastStatus)}
              </span>
            </dd>
          </div>
          <div>
            <dt>{t.monitors.uptime}</dt>
            <dd>{one.uptime30d === null ? t.hints.none : share(one.uptime30d)}</dd>
          </div>
          <div>
            <dt>{t.monitors.latency}</dt>
            <dd>{one.lastLatencyMs === null ? t.hints.none : one.lastLatencyMs + " ms"}</dd>
          </div>
          <div>
            <dt>{t.monitors.checks}</dt>
            <dd>{count(one.checks30d)}</dd>
          </div>
        </dl>
        {one.lastError && <p class="bad message">{one.lastError}</p>}
        <h2 class="gap">{t.monitors.days}</h2>
        <Days
          of={days}
          label={days
            .map((one) => day(one.date) + " " + (one.uptime === null ? t.hints.none : share(one.uptime)))
            .join(", ")}
        />
        <p class="quiet ends">
          {days.length > 0 && (
            <>
              <span>{day(days[0]!.date)}</span>
              <span>{day(days[days.length - 1]!.date)}</span>
            </>
          )}
        </p>
      </section>
      <section class="card course pad" aria-label={t.monitors.latency} aria-busy={first.loading}>
        <div class="scope">
          <h2>{t.monitors.latency}</h2>
          <span class="zone quiet">{t.frame.zone(app.timezone)}</span>
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
        {first.error ? (
          <Failure error={first.error} again={first.again} />
        ) : !first.data ? (
          <div class="holdplot" role="status">
            <span class="hidden">{t.hints.loading}</span>
          </div>
        ) : (
          <Chart
            label={t.monitors.latency}
            unit="ms"
            interval={range === "30d" || range === "90d" ? "day" : "hour"}
            zone={app.timezone}
            points={first.data.series.map((one) => ({ t: one.t, value: one.avgLatencyMs }))}
          />
        )}
      </section>
      <section class="card list" aria-label={t.monitors.last}>
        <div class="head pad">
          <h2>{t.monitors.last}</h2>
        </div>
        {rows.length === 0 && !first.loading ? (
          <Empty title={t.monitors.noChecks} hint={t.monitors.noChecksHint} />
        ) : (
          <table class="rows">
            <thead>
              <tr>
                <th scope="col">{t.monitors.checked}</th>
                <th scope="col">{t.monitors.status}</th>
                <th scope="col" class="number">
                  {t.monitors.latency}
                </th>
                <th scope="col" class="wide">
                  {t.monitors.answer}
                </th>
              </tr>
            </thead>
            <tbody>
              {rows.map((check) => (
                <tr key={check.at}>
                  <td class="time">{when(check.at, app.timezone)}</td>
                  <td>
                    <span class={"level " + (check.status === "up" ? "up" : "error")}>
                      {t.monitors.statuses[check.status] ?? check.status}
                    </span>
                  </td>
                  <td class="number">{check.latencyMs} ms</td>
                  <td class="wide text">{check.error ?? check.statusCode ?? t.hints.none}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
        {cursor && <More more={more} />}
      </section>
      <section class="card pad" aria-label={t.monitors.settings}>
        <h2>{t.monitors.settings}</h2>
        <Facts of={t.monitors.facts(one, duration)} />
      </section>
    </>
  );
}
