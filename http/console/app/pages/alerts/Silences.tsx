import { useState } from "preact/hooks";
import { call, type Schema } from "../../api/client";
import { useAct, useAsk } from "../../core/ask";
import { instant, local, when } from "../../core/format";
import { useCursor } from "../../core/keys";
import { useHere } from "../../core/me";
import { t } from "../../core/texts";
import { Empty } from "../../parts/Empty";
import { Failure } from "../../parts/Failure";
import { Field } from "../../parts/Field";

const hour = 3_600_000;

// Silences are the times in which alert rules send no notices: maintenance, for example.
export function Silences() {
  const { at, env, app, may } = useHere();
  const list = useAsk("silences" + JSON.stringify(at), (signal) =>
    call("get", "/api/v1/apps/{org}/{app}/silences", { path: at, query: { limit: 200 }, signal }),
  );
  const rules = useAsk(JSON.stringify([at, env]), (signal) =>
    call("get", "/api/v1/apps/{org}/{app}/alerts", { path: at, query: { env, limit: 200 }, signal }),
  );
  const soon = (after: number) => local(new Date(Date.now() + after).toISOString(), app.timezone);
  const [name, setName] = useState(""),
    [from, setFrom] = useState(soon(0)),
    [until, setUntil] = useState(soon(hour)),
    [of, setOf] = useState("env");
  const adding = useAct(),
    ending = useAct();
  const writes = may("metrics.write");
  const add = async (event: Event) => {
    event.preventDefault();
    const body = {
      name,
      startsAt: instant(from, app.timezone),
      endsAt: instant(until, app.timezone),
      ...(of === "env" ? { environment: env } : of === "" ? {} : { ruleId: of }),
    };
    if (!(await adding.run(() => call("post", "/api/v1/apps/{org}/{app}/silences", { path: at, body: body as never }))))
      return;
    setName("");
    list.again();
  };
  const end = (one: Schema["Silence"]) =>
    confirm(t.silences.confirm(one.name)) &&
    void ending.run(async () => {
      await call("delete", "/api/v1/apps/{org}/{app}/silences/{id}", { path: { ...at, id: one.id } });
      list.again();
    });
  const rows = list.data?.data ?? [];
  const row = useCursor(rows.length, () => {});
  const scope = (one: Schema["Silence"]) =>
    rules.data?.data.find((rule) => rule.id === one.ruleId)?.name ?? one.environment ?? t.silences.all;
  return (
    <>
      <section
        class={"card list" + (list.loading ? " busy" : "")}
        aria-label={t.alerts.tabs["silences"]}
        aria-busy={list.loading}
      >
        {ending.error && <Failure error={ending.error} />}
        {list.error ? (
          <Failure error={list.error} again={list.again} />
        ) : rows.length === 0 && !list.loading ? (
          <Empty title={t.silences.empty} hint={t.silences.emptyHint} />
        ) : (
          <table class="rows">
            <thead>
              <tr>
                <th scope="col">{t.alerts.name}</th>
                <th scope="col">{t.alerts.state}</th>
                <th scope="col" class="wide">
                  {t.silences.from}
                </th>
                <th scope="col" class="wide">
                  {t.silences.until}
                </th>
                {writes && (
                  <th class="tick">
                    <span class="hidden">{t.silences.end}</span>
                  </th>
                )}
              </tr>
            </thead>
            <tbody>
              {rows.map((one, i) => (
                <tr key={one.id} data-row={i} class={i === row ? "at" : ""}>
                  <td>
                    <b>{one.name}</b>
                    <small class="text">{scope(one)}</small>
                  </td>
                  <td>
                    <span class={"level " + (one.state === "active" ? "warning" : "")}>
                      {t.silences.states[one.state]}
                    </span>
                  </td>
                  <td class="wide time">{when(one.startsAt, app.timezone)}</td>
                  <td class="wide time">{when(one.endsAt, app.timezone)}</td>
                  {writes && (
                    <td class="tick">
                      {one.state !== "ended" && (
                        <button
                          type="button"
                          class="small"
                          disabled={ending.busy}
                          aria-label={t.silences.end + " " + one.name}
                          onClick={() => end(one)}
                        >
                          {t.silences.end}
                        </button>
                      )}
                    </td>
                  )}
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </section>
      {writes && (
        <form class="card form" onSubmit={(event) => void add(event)}>
          <h2>{t.silences.add}</h2>
          <div class="fields">
            <Field label={t.alerts.name}>
              <input required maxLength={100} value={name} onInput={(event) => setName(event.currentTarget.value)} />
            </Field>
            <Field label={t.silences.of}>
              <select value={of} onChange={(event) => setOf(event.currentTarget.value)}>
                <option value="env">{t.silences.env(env)}</option>
                <option value="">{t.silences.all}</option>
                {rules.data?.data.map((rule) => (
                  <option key={rule.id} value={rule.id}>
                    {rule.name}
                  </option>
                ))}
              </select>
            </Field>
            <Field label={t.silences.from}>
              <input
                type="datetime-local"
                required
                value={from}
                onInput={(event) => setFrom(event.currentTarget.value)}
              />
            </Field>
            <Field label={t.silences.until}>
              <input
                type="datetime-local"
                required
                value={until}
                onInput={(event) => setUntil(event.currentTarget.value)}
              />
            </Field>
          </div>
          {adding.error && <Failure error={adding.error} />}
          <button class="primary" disabled={adding.busy}>
            {t.silences.add}
          </button>
        </form>
      )}
    </>
  );
}
