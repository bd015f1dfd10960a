import { useState } from "preact/hooks";
import { call, type Schema } from "../../api/client";
import { useAct } from "../../core/ask";
import { count, day } from "../../core/format";
import { useHere } from "../../core/me";
import { t } from "../../core/texts";
import { Failure } from "../../parts/Failure";
import { Field } from "../../parts/Field";

const number = (text: string) => (text.trim() === "" ? null : Number(text));

// fit counts the items of a signal that a policy decides about: the received items without repetitions, and without
// items that no policy accepts.
function fit(of: Schema["SignalUsage"] | undefined): number {
  if (!of) return 0;
  const { invalid, badKey, tooOld, clientSide, excluded, deadLetter, givenUp } = of.dropped;
  return of.received - of.duplicates - invalid - badKey - tooOld - clientSide - excluded - deadLetter - givenUp;
}

// Policy changes the ingest policy of an environment, and shows its effect on the items of yesterday.
export function Policy({ data, changed }: { data: Schema["TelemetryAnswer"]; changed: () => void }) {
  const { at, env, may } = useHere();
  const { events, errors, metrics, overBudget, alerts } = data.policy;
  const [on, flip] = useState({ events: events.enabled, errors: errors.enabled, metrics: metrics.enabled });
  const [rate, setRate] = useState(String(events.sampleRate * 100)),
    [bots, dropBots] = useState(events.dropBots),
    [over, setOver] = useState(overBudget),
    [silent, setSilent] = useState(alerts.silentSignals);
  const [budgets, set] = useState({
    events: String(events.monthlyBudget ?? ""),
    errors: String(errors.monthlyBudget ?? ""),
    metrics: String(metrics.monthlyBudget ?? ""),
  });
  const [series, setSeries] = useState(String(metrics.maxSeries)),
    [deny, setDeny] = useState(metrics.labelDenylist.join("\n")),
    [perIssue, setPerIssue] = useState(String(errors.perIssuePerMinute));
  const { busy, error, run } = useAct();
  const writes = may("apps.write");
  const save = async (event: Event) => {
    event.preventDefault();
    const policy = {
      events: {
        enabled: on.events,
        sampleRate: Number(rate) / 100,
        dropBots: bots,
        monthlyBudget: number(budgets.events),
      },
      errors: { enabled: on.errors, perIssuePerMinute: Number(perIssue), monthlyBudget: number(budgets.errors) },
      metrics: {
        enabled: on.metrics,
        maxSeries: Number(series),
        labelDenylist: deny.split(/\s+/).filter(Boolean),
        monthlyBudget: number(budgets.metrics),
      },
      overBudget: over,
      alerts: { silentSignals: silent },
    };
    if (
      await run(() =>
        call("post", "/api/v1/apps/{org}/{app}/telemetry", {
          path: at,
          query: { env },
          body: { expectedRevision: data.revision, policy } as never,
        }),
      )
    )
      changed();
  };
  const yesterday = data.usage[data.usage.length - 2] ?? data.usage[data.usage.length - 1];
  const of = (signal: string) => yesterday?.signals[signal];
  const came = (signal: string) => count((of(signal)?.received ?? 0) - (of(signal)?.duplicates ?? 0));
  const limited = Number(perIssue) > 0 ? (of("errors")?.dropped.rateLimited ?? 0) : 0;
  const keeps = {
    events: on.events
      ? Math.round((fit(of("events")) - (bots ? (of("events")?.dropped.bot ?? 0) : 0)) * (Number(rate) / 100))
      : 0,
    errors: on.errors ? fit(of("errors")) - limited : 0,
    metricPoints: on.metrics ? fit(of("metricPoints")) : 0,
  };
  return (
    <form class="card form" onSubmit={(event) => void save(event)}>
      <h2>{t.telemetry.policy}</h2>
      {!writes && <p class="quiet">{t.settings.readOnly}</p>}
      <fieldset class="field" disabled={!writes}>
        <legend>{t.telemetry.takes}</legend>
        {(["events", "errors", "metrics"] as const).map((one) => (
          <label key={one} class="check">
            <input
              type="checkbox"
              checked={on[one]}
              onChange={(event) => flip({ ...on, [one]: event.currentTarget.checked })}
            />{" "}
            {t.telemetry.switches[one]}
          </label>
        ))}
        <label class="check">
          <input type="checkbox" checked={bots} onChange={(event) => dropBots(event.currentTarget.checked)} />{" "}
          {t.telemetry.dropBots}
        </label>
        <label class="check">
          <input type="checkbox" checked={silent} onChange={(event) => setSilent(event.currentTarget.checked)} />{" "}
          {t.telemetry.tellSilent}
        </label>
      </fieldset>
      <div class="fields">
        <Field label={t.telemetry.rate} hint={t.telemetry.rateHint}>
          <input
            type="number"
            min={0}
            max={100}
            step="any"
            required
            disabled={!writes}
            value={rate}
            onInput={(event) => setRate(event.currentTarget.value)}
          />
        </Field>
        <Field label={t.telemetry.perIssue} hint={t.telemetry.perIssueHint}>
          <input
            type="number"
            min={0}
            required
            disabled={!writes}
            value={perIssue}
            onInput={(event) => setPerIssue(event.currentTarget.value)}
          />
        </Field>
        <Field label={t.telemetry.series}>
          <input
            type="number"
            min={1}
            required
            disabled={!writes}
            value={series}
            onInput={(event) => setSeries(event.currentTarget.value)}
          />
        </Field>
        {(["events", "errors", "metrics"] as const).map((one) => (
          <Field key={one} label={t.telemetry.monthly(t.telemetry.switches[one] ?? "")} hint={t.telemetry.noBudget}>
            <input
              type="number"
              min={0}
              disabled={!writes}
              value={budgets[one]}
              onInput={(event) => set({ ...budgets, [one]: event.currentTarget.value })}
            />
          </Field>
        ))}
        <Field label={t.telemetry.beyond}>
          <select
            disabled={!writes}
            value={over}
            onChange={(event) => setOver(event.currentTarget.value as typeof over)}
          >
            {Object.entries(t.telemetry.overs).map(([key, text]) => (
              <option key={key} value={key}>
                {text}
              </option>
            ))}
          </select>
        </Field>
        <Field label={t.telemetry.deny} hint={t.telemetry.denyHint}>
          <textarea rows={2} disabled={!writes} value={deny} onInput={(event) => setDeny(event.currentTarget.value)} />
        </Field>
      </div>
      {yesterday && (
        <p class="said" role="status">
          {t.telemetry.yesterday(
            day(yesterday.date),
            came("events"),
            count(keeps.events),
            came("errors"),
            count(keeps.errors),
            came("metricPoints"),
            count(keeps.metricPoints),
          )}{" "}
          {bots && !events.dropBots && t.telemetry.programs}
        </p>
      )}
      {error && <Failure error={error} />}
      {writes && (
        <button class="primary" disabled={busy}>
          {t.hints.save}
        </button>
      )}
    </form>
  );
}
