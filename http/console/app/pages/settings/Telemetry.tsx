import { useState } from "preact/hooks";
import { call, type Schema } from "../../api/client";
import { useAsk } from "../../core/ask";
import { ago, bytes, count, duration, share, when } from "../../core/format";
import { useHere } from "../../core/me";
import { t } from "../../core/texts";
import { Failure } from "../../parts/Failure";
import { Stack } from "../../parts/Stack";
import { Cardinality } from "./Cardinality";
import { Fairness } from "./Fairness";
import { Losses } from "./Losses";
import { Policy } from "./Policy";

type Signal = "events" | "errors" | "metricPoints" | "flagEvaluations";
const signals: Signal[] = ["events", "errors", "metricPoints", "flagEvaluations"];

// partsOf divides the items of a day by outcome.
function partsOf(day: Schema["UsageDay"], signal: Signal): Record<string, number> {
  const of = day.signals[signal];
  if (!of) return {};
  return { stored: of.stored, duplicates: of.duplicates, ...of.dropped } as Record<string, number>;
}

// Telemetry shows the received items and their outcomes, and the ingest policy of an environment.
export function Telemetry() {
  const { at, env, app } = useHere();
  const asked = useAsk(JSON.stringify([at, env, "telemetry"]), (signal) =>
    call("get", "/api/v1/apps/{org}/{app}/telemetry", { path: at, query: { env }, signal }),
  );
  const [signal, choose] = useState<Signal>("events");
  if (asked.error)
    return (
      <section class="card">
        <Failure error={asked.error} again={asked.again} />
      </section>
    );
  const data = asked.data;
  if (!data)
    return (
      <p class="quiet" role="status" aria-busy="true">
        {t.hints.loading}
      </p>
    );
  return (
    <>
      <section class={"card pad" + (asked.loading ? " busy" : "")} aria-labelledby="usage" aria-busy={asked.loading}>
        <div class="head">
          <h2 id="usage">{t.telemetry.usage}</h2>
          <div class="tabs" role="group" aria-labelledby="usage">
            {signals.map((one) => (
              <button key={one} type="button" aria-pressed={one === signal} onClick={() => choose(one)}>
                {t.telemetry.signals[one]}
              </button>
            ))}
          </div>
        </div>
        <Stack
          days={data.usage.map((day) => ({ name: day.date, parts: partsOf(day, signal) }))}
          names={t.telemetry.reasons}
          label={t.telemetry.usage + ", " + t.telemetry.signals[signal]}
        />
        <Losses days={data.usage} signal={signal} />
        <p class="quiet">
          {data.ingest.lastEventAt ? t.telemetry.last(ago(data.ingest.lastEventAt)) : t.telemetry.nothing}{" "}
          {data.ingest.lagMs > 0 && t.telemetry.lag(duration(data.ingest.lagMs))}
        </p>
        {data.silentSignals.map((one) => (
          <p key={one.signal} class="strong bad">
            {t.telemetry.silent(
              t.telemetry.signals[one.signal] ?? one.signal,
              ago(one.lastAt),
              duration(one.usualPauseMs),
            )}
          </p>
        ))}
        {typeof data.fairness.boundBytesPerSecond === "number" && (
          <p class="strong">
            {t.telemetry.bound(bytes(data.fairness.bytesPerSecond), bytes(data.fairness.boundBytesPerSecond))}
          </p>
        )}
        {data.sampled && (
          <p class="strong">{t.telemetry.sampled(share(data.sampled.rate), when(data.sampled.since, app.timezone))}</p>
        )}
      </section>
      {data.budgets.length > 0 && (
        <section class="card list" aria-labelledby="budgets">
          <div class="head pad">
            <h2 id="budgets">{t.telemetry.budgets}</h2>
          </div>
          <table class="rows">
            <thead>
              <tr>
                <th scope="col">{t.telemetry.signal}</th>
                <th scope="col" class="number">
                  {t.telemetry.used}
                </th>
                <th scope="col" class="number">
                  {t.telemetry.budget}
                </th>
                <th scope="col" class="wide">
                  {t.telemetry.usedUp}
                </th>
              </tr>
            </thead>
            <tbody>
              {data.budgets.map((one) => (
                <tr key={one.signal}>
                  <td>
                    <b>{t.telemetry.signals[one.signal]}</b>
                  </td>
                  <td class={"number" + (one.overSince ? " bad" : "")}>{count(one.used)}</td>
                  <td class="number">{count(one.budget)}</td>
                  <td class="wide time">
                    {one.overSince
                      ? t.telemetry.over(when(one.overSince, app.timezone))
                      : one.usedUpAt
                        ? when(one.usedUpAt, app.timezone)
                        : t.telemetry.lasts}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
      <Fairness of={data.fairness} />
      <Cardinality />
      <Policy key={data.environment + data.revision} data={data} changed={asked.again} />
    </>
  );
}
