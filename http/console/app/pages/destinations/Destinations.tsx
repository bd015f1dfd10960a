import { useState } from "preact/hooks";
import { call, type Schema } from "../../api/client";
import { useAct, useAsk } from "../../core/ask";
import { ago, count, when } from "../../core/format";
import { useCursor } from "../../core/keys";
import { useHere } from "../../core/me";
import { go, to } from "../../core/place";
import { t } from "../../core/texts";
import { Empty } from "../../parts/Empty";
import { Failure } from "../../parts/Failure";
import { Field } from "../../parts/Field";
import { Secret } from "../../parts/Secret";
import { Credential } from "./Credential";
import { Fields, type Draft } from "./Fields";
import { kinds, textOf, type Kind } from "./kinds";
import { noRule } from "./Mapping";

// health returns the state of a destination in words, and the class of its mark.
export function health(one: Schema["Destination"]): [text: string, mark: string] {
  if (!one.enabled) return [t.destinations.off, ""];
  if (!one.hasCredential) return [t.destinations.noCredential, "warning"];
  if (one.lastError) return [t.destinations.failing, "error"];
  return one.lastDispatchAt ? [t.destinations.well, "up"] : [t.destinations.fresh, ""];
}

const nothing: Draft = { name: "", environments: ["production"], mapping: [noRule], config: {} };

// Destinations lists the destinations of conversions with their states.
export function Destinations() {
  const { at, app, may, place } = useHere();
  const list = useAsk("destinations" + JSON.stringify(at), (signal) =>
    call("get", "/api/v1/apps/{org}/{app}/destinations", { path: at, query: { limit: 200 }, signal }),
  );
  const [kind, choose] = useState<Kind>("webhook"),
    [draft, change] = useState(nothing),
    [parts, enter] = useState<Record<string, string>>({}),
    [secret, keep] = useState("");
  const adding = useAct(),
    acting = useAct();
  const writes = may("destinations.write");
  const rows = list.data?.data ?? [];
  const row = useCursor(rows.length, (i) => go(to(place, "destinations", rows[i]!.id)));
  const add = async (event: Event) => {
    event.preventDefault();
    keep("");
    const made = await adding.run(async () =>
      keep(
        (
          await call("post", "/console/api/v1/apps/{org}/{app}/destinations", {
            path: at,
            body: { kind, ...draft, credential: textOf(kind, parts) },
          })
        ).secret ?? "",
      ),
    );
    if (!made) return;
    change(nothing);
    enter({});
    list.again();
  };
  const turn = (one: Schema["Destination"]) =>
    void acting.run(async () => {
      await call("patch", "/console/api/v1/apps/{org}/{app}/destinations/{id}", {
        path: { ...at, id: one.id },
        body: { enabled: !one.enabled },
      });
      list.again();
    });
  return (
    <>
      <div class="scope">
        <h1>{t.pages["destinations"]}</h1>
        <span class="zone quiet">{t.frame.zone(app.timezone)}</span>
      </div>
      <section
        class={"card list" + (list.loading ? " busy" : "")}
        aria-label={t.pages["destinations"]}
        aria-busy={list.loading}
      >
        {acting.error && <Failure error={acting.error} />}
        {list.error ? (
          <Failure error={list.error} again={list.again} />
        ) : list.data && rows.length === 0 ? (
          <Empty title={t.destinations.empty} hint={t.destinations.emptyHint}>
            <a href="/docs/destinations">{t.frame.docs}</a>
          </Empty>
        ) : (
          <table class="rows">
            <thead>
              <tr>
                <th scope="col">{t.destinations.name}</th>
                <th scope="col">{t.destinations.health}</th>
                <th scope="col" class="number wide">
                  {t.destinations.waiting}
                </th>
                <th scope="col" class="wide">
                  {t.destinations.last}
                </th>
                {writes && (
                  <th class="tick">
                    <span class="hidden">{t.destinations.switch}</span>
                  </th>
                )}
              </tr>
            </thead>
            <tbody>
              {rows.map((one, i) => {
                const [text, mark] = health(one);
                return (
                  <tr key={one.id} data-row={i} class={i === row ? "at" : ""}>
                    <td class="title">
                      <a href={to(place, "destinations", one.id)}>{one.name}</a>
                      <small class="text">
                        {one.kindLabel}
                        {one.config.url && ", " + one.config.url}
                      </small>
                    </td>
                    <td>
                      <span class={"level " + mark}>{text}</span>
                      {one.enabled && one.lastError && <small class="text">{one.lastError}</small>}
                    </td>
                    <td class="number wide">{count(one.waiting)}</td>
                    <td
                      class="wide time"
                      title={one.lastDispatchAt ? when(one.lastDispatchAt, app.timezone) : undefined}
                    >
                      {one.lastDispatchAt ? ago(one.lastDispatchAt) : t.hints.none}
                    </td>
                    {writes && (
                      <td class="tick">
                        <button
                          type="button"
                          class="small"
                          disabled={acting.busy}
                          aria-label={(one.enabled ? t.destinations.turnOff : t.destinations.turnOn) + " " + one.name}
                          onClick={() => turn(one)}
                        >
                          {one.enabled ? t.destinations.turnOff : t.destinations.turnOn}
                        </button>
                      </td>
                    )}
                  </tr>
                );
              })}
            </tbody>
          </table>
        )}
      </section>
      {secret && (
        <section class="card pad">
          <Secret text={secret} hint={t.destinations.once} />
        </section>
      )}
      {writes && (
        <form class="card form" onSubmit={(event) => void add(event)}>
          <h2>{t.destinations.add}</h2>
          <Field label={t.destinations.kind}>
            <select
              value={kind}
              onChange={(event) => {
                choose(event.currentTarget.value as Kind);
                change({ ...draft, config: {} });
                enter({});
              }}
            >
              {Object.keys(kinds).map((one) => (
                <option key={one} value={one}>
                  {t.destinations.kinds[one]}
                </option>
              ))}
            </select>
          </Field>
          <Fields kind={kind} draft={draft} change={change} />
          <div class="fields">
            <Credential kind={kind} parts={parts} change={enter} />
          </div>
          {adding.error && <Failure error={adding.error} />}
          <button class="primary" disabled={adding.busy}>
            {t.destinations.add}
          </button>
        </form>
      )}
    </>
  );
}
