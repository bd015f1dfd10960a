import { useState } from "preact/hooks";
import { call, type Schema } from "../../api/client";
import { useAct, useAsk } from "../../core/ask";
import { useHere } from "../../core/me";
import { t } from "../../core/texts";
import { Failure } from "../../parts/Failure";
import { Field } from "../../parts/Field";
import { Preview } from "./Preview";

type Condition = Partial<NonNullable<Schema["AlertBody"]["condition"]>>;
type Body = Partial<Omit<Schema["AlertBody"], "condition">> & { condition?: Condition };
const aggs = ["avg", "min", "max", "sum", "count", "last", "p50", "p95", "p99"],
  vitals = ["LCP", "INP", "CLS", "FCP", "TTFB"],
  levels = ["fatal", "error", "warning", "info", "debug"];
const windows = [1, 5, 15, 30, 60, 240, 1440];

// first is the initial state of a new rule.
const first: Body = {
  name: "",
  kind: "error_rate",
  threshold: 10,
  comparator: "gt",
  windowMinutes: 5,
  severity: "warning",
  forMinutes: 0,
  condition: {},
  channelIds: [],
};

// bodyOf returns the definition of a rule; of the condition only the members of its kind.
function bodyOf(rule: Schema["AlertRule"]): Body {
  const condition = Object.fromEntries(
    Object.entries(rule.condition).filter(([, value]) => value !== "" && value !== null && value !== undefined),
  );
  return {
    id: rule.id,
    name: rule.name,
    kind: rule.kind as Body["kind"],
    threshold: rule.threshold,
    comparator: rule.comparator as Body["comparator"],
    windowMinutes: rule.windowMinutes,
    severity: rule.severity as Body["severity"],
    forMinutes: rule.forMinutes,
    condition: condition as Condition,
    channelIds: rule.channelIds,
  };
}

// Rule makes an alert rule, or changes one.
export function Rule({ rule, done }: { rule?: Schema["AlertRule"]; done: () => void }) {
  const { at, env } = useHere();
  const [body, change] = useState<Body>(rule ? bodyOf(rule) : first);
  const metrics = useAsk(JSON.stringify([at, env, "names"]), (signal) =>
    call("get", "/api/v1/apps/{org}/{app}/metrics/names", { path: at, query: { env, limit: 200 }, signal }),
  );
  const monitors = useAsk(JSON.stringify([at, "monitors"]), (signal) =>
    call("get", "/api/v1/apps/{org}/{app}/monitors", { path: at, query: { limit: 200 }, signal }),
  );
  const channels = useAsk(JSON.stringify([at, "channels"]), (signal) =>
    call("get", "/api/v1/apps/{org}/{app}/channels", { path: at, query: { limit: 200 }, signal }),
  );
  const { busy, error, run } = useAct();
  const [tried, show] = useState<Schema["AlertPreview"]>();
  const set = (part: Partial<Body>) => change({ ...body, ...part });
  const look = (part: Condition) => set({ condition: { ...body.condition, ...part } });
  const condition: Condition = body.condition ?? {},
    counted = body.kind !== "new_issue" && body.kind !== "uptime";
  const choice = (value: string | undefined, all: string[], then: (value: string) => void) => (
    <select value={value} onChange={(event) => then(event.currentTarget.value)}>
      {all.map((one) => (
        <option key={one} value={one}>
          {one || t.alerts.allLevels}
        </option>
      ))}
    </select>
  );
  const { threshold, ...rest } = body;
  const written = (
    counted ? { ...rest, threshold } : body.kind === "uptime" ? { ...rest, threshold: 0 } : rest
  ) as never;
  const tryIt = () =>
    void run(async () => {
      show(await call("post", "/api/v1/apps/{org}/{app}/alerts/preview", { path: at, query: { env }, body: written }));
    });
  const save = async (event: Event) => {
    event.preventDefault();
    if (await run(() => call("post", "/api/v1/apps/{org}/{app}/alerts", { path: at, query: { env }, body: written }))) {
      change(first);
      done();
    }
  };
  const kind = (next: Body["kind"]) =>
    set({
      kind: next,
      condition:
        next === "metric"
          ? { name: metrics.data?.data[0]?.name ?? "", agg: "avg" }
          : next === "vital"
            ? { vital: "LCP" }
            : next === "uptime"
              ? { monitorId: monitors.data?.data[0]?.id ?? "" }
              : {},
    });
  return (
    <form class="card form" onSubmit={(event) => void save(event)}>
      <h2>{rule ? t.alerts.change(rule.name) : t.alerts.add}</h2>
      <div class="fields">
        <Field label={t.alerts.name}>
          <input
            required
            maxLength={100}
            value={body.name}
            onInput={(event) => set({ name: event.currentTarget.value })}
          />
        </Field>
        <Field label={t.alerts.kind}>
          <select value={body.kind} onChange={(event) => kind(event.currentTarget.value as Body["kind"])}>
            {Object.entries(t.alerts.kinds).map(([key, text]) => (
              <option key={key} value={key}>
                {text}
              </option>
            ))}
          </select>
        </Field>
        {body.kind === "metric" && (
          <>
            <Field label={t.alerts.metric}>
              {choice(condition.name, metrics.data?.data.map((one) => one.name) ?? [], (name) => look({ name }))}
            </Field>
            <Field label={t.alerts.agg}>{choice(condition.agg, aggs, (agg) => look({ agg }))}</Field>
          </>
        )}
        {body.kind === "uptime" && (
          <Field label={t.alerts.monitor}>
            <select value={condition.monitorId} onChange={(event) => look({ monitorId: event.currentTarget.value })}>
              {monitors.data?.data.map((one) => (
                <option key={one.id} value={one.id}>
                  {one.name}
                </option>
              ))}
            </select>
          </Field>
        )}
        {body.kind === "vital" && (
          <Field label={t.alerts.vital}>{choice(condition.vital, vitals, (vital) => look({ vital }))}</Field>
        )}
        {body.kind === "event_volume" && (
          <Field label={t.alerts.event}>
            <input value={condition.name ?? ""} onInput={(event) => look({ name: event.currentTarget.value })} />
          </Field>
        )}
        {body.kind === "error_rate" && (
          <Field label={t.alerts.level}>
            {choice(condition.level ?? "", ["", ...levels], (level) => look(level ? { level } : { level: undefined }))}
          </Field>
        )}
        {counted && (
          <>
            <Field label={t.alerts.comparator}>
              <select
                value={body.comparator}
                onChange={(event) => set({ comparator: event.currentTarget.value as Body["comparator"] })}
              >
                {Object.entries(t.alerts.comparators).map(([key, text]) => (
                  <option key={key} value={key}>
                    {text}
                  </option>
                ))}
              </select>
            </Field>
            <Field label={t.alerts.threshold}>
              <input
                type="number"
                step="any"
                required
                value={body.threshold}
                onInput={(event) => set({ threshold: Number(event.currentTarget.value) })}
              />
            </Field>
            <Field label={t.alerts.window}>
              <select
                value={body.windowMinutes}
                onChange={(event) => set({ windowMinutes: Number(event.currentTarget.value) })}
              >
                {[...new Set([...windows, body.windowMinutes ?? 5])].map((n) => (
                  <option key={n} value={n}>
                    {t.alerts.minutes(n)}
                  </option>
                ))}
              </select>
            </Field>
            <Field label={t.alerts.lasting}>
              <input
                type="number"
                min={0}
                value={body.forMinutes}
                onInput={(event) => set({ forMinutes: Number(event.currentTarget.value) })}
              />
            </Field>
          </>
        )}
        <Field label={t.alerts.severity}>
          <select
            value={body.severity}
            onChange={(event) => set({ severity: event.currentTarget.value as Body["severity"] })}
          >
            {Object.entries(t.alerts.severities).map(([key, text]) => (
              <option key={key} value={key}>
                {text}
              </option>
            ))}
          </select>
        </Field>
      </div>
      {(channels.data?.data.length ?? 0) > 0 && (
        <fieldset class="field">
          <legend>{t.alerts.tell}</legend>
          {channels.data?.data.map((one) => (
            <label key={one.id} class="check">
              <input
                type="checkbox"
                checked={body.channelIds?.includes(one.id)}
                onChange={(event) =>
                  set({
                    channelIds: event.currentTarget.checked
                      ? [...(body.channelIds ?? []), one.id]
                      : body.channelIds?.filter((id) => id !== one.id),
                  })
                }
              />{" "}
              {one.name}
            </label>
          ))}
        </fieldset>
      )}
      {error && <Failure error={error} />}
      {tried && <Preview of={tried} />}
      <div class="bulk">
        <button class="primary" disabled={busy}>
          {rule ? t.alerts.save : t.alerts.add}
        </button>
        <button type="button" disabled={busy} onClick={tryIt}>
          {t.alerts.tryIt}
        </button>
        {rule && (
          <button type="button" onClick={done}>
            {t.hints.cancel}
          </button>
        )}
      </div>
    </form>
  );
}
