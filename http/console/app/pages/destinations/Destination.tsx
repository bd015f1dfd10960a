import { useState } from "preact/hooks";
import { call, type Schema } from "../../api/client";
import { useAct, useAsk } from "../../core/ask";
import { count, when } from "../../core/format";
import { useKeys } from "../../core/keys";
import { useHere } from "../../core/me";
import { go, leave, to } from "../../core/place";
import { t } from "../../core/texts";
import { Crumb } from "../../parts/Crumb";
import { Empty } from "../../parts/Empty";
import { Failure } from "../../parts/Failure";
import { Secret } from "../../parts/Secret";
import { Credential } from "./Credential";
import { Deliveries } from "./Deliveries";
import { health } from "./Destinations";
import { draftOf, Fields } from "./Fields";
import { textOf, type Kind } from "./kinds";

// Destination is one destination: its state, its deliveries, and its settings.
export function Destination({ id, tab }: { id: string; tab: string }) {
  const { at, place, app, may } = useHere();
  const list = useAsk("destination" + JSON.stringify([at, id]), (signal) =>
    call("get", "/api/v1/apps/{org}/{app}/destinations", { path: at, query: { limit: 200 }, signal }),
  );
  const { busy, error, run } = useAct();
  const [said, say] = useState(""),
    [turn, next] = useState(0);
  useKeys({ u: () => go(to(place, "destinations")) });
  if (list.error)
    return (
      <section class="card">
        <Failure error={list.error} again={list.again} />
      </section>
    );
  if (!list.data)
    return (
      <p class="quiet" role="status" aria-busy="true">
        {t.hints.loading}
      </p>
    );
  const one = list.data.data.find((row) => row.id === id);
  const writes = may("destinations.write"),
    [text, mark] = one ? health(one) : ["", ""];
  const crumb = <Crumb page="destinations" />;
  if (!one)
    return (
      <>
        {crumb}
        <section class="card">
          <Empty title={t.destinations.gone} />
        </section>
      </>
    );
  const test = () =>
    void run(async () => {
      say("");
      const answer = await call("post", "/api/v1/apps/{org}/{app}/destinations/test/{id}", { path: { ...at, id } });
      say(answer.ok ? t.destinations.tested : t.destinations.refused(answer.error ?? ""));
      list.again();
      next(turn + 1);
    });
  const remove = () =>
    confirm(t.destinations.confirm(one.name)) &&
    void run(async () => {
      await call("delete", "/console/api/v1/apps/{org}/{app}/destinations/{id}", { path: { ...at, id } });
      leave(place, to(place, "destinations"));
    });
  const settings = writes && tab === "settings";
  return (
    <>
      {crumb}
      <section class="card issue" aria-labelledby="destination">
        <div class="top">
          <div>
            <h1 id="destination">{one.name}</h1>
            <p class="quiet text">
              {one.kindLabel}
              {one.config.url && ", " + one.config.url}
            </p>
          </div>
          {writes && (
            <div class="bulk">
              <button type="button" disabled={busy} onClick={test}>
                {t.destinations.test}
              </button>
              <button type="button" disabled={busy} onClick={remove}>
                {t.destinations.delete}
              </button>
            </div>
          )}
        </div>
        <p role="status" class="said">
          {said}
        </p>
        {error && <Failure error={error} />}
        <dl class="sums">
          <div>
            <dt>{t.destinations.health}</dt>
            <dd>
              <span class={"level " + mark}>{text}</span>
            </dd>
          </div>
          <div>
            <dt>{t.destinations.waiting}</dt>
            <dd>{count(one.waiting)}</dd>
          </div>
          <div>
            <dt>{t.destinations.last}</dt>
            <dd>{one.lastDispatchAt ? when(one.lastDispatchAt, app.timezone) : t.hints.none}</dd>
          </div>
        </dl>
        {one.lastError && <p class="bad message">{one.lastError}</p>}
      </section>
      <nav class="tabs large" aria-label={one.name}>
        {Object.entries(t.destinations.tabs)
          .filter(([name]) => writes || name !== "settings")
          .map(([name, label]) => (
            <a
              key={name}
              href={to(place, "destinations", name === "settings" ? id + "/settings" : id)}
              aria-current={(name === "settings") === settings ? "page" : undefined}
            >
              {label}
            </a>
          ))}
      </nav>
      {settings ? (
        <>
          <Edit key={one.updatedAt} one={one} changed={list.again} />
          <Replace one={one} changed={list.again} />
        </>
      ) : (
        <Deliveries key={turn} id={id} changed={list.again} />
      )}
    </>
  );
}

// Edit changes the settings of a destination.
function Edit({ one, changed }: { one: Schema["Destination"]; changed: () => void }) {
  const { at } = useHere();
  const [draft, change] = useState(draftOf(one));
  const { busy, error, run } = useAct();
  const save = async (event: Event) => {
    event.preventDefault();
    if (
      await run(() =>
        call("patch", "/console/api/v1/apps/{org}/{app}/destinations/{id}", {
          path: { ...at, id: one.id },
          body: draft,
        }),
      )
    )
      changed();
  };
  return (
    <form class="card form" onSubmit={(event) => void save(event)}>
      <h2>{t.destinations.tabs["settings"]}</h2>
      <Fields kind={one.kind as Kind} draft={draft} change={change} />
      {error && <Failure error={error} />}
      <button class="primary" disabled={busy}>
        {t.hints.save}
      </button>
    </form>
  );
}

// Replace replaces the credential of a destination; a webhook without one gets a new secret.
function Replace({ one, changed }: { one: Schema["Destination"]; changed: () => void }) {
  const { at, app } = useHere();
  const kind = one.kind as Kind;
  const [parts, enter] = useState<Record<string, string>>({}),
    [kept, keep] = useState<Schema["KeptCredential"]>();
  const { busy, error, run } = useAct();
  const replace = async (event: Event) => {
    event.preventDefault();
    keep(undefined);
    if (
      !(await run(async () =>
        keep(
          await call("put", "/console/api/v1/apps/{org}/{app}/destinations/{id}/credential", {
            path: { ...at, id: one.id },
            body: { credential: textOf(kind, parts) },
          }),
        ),
      ))
    )
      return;
    enter({});
    changed();
  };
  return (
    <form class="card form" onSubmit={(event) => void replace(event)}>
      <h2>{t.destinations.credential}</h2>
      <p class="quiet">
        {kind === "webhook"
          ? t.destinations.rotation
          : one.hasCredential
            ? t.destinations.hasCredential
            : t.destinations.noCredential}
      </p>
      <div class="fields">
        <Credential kind={kind} parts={parts} change={enter} />
      </div>
      {error && <Failure error={error} />}
      {kept?.secret && <Secret text={kept.secret} hint={t.destinations.once} />}
      {kept && (
        <p role="status" class="said">
          {t.hints.saved} {kept.rotatesUntil && t.destinations.both(when(kept.rotatesUntil, app.timezone))}
        </p>
      )}
      <button disabled={busy}>{t.destinations.replace}</button>
    </form>
  );
}
