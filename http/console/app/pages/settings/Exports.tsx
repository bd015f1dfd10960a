import { useEffect, useState } from "preact/hooks";
import { call } from "../../api/client";
import { useAct } from "../../core/ask";
import { count, instant, local, share, when } from "../../core/format";
import { useHere } from "../../core/me";
import { usePages } from "../../core/pages";
import { t } from "../../core/texts";
import { Empty } from "../../parts/Empty";
import { Failure } from "../../parts/Failure";
import { Field } from "../../parts/Field";
import { More } from "../../parts/More";

const pause = 2_000,
  week = 7 * 86_400_000;

// Exports are files of events or people, made in the background.
export function Exports() {
  const { may } = useHere();
  return may("events.read") ? (
    <List />
  ) : (
    <section class="card">
      <Empty title={t.failures.forbidden} />
    </section>
  );
}

function List() {
  const { at, env, app, may } = useHere();
  const { rows, first, cursor, more, again } = usePages("exports" + JSON.stringify(at), (after, signal) =>
    call("get", "/api/v1/apps/{org}/{app}/exports", { path: at, query: { limit: 50, cursor: after }, signal }),
  );
  const day = (ms: number) => local(new Date(Date.now() - ms).toISOString(), app.timezone);
  const [kind, choose] = useState<"events" | "people">("events"),
    [format, as] = useState("csv"),
    [from, setFrom] = useState(day(week)),
    [to, setTo] = useState(day(0));
  const { busy, error, run } = useAct();
  const working = rows.some((one) => one.status === "queued" || one.status === "running");
  useEffect(() => {
    if (!working) return;
    const timer = setInterval(again, pause);
    return () => clearInterval(timer);
  }, [working]);
  const make = async (event: Event) => {
    event.preventDefault();
    const body = {
      kind,
      format,
      ...(kind === "events" ? { from: instant(from, app.timezone), to: instant(to, app.timezone) } : {}),
    };
    if (
      await run(() =>
        call("post", "/api/v1/apps/{org}/{app}/exports", { path: at, query: { env }, body: body as never }),
      )
    )
      again();
  };
  // A link is valid for an hour, so each download requests its own.
  const download = (id: string) =>
    void run(async () => {
      const { url } = await call("get", "/api/v1/apps/{org}/{app}/exports/{id}", { path: { ...at, id } });
      if (url) location.assign(url);
    });
  return (
    <section class="card list" aria-labelledby="exports">
      <div class="head pad">
        <h2 id="exports">{t.settings.tabs["exports"]}</h2>
      </div>
      {first.error ? (
        <Failure error={first.error} again={first.again} />
      ) : rows.length === 0 && !first.loading ? (
        <Empty title={t.exports.empty} hint={t.exports.emptyHint} />
      ) : (
        <table class="rows">
          <thead>
            <tr>
              <th scope="col">{t.exports.file}</th>
              <th scope="col">{t.alerts.state}</th>
              <th scope="col" class="number wide">
                {t.exports.rows}
              </th>
              <th scope="col" class="wide">
                {t.settings.expires}
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map((one) => (
              <tr key={one.id}>
                <td>
                  <b>
                    {t.exports.kinds[one.kind]}, {one.format}
                  </b>
                  <small class="text">
                    {when(one.createdAt, app.timezone)} · {one.environment}
                    {one.masked && " · " + t.exports.masked}
                  </small>
                </td>
                <td>
                  {one.status === "ready" ? (
                    <button type="button" class="small" disabled={busy} onClick={() => download(one.id)}>
                      {t.exports.download}
                    </button>
                  ) : one.status === "running" ? (
                    share(one.progress)
                  ) : (
                    (t.exports.states[one.status] ?? one.status)
                  )}
                </td>
                <td class="number wide">{count(one.rows)}</td>
                <td class="wide time">{one.expiresAt ? when(one.expiresAt, app.timezone) : t.hints.none}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {cursor && <More more={more} />}
      {may("events.read") && (
        <form class="form" onSubmit={(event) => void make(event)}>
          <div class="fields">
            <Field label={t.exports.what}>
              <select value={kind} onChange={(event) => choose(event.currentTarget.value as typeof kind)}>
                {Object.entries(t.exports.kinds).map(([key, text]) => (
                  <option key={key} value={key}>
                    {text}
                  </option>
                ))}
              </select>
            </Field>
            <Field label={t.exports.format}>
              <select value={format} onChange={(event) => as(event.currentTarget.value)}>
                {["csv", "ndjson", "parquet"].map((one) => (
                  <option key={one}>{one}</option>
                ))}
              </select>
            </Field>
            {kind === "events" && (
              <>
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
                    value={to}
                    onInput={(event) => setTo(event.currentTarget.value)}
                  />
                </Field>
              </>
            )}
          </div>
          {error && <Failure error={error} />}
          <button class="primary" disabled={busy}>
            {t.exports.make}
          </button>
        </form>
      )}
    </section>
  );
}
