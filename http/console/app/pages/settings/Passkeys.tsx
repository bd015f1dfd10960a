import { useState } from "preact/hooks";
import { call } from "../../api/client";
import { useAct, useAsk } from "../../core/ask";
import { when } from "../../core/format";
import { useHere } from "../../core/me";
import { deviceName, register } from "../../core/passkey";
import { t } from "../../core/texts";
import { Empty } from "../../parts/Empty";
import { Failure } from "../../parts/Failure";
import { Field } from "../../parts/Field";

// Passkeys lists the passkeys with which the person signs in and confirms.
export function Passkeys() {
  const { app } = useHere();
  const list = useAsk("passkeys", (signal) => call("get", "/console/api/v1/me/passkeys", { signal }));
  const [name, setName] = useState(deviceName());
  const { busy, error, run } = useAct();
  const add = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      await register(name);
      list.again();
    });
  };
  const remove = (id: string, title: string) =>
    confirm(t.settings.removePasskey(title)) &&
    void run(async () => {
      await call("delete", "/console/api/v1/me/passkeys/{id}", { path: { id } });
      list.again();
    });
  return (
    <section class="card list" aria-labelledby="passkeys">
      <div class="head pad">
        <h2 id="passkeys">{t.settings.passkeys}</h2>
      </div>
      {error && <Failure error={error} />}
      {list.error ? (
        <Failure error={list.error} again={list.again} />
      ) : list.data?.data.length === 0 ? (
        <Empty title={t.settings.noPasskeys} hint={t.settings.passkeysHint} />
      ) : (
        <table class="rows">
          <thead>
            <tr>
              <th scope="col">{t.settings.name}</th>
              <th scope="col" class="wide">
                {t.settings.host}
              </th>
              <th scope="col" class="wide">
                {t.settings.lastUsed}
              </th>
              <th class="tick">
                <span class="hidden">{t.settings.remove}</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {list.data?.data.map((row) => (
              <tr key={row.id}>
                <td>
                  <b>{row.name}</b>
                </td>
                <td class="wide">{row.host}</td>
                <td class="wide time">{row.lastUsedAt ? when(row.lastUsedAt, app.timezone) : t.settings.never}</td>
                <td class="tick">
                  <button type="button" class="small" onClick={() => remove(row.id, row.name)}>
                    {t.settings.remove}
                  </button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <form class="form" onSubmit={add}>
        <Field label={t.signin.name} hint={t.settings.passkeysHint}>
          <input required maxLength={100} value={name} onInput={(event) => setName(event.currentTarget.value)} />
        </Field>
        <button class="primary" disabled={busy}>
          {t.settings.addPasskey}
        </button>
      </form>
    </section>
  );
}
