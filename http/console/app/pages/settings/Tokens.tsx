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

type Scope = "read" | "write" | "admin";

// Tokens give programs of the person access to the API.
export function Tokens() {
  const { app } = useHere();
  const list = useAsk("tokens", (signal) =>
    call("get", "/console/api/v1/me/tokens", { query: { limit: 200 }, signal }),
  );
  const [name, setName] = useState(""),
    [scopes, setScopes] = useState<Scope[]>(["read"]),
    [token, keep] = useState("");
  const making = useAct(),
    revoking = useAct();
  const make = async (event: Event) => {
    event.preventDefault();
    await making.run(async () =>
      keep((await call("post", "/console/api/v1/me/tokens", { body: { name, scopes } as never })).token),
    );
    setName("");
    list.again();
  };
  const revoke = (id: string, title: string) =>
    confirm(t.settings.revokeToken(title)) &&
    void revoking.run(async () => {
      await call("delete", "/console/api/v1/me/tokens/{id}", { path: { id } });
      list.again();
    });
  return (
    <section class="card list" aria-labelledby="tokens">
      <div class="head pad">
        <h2 id="tokens">{t.settings.tokens}</h2>
      </div>
      {revoking.error && <Failure error={revoking.error} />}
      {list.error ? (
        <Failure error={list.error} again={list.again} />
      ) : list.data?.data.length === 0 ? (
        <Empty title={t.settings.noTokens} hint={t.settings.tokenHint} />
      ) : (
        <table class="rows">
          <thead>
            <tr>
              <th scope="col">{t.settings.name}</th>
              <th scope="col" class="wide">
                {t.settings.scopes}
              </th>
              <th scope="col" class="wide">
                {t.settings.lastUsed}
              </th>
              <th scope="col" class="wide">
                {t.settings.expires}
              </th>
              <th class="tick">
                <span class="hidden">{t.settings.revoke}</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {list.data?.data.map((row) => (
              <tr key={row.id}>
                <td>
                  <b>{row.name}</b>
                  <small class="text">
                    <code>
                      {row.prefix}…{row.last4}
                    </code>
                  </small>
                </td>
                <td class="wide">{row.scopes.map((scope) => t.settings.scopeNames[scope]).join(", ")}</td>
                <td class="wide time">{row.lastUsedAt ? when(row.lastUsedAt, app.timezone) : t.settings.never}</td>
                <td class="wide time">{row.expiresAt ? when(row.expiresAt, app.timezone) : t.settings.never}</td>
                <td class="tick">
                  <button type="button" class="small" onClick={() => revoke(row.id, row.name)}>
                    {t.settings.revoke}
                  </button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <form class="form" onSubmit={(event) => void make(event)}>
        <div class="fields">
          <Field label={t.settings.name} hint={t.settings.tokenHint}>
            <input required maxLength={100} value={name} onInput={(event) => setName(event.currentTarget.value)} />
          </Field>
          <fieldset class="field">
            <legend>{t.settings.scopes}</legend>
            {(["read", "write", "admin"] as Scope[]).map((scope) => (
              <label key={scope} class="check">
                <input
                  type="checkbox"
                  checked={scopes.includes(scope)}
                  onChange={(event) =>
                    setScopes(event.currentTarget.checked ? [...scopes, scope] : scopes.filter((one) => one !== scope))
                  }
                />{" "}
                {t.settings.scopeNames[scope]}
              </label>
            ))}
          </fieldset>
        </div>
        {making.error && <Failure error={making.error} />}
        <button class="primary" disabled={making.busy || scopes.length === 0}>
          {t.settings.newToken}
        </button>
        {token && <Secret text={token} hint={t.settings.once} />}
      </form>
    </section>
  );
}
