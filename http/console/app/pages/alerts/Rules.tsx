import { useState } from "preact/hooks";
import { call, type Schema } from "../../api/client";
import { useAct, useAsk } from "../../core/ask";
import { brief } from "../../core/format";
import { useCursor } from "../../core/keys";
import { useHere } from "../../core/me";
import { t } from "../../core/texts";
import { Empty } from "../../parts/Empty";
import { Failure } from "../../parts/Failure";
import { Rule } from "./Rule";

// Rules lists the alert rules of an environment, and changes them.
export function Rules() {
  const { at, env, may } = useHere();
  const list = useAsk(JSON.stringify([at, env]), (signal) =>
    call("get", "/api/v1/apps/{org}/{app}/alerts", { path: at, query: { env, limit: 200 }, signal }),
  );
  const [chosen, choose] = useState<Schema["AlertRule"]>();
  const { busy, error, run } = useAct();
  const writes = may("metrics.write");
  const rows = list.data?.data ?? [];
  const row = useCursor(rows.length, (i) => writes && choose(rows[i]));
  const remove = (rule: Schema["AlertRule"]) =>
    confirm(t.alerts.remove(rule.name)) &&
    void run(async () => {
      await call("delete", "/api/v1/apps/{org}/{app}/alerts/{id}", { path: { ...at, id: rule.id } });
      choose(undefined);
      list.again();
    });
  const flip = (rule: Schema["AlertRule"]) =>
    void run(async () => {
      await call("post", "/api/v1/apps/{org}/{app}/alerts", {
        path: at,
        query: { env },
        body: { id: rule.id, enabled: !rule.enabled } as never,
      });
      list.again();
    });
  const looks = (rule: Schema["AlertRule"]) =>
    [rule.condition.name, rule.condition.agg, rule.condition.vital, rule.condition.level].filter(Boolean).join(", ");
  const state = (rule: Schema["AlertRule"]) =>
    rule.enabled ? (t.alerts.states[rule.state] ?? rule.state) : t.alerts.off;
  return (
    <>
      <section
        class={"card list" + (list.loading ? " busy" : "")}
        aria-label={t.pages["alerts"]}
        aria-busy={list.loading}
      >
        {error && <Failure error={error} />}
        {list.error ? (
          <Failure error={list.error} again={list.again} />
        ) : rows.length === 0 && !list.loading ? (
          <Empty title={t.alerts.empty} hint={t.alerts.emptyHint} />
        ) : (
          <table class="rows">
            <thead>
              <tr>
                <th scope="col">{t.alerts.name}</th>
                <th scope="col" class="wide">
                  {t.alerts.kind}
                </th>
                <th scope="col" class="wide">
                  {t.alerts.state}
                </th>
                <th scope="col" class="number wide">
                  {t.alerts.threshold}
                </th>
                <th scope="col" class="number wide">
                  {t.alerts.value}
                </th>
                {writes && (
                  <th class="tick">
                    <span class="hidden">{t.alerts.edit}</span>
                  </th>
                )}
              </tr>
            </thead>
            <tbody>
              {rows.map((rule, i) => (
                <tr key={rule.id} data-row={i} class={rule.id === chosen?.id ? "chosen" : i === row ? "at" : ""}>
                  <td>
                    <b>{rule.name}</b>
                    <small>
                      {t.alerts.severities[rule.severity] ?? rule.severity}
                      <span class="narrow"> · {state(rule)}</span>
                    </small>
                  </td>
                  <td class="wide">
                    {t.alerts.kinds[rule.kind] ?? rule.kind}
                    <small class="text">{looks(rule)}</small>
                  </td>
                  <td class="wide">
                    <span
                      class={
                        "level " +
                        (!rule.enabled
                          ? ""
                          : rule.state === "firing"
                            ? "error"
                            : rule.state === "ok"
                              ? "up"
                              : "warning")
                      }
                    >
                      {state(rule)}
                    </span>
                  </td>
                  <td class="number wide">
                    {rule.kind === "new_issue" ? (
                      t.hints.none
                    ) : (
                      <>
                        {t.alerts.comparators[rule.comparator]} {brief(rule.threshold)}
                      </>
                    )}
                  </td>
                  <td class="number wide">{rule.lastValue === null ? t.hints.none : brief(rule.lastValue)}</td>
                  {writes && (
                    <td class="tick acts">
                      <button
                        type="button"
                        class="small"
                        disabled={busy}
                        aria-label={t.alerts.change(rule.name)}
                        onClick={() => choose(rule)}
                      >
                        {t.alerts.edit}
                      </button>{" "}
                      <button
                        type="button"
                        class="small"
                        disabled={busy}
                        aria-label={(rule.enabled ? t.alerts.on : t.alerts.off) + ": " + rule.name}
                        onClick={() => flip(rule)}
                      >
                        {rule.enabled ? t.alerts.on : t.alerts.off}
                      </button>{" "}
                      <button
                        type="button"
                        class="small"
                        disabled={busy}
                        aria-label={t.alerts.delete + " " + rule.name}
                        onClick={() => remove(rule)}
                      >
                        ×
                      </button>
                    </td>
                  )}
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </section>
      {writes && (
        <Rule
          key={chosen?.id ?? "new"}
          rule={chosen}
          done={() => {
            choose(undefined);
            list.again();
          }}
        />
      )}
    </>
  );
}
