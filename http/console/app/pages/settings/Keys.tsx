import { useState } from "preact/hooks";
import { call } from "../../api/client";
import { useAct, useAsk } from "../../core/ask";
import { when } from "../../core/format";
import { useHere } from "../../core/me";
import { t } from "../../core/texts";
import { Empty } from "../../parts/Empty";
import { Failure } from "../../parts/Failure";
import { Field } from "../../parts/Field";
import { Secret } from "../../parts/Secret";
import { Install } from "./Install";

// Keys lists the ingest keys of applications, and shows how to install them.
export function Keys() {
  const { may } = useHere();
  return (
    <>
      {may("keys.read") ? (
        <Own />
      ) : (
        <section class="card">
          <Empty title={t.settings.noRight} />
        </section>
      )}
      <Install />
    </>
  );
}

function Own() {
  const { at, app, env, may } = useHere();
  const list = useAsk(JSON.stringify(at), (signal) =>
    call("get", "/api/v1/apps/{org}/{app}/keys", { path: at, query: { limit: 200 }, signal }),
  );
  const [kind, setKind] = useState<"public" | "secret">("public"),
    [label, setLabel] = useState(""),
    [environment, setEnvironment] = useState(env),
    [key, keep] = useState("");
  const making = useAct(),
    revoking = useAct();
  const writes = may("keys.write");
  const make = async (event: Event) => {
    event.preventDefault();
    await making.run(async () =>
      keep((await call("post", "/api/v1/apps/{org}/{app}/keys", { path: at, body: { kind, environment, label } })).key),
    );
    setLabel("");
    list.again();
  };
  const revoke = (id: string, name: string) =>
    confirm(t.settings.revokeKey(name)) &&
    void revoking.run(async () => {
      await call("delete", "/api/v1/apps/{org}/{app}/keys/{id}", { path: { ...at, id } });
      list.again();
    });
  const rows = list.data?.data.filter((row) => row.revokedAt === null) ?? [];
  return (
    <section class="card list" aria-labelledby="keys" aria-busy={list.loading}>
      <div class="head pad">
        <h2 id="keys">{t.settings.keys}</h2>
      </div>
      {revoking.error && <Failure error={revoking.error} />}
      {list.error ? (
        <Failure error={list.error} again={list.again} />
      ) : list.data && rows.length === 0 ? (
        <Empty title={t.settings.noKeys} />
      ) : (
        <table class="rows">
          <thead>
            <tr>
              <th scope="col">{t.settings.label}</th>
              <th scope="col">{t.settings.kind}</th>
              <th scope="col" class="wide">
                {t.frame.env}
              </th>
              <th scope="col" class="wide">
                {t.settings.created}
              </th>
              {writes && (
                <th class="tick">
                  <span class="hidden">{t.settings.revoke}</span>
                </th>
              )}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.id}>
                <td>
                  {row.label || t.hints.none}
                  <small class="text">
                    <code>
                      {row.prefix}…{row.last4}
                    </code>
                  </small>
                </td>
                <td>{t.settings.kinds[row.kind]}</td>
                <td class="wide">{row.environment}</td>
                <td class="wide time">{when(row.createdAt, app.timezone)}</td>
                {writes && (
                  <td class="tick">
                    <button type="button" class="small" onClick={() => revoke(row.id, row.label)}>
                      {t.settings.revoke}
                    </button>
                  </td>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {writes && (
        <form class="form" onSubmit={(event) => void make(event)}>
          <div class="fields">
            <Field label={t.settings.label}>
              <input required maxLength={100} value={label} onInput={(event) => setLabel(event.currentTarget.value)} />
            </Field>
            <Field label={t.settings.kind} hint={t.settings.kindHint}>
              <select value={kind} onChange={(event) => setKind(event.currentTarget.value as "public")}>
                {Object.entries(t.settings.kinds).map(([one, text]) => (
                  <option key={one} value={one}>
                    {text}
                  </option>
                ))}
              </select>
            </Field>
            <Field label={t.frame.env}>
              <select value={environment} onChange={(event) => setEnvironment(event.currentTarget.value)}>
                {app.environments.map((one) => (
                  <option key={one.slug} value={one.slug}>
                    {one.name}
                  </option>
                ))}
              </select>
            </Field>
          </div>
          {making.error && <Failure error={making.error} />}
          <button class="primary" disabled={making.busy}>
            {t.settings.newKey}
          </button>
          {key && <Secret text={key} hint={t.settings.once} />}
        </form>
      )}
    </section>
  );
}
