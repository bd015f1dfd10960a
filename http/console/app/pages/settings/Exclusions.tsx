import { useState } from "preact/hooks";
import { call, type Schema } from "../../api/client";
import { useAct, useAsk } from "../../core/ask";
import { useHere } from "../../core/me";
import { t } from "../../core/texts";
import { Empty } from "../../parts/Empty";
import { Failure } from "../../parts/Failure";
import { Field } from "../../parts/Field";

type Kind = Schema["Exclusion"]["kind"];

// Exclusions are the rules that exclude the team's own traffic.
export function Exclusions() {
  const { at, may } = useHere();
  const list = useAsk("exclusions" + JSON.stringify(at), (signal) =>
    call("get", "/api/v1/apps/{org}/{app}/exclusions", { path: at, query: { limit: 200 }, signal }),
  );
  const [kind, choose] = useState<Kind>("address"),
    [value, setValue] = useState(""),
    [label, setLabel] = useState("");
  const { busy, error, run } = useAct();
  const writes = may("apps.write"),
    rows = list.data?.data ?? [];
  // The whole list is replaced; unchanged rules are sent by their ids, since addresses are never shown again.
  const put = (items: { id?: string; kind?: Kind; value?: string; label?: string }[]) =>
    run(async () => {
      await call("put", "/api/v1/apps/{org}/{app}/exclusions", { path: at, body: { items } as never });
      list.again();
    });
  const kept = (but = "") => rows.filter((one) => one.id !== but).map((one) => ({ id: one.id }));
  const add = async (event: Event) => {
    event.preventDefault();
    if (!(await put([...kept(), { kind, value, ...(label ? { label } : {}) }]))) return;
    setValue("");
    setLabel("");
  };
  const shown = (one: Schema["Exclusion"]) =>
    one.value ?? t.exclusions.network(one.version ?? 4, one.prefixLength ?? 32);
  return (
    <section class={"card list" + (list.loading ? " busy" : "")} aria-labelledby="exclusions" aria-busy={list.loading}>
      <div class="head pad">
        <h2 id="exclusions">{t.settings.tabs["exclusions"]}</h2>
      </div>
      {error && <Failure error={error} />}
      {list.error ? (
        <Failure error={list.error} again={list.again} />
      ) : rows.length === 0 && !list.loading ? (
        <Empty title={t.exclusions.empty} hint={t.exclusions.emptyHint} />
      ) : (
        <table class="rows">
          <thead>
            <tr>
              <th scope="col">{t.exclusions.rule}</th>
              <th scope="col" class="wide">
                {t.exclusions.kind}
              </th>
              {writes && (
                <th class="tick">
                  <span class="hidden">{t.settings.remove}</span>
                </th>
              )}
            </tr>
          </thead>
          <tbody>
            {rows.map((one) => (
              <tr key={one.id}>
                <td class="text">
                  <b>{one.label ?? shown(one)}</b>
                  <small class="text">{one.label && shown(one)}</small>
                </td>
                <td class="wide">{t.exclusions.kinds[one.kind]}</td>
                {writes && (
                  <td class="tick">
                    <button
                      type="button"
                      class="small"
                      disabled={busy}
                      aria-label={t.settings.remove + " " + (one.label ?? shown(one))}
                      onClick={() => void put(kept(one.id))}
                    >
                      {t.settings.remove}
                    </button>
                  </td>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {writes && (
        <form class="form" onSubmit={(event) => void add(event)}>
          <div class="fields">
            <Field label={t.exclusions.kind}>
              <select value={kind} onChange={(event) => choose(event.currentTarget.value as Kind)}>
                {Object.entries(t.exclusions.kinds).map(([key, text]) => (
                  <option key={key} value={key}>
                    {text}
                  </option>
                ))}
              </select>
            </Field>
            <Field label={t.exclusions.value} hint={t.exclusions.hints[kind]}>
              <input required value={value} onInput={(event) => setValue(event.currentTarget.value)} />
            </Field>
            <Field label={t.settings.label}>
              <input maxLength={100} value={label} onInput={(event) => setLabel(event.currentTarget.value)} />
            </Field>
          </div>
          <button class="primary" disabled={busy}>
            {t.exclusions.add}
          </button>
        </form>
      )}
    </section>
  );
}
