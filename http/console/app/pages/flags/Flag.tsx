import { useState } from "preact/hooks";
import { call } from "../../api/client";
import { useAct, useAsk } from "../../core/ask";
import { count, share, when } from "../../core/format";
import { useKeys } from "../../core/keys";
import { useHere } from "../../core/me";
import { go, leave, to } from "../../core/place";
import { t } from "../../core/texts";
import { Crumb } from "../../parts/Crumb";
import { Empty } from "../../parts/Empty";
import { Failure } from "../../parts/Failure";
import { Field } from "../../parts/Field";
import { Definition } from "./Definition";

// Flag is one feature flag: its definition, its results, a preview for a person, and its changes.
export function Flag({ name, tab }: { name: string; tab: string }) {
  const { at, place, may } = useHere();
  const path = { ...at, key: name };
  const flag = useAsk(JSON.stringify([at, name]), (signal) =>
    call("get", "/api/v1/apps/{org}/{app}/flags/{key}", { path, signal }),
  );
  const { busy, error, run } = useAct();
  useKeys({ u: () => go(to(place, "flags")) });
  if (flag.error)
    return (
      <section class="card">
        <Failure error={flag.error} again={flag.again} />
      </section>
    );
  if (!flag.data)
    return (
      <p class="quiet" role="status" aria-busy="true">
        {t.hints.loading}
      </p>
    );
  const shown = tab in t.flags.tabs ? tab : "definition",
    writes = may("flags.write");
  const archive = () =>
    confirm(t.flags.confirm(name)) &&
    void run(async () => {
      await call("delete", "/api/v1/apps/{org}/{app}/flags/{key}", { path });
      leave(place, to(place, "flags"));
    });
  return (
    <>
      <Crumb page="flags" />
      <div class="scope">
        <h1>{flag.data.name}</h1>
        <code class="grow">{name}</code>
        {flag.data.archived ? (
          <span class="badge">{t.flags.archived}</span>
        ) : (
          writes && (
            <button type="button" disabled={busy} onClick={archive}>
              {t.flags.archive}
            </button>
          )
        )}
      </div>
      {error && <Failure error={error} />}
      <nav class="tabs large" aria-label={flag.data.name}>
        {Object.entries(t.flags.tabs).map(([key, text]) => (
          <a
            key={key}
            href={to(place, "flags", name + (key === "definition" ? "" : "/" + key))}
            aria-current={key === shown ? "page" : undefined}
          >
            {text}
          </a>
        ))}
      </nav>
      {shown === "results" ? (
        <Results name={name} />
      ) : shown === "history" ? (
        <History name={name} />
      ) : shown === "preview" ? (
        <Try name={name} />
      ) : writes ? (
        <Definition key={flag.data.version} flag={flag.data} done={flag.again} />
      ) : (
        <pre class="card raw" tabIndex={0}>
          {JSON.stringify(
            { rules: flag.data.rules, environments: flag.data.environments, variants: flag.data.variants },
            null,
            2,
          )}
        </pre>
      )}
    </>
  );
}

function Results({ name }: { name: string }) {
  const { at, env } = useHere();
  const { data, error, loading, again } = useAsk(JSON.stringify([at, name, env, "results"]), (signal) =>
    call("get", "/api/v1/apps/{org}/{app}/flags/{key}/results", {
      path: { ...at, key: name },
      query: { env, range: "30d" } as never,
      signal,
    }),
  );
  if (error)
    return (
      <section class="card">
        <Failure error={error} again={again} />
      </section>
    );
  if (data?.exposures.length === 0)
    return (
      <section class="card">
        <Empty title={t.flags.noResults} hint={t.flags.noResultsHint} />
      </section>
    );
  return (
    <div class={loading ? "busy" : ""} aria-busy={loading}>
      <section class="card list" aria-labelledby="exposed">
        <div class="head pad">
          <h2 id="exposed">{t.flags.shown}</h2>
        </div>
        <table class="rows">
          <thead>
            <tr>
              <th scope="col">{t.flags.variants}</th>
              <th scope="col" class="number">
                {t.flags.exposed}
              </th>
              <th scope="col" class="number">
                {t.telemetry.signals["flagEvaluations"]}
              </th>
            </tr>
          </thead>
          <tbody>
            {data?.exposures.map((one) => (
              <tr key={one.variant}>
                <td>
                  <b>{one.variant}</b>
                </td>
                <td class="number">{count(one.exposed)}</td>
                <td class="number">{count(one.evaluations)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {data?.goals.map((goal) => (
        <section key={goal.goalId} class="card list" aria-label={goal.name}>
          <div class="head pad">
            <h2>{goal.name}</h2>
            <span class="quiet">{goal.winner ? t.flags.winner(goal.winner) : t.flags.why[goal.why ?? ""]}</span>
          </div>
          <table class="rows">
            <thead>
              <tr>
                <th scope="col">{t.flags.variants}</th>
                <th scope="col" class="number">
                  {t.flags.conversions}
                </th>
                <th scope="col" class="number">
                  {t.flags.rate}
                </th>
                <th scope="col" class="wide">
                  {t.flags.interval}
                </th>
              </tr>
            </thead>
            <tbody>
              {goal.variants.map((one) => (
                <tr key={one.variant}>
                  <td>
                    <b>{one.variant}</b>
                  </td>
                  <td class="number">{count(one.conversions)}</td>
                  <td class="number">{one.rate === null ? t.hints.none : share(one.rate)}</td>
                  <td class="wide">
                    {share(one.low)} – {share(one.high)}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      ))}
    </div>
  );
}

function History({ name }: { name: string }) {
  const { at, app } = useHere();
  const { data, error, loading, again } = useAsk(JSON.stringify([at, name, "history"]), (signal) =>
    call("get", "/api/v1/apps/{org}/{app}/flags/{key}/history", {
      path: { ...at, key: name },
      query: { limit: 100 } as never,
      signal,
    }),
  );
  if (error)
    return (
      <section class="card">
        <Failure error={error} again={again} />
      </section>
    );
  return (
    <section class="card list" aria-label={t.flags.tabs["history"]} aria-busy={loading}>
      {!data && (
        <p class="quiet pad" role="status">
          {t.hints.loading}
        </p>
      )}
      <ul class="decisions">
        {data?.data.map((one) => (
          <li key={one.version}>
            <p>
              <b>{t.flags.version(one.version)}</b> · {one.action} · {one.by.name}{" "}
              <span class="quiet">{when(one.at, app.timezone)}</span>
            </p>
            <details class="numbers">
              <summary>{t.flags.tabs["definition"]}</summary>
              <pre class="raw" tabIndex={0}>
                {JSON.stringify(one.after, null, 2)}
              </pre>
            </details>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Try({ name }: { name: string }) {
  const { at, env } = useHere();
  const [who, write] = useState(""),
    [context, tell] = useState("{}"),
    [answer, show] = useState("");
  const { busy, error, run } = useAct();
  const ask = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      const got = await call("post", "/api/v1/apps/{org}/{app}/flags/{key}/preview", {
        path: { ...at, key: name },
        query: { env } as never,
        body: { distinctId: who, context: JSON.parse(context) } as never,
      });
      show(t.flags.answer(got.variant ?? (got.enabled ? t.flags.on : t.flags.off), got.reason));
    });
  };
  return (
    <form class="card form" onSubmit={ask}>
      <Field label={t.flags.who}>
        <input required value={who} onInput={(event) => write(event.currentTarget.value)} />
      </Field>
      <Field label={t.flags.context}>
        <textarea rows={4} spellcheck={false} value={context} onInput={(event) => tell(event.currentTarget.value)} />
      </Field>
      {error && <Failure error={error} />}
      <p class="said" role="status">
        {answer}
      </p>
      <button class="primary" disabled={busy}>
        {t.flags.ask}
      </button>
    </form>
  );
}
