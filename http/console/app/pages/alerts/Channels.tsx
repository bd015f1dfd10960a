import { useState } from "preact/hooks";
import { call, type Schema } from "../../api/client";
import { useAct, useAsk } from "../../core/ask";
import { when } from "../../core/format";
import { useHere } from "../../core/me";
import { t } from "../../core/texts";
import { Empty } from "../../parts/Empty";
import { Failure } from "../../parts/Failure";
import { Field } from "../../parts/Field";
import { Secret } from "../../parts/Secret";

type Kind = Schema["NewChannel"]["kind"];

// Channels are the destinations of notices about incidents.
export function Channels() {
  const { at, app, may } = useHere();
  const list = useAsk("channels" + JSON.stringify(at), (signal) =>
    call("get", "/console/api/v1/apps/{org}/{app}/channels", { path: at, query: { limit: 200 }, signal }),
  );
  const [name, setName] = useState(""),
    [kind, setKind] = useState<Kind>("webhook"),
    [url, setUrl] = useState("https://"),
    [to, setTo] = useState(""),
    [secret, keep] = useState(""),
    [said, say] = useState("");
  const adding = useAct(),
    acting = useAct();
  const writes = may("metrics.write");
  const add = async (event: Event) => {
    event.preventDefault();
    const made = await adding.run(async () =>
      keep(
        (
          await call("post", "/console/api/v1/apps/{org}/{app}/channels", {
            path: at,
            body: { name, kind, ...(kind === "email" ? { to: to.split(/\s+/).filter(Boolean) } : { url }) },
          })
        ).secret ?? "",
      ),
    );
    if (!made) return;
    setName("");
    list.again();
  };
  const test = (id: string) =>
    void acting.run(async () => {
      say("");
      const answer = await call("post", "/console/api/v1/apps/{org}/{app}/channels/{id}/test", { path: { ...at, id } });
      say(answer.ok ? t.alerts.tested : (answer.error ?? ""));
    });
  const remove = (id: string, title: string) =>
    confirm(t.alerts.removeChannel(title)) &&
    void acting.run(async () => {
      await call("delete", "/console/api/v1/apps/{org}/{app}/channels/{id}", { path: { ...at, id } });
      list.again();
    });
  const rows = list.data?.data ?? [];
  return (
    <>
      <p role="status" class="said">
        {said}
      </p>
      <section
        class={"card list" + (list.loading ? " busy" : "")}
        aria-label={t.alerts.channels}
        aria-busy={list.loading}
      >
        {acting.error && <Failure error={acting.error} />}
        {list.error ? (
          <Failure error={list.error} again={list.again} />
        ) : rows.length === 0 && !list.loading ? (
          <Empty title={t.alerts.noChannels} hint={t.alerts.channelHint} />
        ) : (
          <table class="rows">
            <thead>
              <tr>
                <th scope="col">{t.alerts.name}</th>
                <th scope="col">{t.alerts.channelKind}</th>
                <th scope="col" class="wide">
                  {t.settings.created}
                </th>
                {writes && (
                  <th class="tick">
                    <span class="hidden">{t.alerts.edit}</span>
                  </th>
                )}
              </tr>
            </thead>
            <tbody>
              {rows.map((one) => (
                <tr key={one.id}>
                  <td>
                    <b>{one.name}</b>
                  </td>
                  <td>{t.alerts.channelKinds[one.kind] ?? one.kind}</td>
                  <td class="wide time">{when(one.createdAt, app.timezone)}</td>
                  {writes && (
                    <td class="tick acts">
                      <button
                        type="button"
                        class="small"
                        disabled={acting.busy}
                        aria-label={t.alerts.test + ": " + one.name}
                        onClick={() => test(one.id)}
                      >
                        {t.alerts.test}
                      </button>{" "}
                      <button
                        type="button"
                        class="small"
                        disabled={acting.busy}
                        aria-label={t.alerts.delete + " " + one.name}
                        onClick={() => remove(one.id, one.name)}
                      >
                        ×
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
          <h2>{t.alerts.addChannel}</h2>
          <div class="fields">
            <Field label={t.alerts.name}>
              <input required maxLength={100} value={name} onInput={(event) => setName(event.currentTarget.value)} />
            </Field>
            <Field label={t.alerts.channelKind}>
              <select value={kind} onChange={(event) => setKind(event.currentTarget.value as Kind)}>
                {Object.entries(t.alerts.channelKinds).map(([key, text]) => (
                  <option key={key} value={key}>
                    {text}
                  </option>
                ))}
              </select>
            </Field>
            {kind === "email" ? (
              <Field label={t.alerts.to}>
                <textarea rows={2} required value={to} onInput={(event) => setTo(event.currentTarget.value)} />
              </Field>
            ) : (
              <Field label={t.alerts.url}>
                <input type="url" required value={url} onInput={(event) => setUrl(event.currentTarget.value)} />
              </Field>
            )}
          </div>
          {adding.error && <Failure error={adding.error} />}
          <button class="primary" disabled={adding.busy}>
            {t.alerts.addChannel}
          </button>
          {secret && <Secret text={secret} hint={t.alerts.secret} />}
        </form>
      )}
    </>
  );
}
