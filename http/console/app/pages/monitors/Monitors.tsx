import { useState } from "preact/hooks";
import { call, type Schema } from "../../api/client";
import { useAct, useAsk } from "../../core/ask";
import { ago, share, when } from "../../core/format";
import { useCursor } from "../../core/keys";
import { useHere } from "../../core/me";
import { go, to } from "../../core/place";
import { t } from "../../core/texts";
import { Empty } from "../../parts/Empty";
import { Failure } from "../../parts/Failure";
import { Field } from "../../parts/Field";

// Monitors are addresses that are checked at intervals.
export function Monitors() {
  const { at, env, app, may, place } = useHere();
  const list = useAsk(JSON.stringify(at), (signal) =>
    call("get", "/api/v1/apps/{org}/{app}/monitors", { path: at, query: { limit: 200 }, signal }),
  );
  const [name, setName] = useState(""),
    [url, setUrl] = useState("https://"),
    [expected, setExpected] = useState("200"),
    [every, setEvery] = useState("60");
  const adding = useAct(),
    removing = useAct();
  const writes = may("metrics.write");
  const add = async (event: Event) => {
    event.preventDefault();
    const done = await adding.run(() =>
      call("post", "/api/v1/apps/{org}/{app}/monitors", {
        path: at,
        query: { env },
        body: { name, url, expectedStatus: Number(expected), intervalSeconds: Number(every) } as never,
      }),
    );
    if (!done) return;
    setName("");
    setUrl("https://");
    list.again();
  };
  const remove = (one: Schema["Monitor"]) =>
    confirm(t.monitors.remove(one.name)) &&
    void removing.run(async () => {
      await call("delete", "/api/v1/apps/{org}/{app}/monitors/{id}", { path: { ...at, id: one.id } });
      list.again();
    });
  const rows = list.data?.data ?? [];
  const row = useCursor(rows.length, (i) => go(to(place, "monitors", rows[i]!.id)));
  const status = (one: Schema["Monitor"]) =>
    !one.enabled
      ? t.monitors.off
      : one.lastStatus === null
        ? t.monitors.pending
        : (t.monitors.statuses[one.lastStatus] ?? one.lastStatus);
  return (
    <>
      <div class="scope">
        <h1>{t.pages["monitors"]}</h1>
        <span class="zone quiet">{t.frame.zone(app.timezone)}</span>
      </div>
      <section
        class={"card list" + (list.loading ? " busy" : "")}
        aria-label={t.pages["monitors"]}
        aria-busy={list.loading}
      >
        {removing.error && <Failure error={removing.error} />}
        {list.error ? (
          <Failure error={list.error} again={list.again} />
        ) : list.data?.data.length === 0 ? (
          <Empty title={t.monitors.empty} hint={t.monitors.emptyHint} />
        ) : (
          <table class="rows">
            <thead>
              <tr>
                <th scope="col">{t.monitors.name}</th>
                <th scope="col">{t.monitors.status}</th>
                <th scope="col" class="number">
                  {t.monitors.uptime}
                </th>
                <th scope="col" class="number wide">
                  {t.monitors.latency}
                </th>
                <th scope="col" class="wide">
                  {t.monitors.checked}
                </th>
                {writes && (
                  <th class="tick">
                    <span class="hidden">{t.monitors.delete}</span>
                  </th>
                )}
              </tr>
            </thead>
            <tbody>
              {rows.map((one, i) => (
                <tr key={one.id} data-row={i} class={i === row ? "at" : ""}>
                  <td class="title">
                    <a href={to(place, "monitors", one.id)}>{one.name}</a>
                    <small class="text">{one.url}</small>
                  </td>
                  <td>
                    <span
                      class={"level " + (one.lastStatus === "up" ? "up" : one.lastStatus === "down" ? "error" : "")}
                    >
                      {status(one)}
                    </span>
                    {one.lastError && one.lastStatus === "down" && <small class="text">{one.lastError}</small>}
                  </td>
                  <td class="number">{one.uptime30d === null ? t.hints.none : share(one.uptime30d)}</td>
                  <td class="number wide">{one.lastLatencyMs === null ? t.hints.none : one.lastLatencyMs + " ms"}</td>
                  <td class="wide time" title={one.lastCheckedAt ? when(one.lastCheckedAt, app.timezone) : undefined}>
                    {one.lastCheckedAt ? ago(one.lastCheckedAt) : t.hints.none}
                  </td>
                  {writes && (
                    <td class="tick">
                      <button
                        type="button"
                        class="small"
                        aria-label={t.monitors.delete + " " + one.name}
                        onClick={() => remove(one)}
                      >
                        {t.monitors.delete}
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
        <form class="card form" onSubmit={(event) => void add(event)}>
          <h2>{t.monitors.add}</h2>
          <div class="fields">
            <Field label={t.monitors.name}>
              <input required maxLength={100} value={name} onInput={(event) => setName(event.currentTarget.value)} />
            </Field>
            <Field label={t.monitors.url} hint={t.monitors.urlHint}>
              <input type="url" required value={url} onInput={(event) => setUrl(event.currentTarget.value)} />
            </Field>
            <Field label={t.monitors.expected}>
              <input
                type="number"
                min={100}
                max={599}
                required
                value={expected}
                onInput={(event) => setExpected(event.currentTarget.value)}
              />
            </Field>
            <Field label={t.monitors.every}>
              <select value={every} onChange={(event) => setEvery(event.currentTarget.value)}>
                {[30, 60, 300, 900, 3600].map((n) => (
                  <option key={n} value={n}>
                    {t.monitors.seconds(n)}
                  </option>
                ))}
              </select>
            </Field>
          </div>
          {adding.error && <Failure error={adding.error} />}
          <button class="primary" disabled={adding.busy}>
            {t.monitors.add}
          </button>
        </form>
      )}
    </>
  );
}
