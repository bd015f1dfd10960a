import { useState } from "preact/hooks";
import { call, type Schema } from "../../api/client";
import { useAsk } from "../../core/ask";
import { count, when } from "../../core/format";
import { useHere } from "../../core/me";
import { t } from "../../core/texts";
import { Failure } from "../../parts/Failure";

const spans = [1, 7, 30] as const;

// Cardinality shows the labels that make many series, and the properties with many values.
export function Cardinality() {
  const { at, env, app } = useHere();
  const [days, choose] = useState<number>(7);
  const asked = useAsk(JSON.stringify([at, env, days, "cardinality"]), (signal) =>
    call("get", "/api/v1/apps/{org}/{app}/telemetry/cardinality", { path: at, query: { env, days }, signal }),
  );
  const data = asked.data;
  return (
    <section
      class={"card list" + (asked.loading ? " busy" : "")}
      aria-labelledby="cardinality"
      aria-busy={asked.loading}
    >
      <div class="head pad">
        <h2 id="cardinality">{t.cardinality.title}</h2>
        <div class="tabs" role="group" aria-labelledby="cardinality">
          {spans.map((one) => (
            <button key={one} type="button" aria-pressed={one === days} onClick={() => choose(one)}>
              {t.cardinality.days(one)}
            </button>
          ))}
        </div>
      </div>
      {asked.error ? (
        <Failure error={asked.error} again={asked.again} />
      ) : !data ? (
        <p class="quiet pad" role="status">
          {t.hints.loading}
        </p>
      ) : (
        <>
          <p class="quiet pad">
            {t.cardinality.lead(when(data.since, app.timezone))} {data.truncated && t.cardinality.truncated}
          </p>
          <Metrics of={data} />
          <Properties of={data} />
        </>
      )}
    </section>
  );
}

// Metrics lists metrics by their series, each with the labels that make them.
function Metrics({ of }: { of: Schema["CardinalityAnswer"] }) {
  if (of.metrics === null) return <p class="quiet pad">{t.cardinality.noMetrics}</p>;
  if (of.metrics.length === 0) return <p class="quiet pad">{t.cardinality.emptyMetrics}</p>;
  return (
    <table class="rows">
      <caption class="hidden">{t.cardinality.metrics}</caption>
      <thead>
        <tr>
          <th scope="col">{t.cardinality.metric}</th>
          <th scope="col">{t.cardinality.labels}</th>
          <th scope="col" class="number">
            {t.cardinality.series(count(of.series ?? 0))}
          </th>
        </tr>
      </thead>
      <tbody>
        {of.metrics.map((one) => (
          <tr key={one.name}>
            <td class="text" title={one.name}>
              {one.name}
            </td>
            <td>
              {one.topLabels.length === 0
                ? t.hints.none
                : one.topLabels.map((label) => (
                    <div key={label.key} class="text" title={label.sampleValues.join(", ")}>
                      {t.cardinality.label(label.key, count(label.distinctValues))}{" "}
                      <small class="text">{label.sampleValues.join(", ")}</small>
                    </div>
                  ))}
            </td>
            <td class="number">{count(one.series)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

// Properties lists properties of events by their values.
function Properties({ of }: { of: Schema["CardinalityAnswer"] }) {
  if (of.properties === null) return <p class="quiet pad">{t.cardinality.noProperties}</p>;
  if (of.properties.length === 0) return <p class="quiet pad">{t.cardinality.emptyProperties}</p>;
  return (
    <>
      <p class="quiet pad">{t.cardinality.looked(count(of.events ?? 0), count(of.propertyKeys ?? 0))}</p>
      <table class="rows">
        <caption class="hidden">{t.cardinality.properties}</caption>
        <thead>
          <tr>
            <th scope="col">{t.cardinality.property}</th>
            <th scope="col">{t.cardinality.event}</th>
            <th scope="col" class="wide">
              {t.cardinality.types}
            </th>
            <th scope="col" class="number">
              {t.cardinality.values}
            </th>
          </tr>
        </thead>
        <tbody>
          {of.properties.map((one) => (
            <tr key={one.event + " " + one.key}>
              <td class="text" title={one.key}>
                {one.key}
              </td>
              <td class="text" title={one.event}>
                {one.event}
              </td>
              <td class="wide text">{one.types.join(", ")}</td>
              <td class="number">{count(one.distinctValues)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}
