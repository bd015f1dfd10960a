import { useState } from "preact/hooks";
import { call, type Schema } from "../../api/client";
import { useAct, useAsk } from "../../core/ask";
import { ago } from "../../core/format";
import { useHere } from "../../core/me";
import { t } from "../../core/texts";
import { Facts } from "../../parts/Facts";
import { Failure } from "../../parts/Failure";
import { Field } from "../../parts/Field";
import { Secret } from "../../parts/Secret";

const marks: Record<string, string> = { healthy: "up", unhealthy: "error" };

// newSecret is a secret for both sides, made in this browser.
function newSecret(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(32)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// Connector shows the state and the address of the handler of the application's owner.
export function Connector() {
  const { at, may } = useHere();
  const asked = useAsk("connector" + JSON.stringify(at), (signal) =>
    call("get", "/api/v1/apps/{org}/{app}", { path: at, signal }),
  );
  const [said, say] = useState("");
  const { busy, error, run } = useAct();
  const writes = may("apps.write"),
    one = asked.data?.connector;
  const probe = () =>
    void run(async () => {
      const answer = await call("post", "/console/api/v1/apps/{org}/{app}/connector/probe", { path: at });
      say(answer.ok ? t.connector.answered(answer.latencyMs) : (answer.error ?? ""));
      asked.again();
    });
  const remove = () =>
    confirm(t.connector.confirm) &&
    void run(async () => {
      await call("delete", "/console/api/v1/apps/{org}/{app}/connector", { path: at });
      say("");
      asked.again();
    });
  if (asked.error)
    return (
      <section class="card">
        <Failure error={asked.error} again={asked.again} />
      </section>
    );
  if (!asked.data)
    return (
      <p class="quiet" role="status" aria-busy="true">
        {t.hints.loading}
      </p>
    );
  return (
    <>
      <section class="card pad" aria-labelledby="connector">
        <div class="head">
          <h2 id="connector">{t.connector.title}</h2>
          {writes && one && (
            <div class="bulk">
              <button type="button" disabled={busy} onClick={probe}>
                {t.connector.probe}
              </button>
              <button type="button" disabled={busy} onClick={remove}>
                {t.connector.delete}
              </button>
            </div>
          )}
        </div>
        <p class="quiet">{t.connector.lead}</p>
        <p>
          <a href="/docs/connector">{t.frame.docs}</a>
        </p>
        <p>
          <span class={"level " + (marks[one?.status ?? ""] ?? "")}>
            {t.connector.statuses[one?.status ?? "unconfigured"]}
          </span>
        </p>
        {one && <Facts of={t.connector.facts(one, one.lastHealthAt ? ago(one.lastHealthAt) : t.connector.never)} />}
        {one?.lastError && <p class="bad message">{one.lastError}</p>}
        <p role="status" class="said">
          {said}
        </p>
        {error && <Failure error={error} />}
      </section>
      {writes && <Edit key={(one?.url ?? "") + one?.status} one={one ?? undefined} changed={asked.again} />}
    </>
  );
}

// Edit sets the address of the handler, the secret, and the switch.
function Edit({ one, changed }: { one?: Schema["Connector"]; changed: () => void }) {
  const { at } = useHere();
  const [url, setUrl] = useState(one?.url ?? "https://"),
    [secret, setSecret] = useState(""),
    [made, make] = useState(""),
    [enabled, turn] = useState(one?.status !== "disabled");
  const { busy, error, run } = useAct();
  const save = async (event: Event) => {
    event.preventDefault();
    if (
      !(await run(() =>
        call("put", "/console/api/v1/apps/{org}/{app}/connector", {
          path: at,
          body: { url, secret: secret || undefined, enabled },
        }),
      ))
    )
      return;
    setSecret("");
    make("");
    changed();
  };
  const draw = () => {
    const drawn = newSecret();
    setSecret(drawn);
    make(drawn);
  };
  return (
    <form class="card form" onSubmit={(event) => void save(event)}>
      <h2>{t.connector.settings}</h2>
      <div class="fields">
        <Field label={t.connector.url} hint={t.connector.urlHint}>
          <input type="url" required value={url} onInput={(event) => setUrl(event.currentTarget.value)} />
        </Field>
        <Field label={t.connector.secret} hint={one ? t.connector.secretKept : t.connector.secretHint}>
          <input
            type="password"
            autocomplete="off"
            spellcheck={false}
            minLength={32}
            maxLength={256}
            required={!one}
            value={secret}
            onInput={(event) => {
              setSecret(event.currentTarget.value);
              make("");
            }}
          />
        </Field>
      </div>
      <p>
        <button type="button" onClick={draw}>
          {t.connector.draw}
        </button>
      </p>
      {made && <Secret text={made} hint={t.connector.drawn} />}
      <label class="check">
        <input type="checkbox" checked={enabled} onChange={(event) => turn(event.currentTarget.checked)} />{" "}
        {t.connector.enabled}
      </label>
      {error && <Failure error={error} />}
      <button class="primary" disabled={busy}>
        {t.hints.save}
      </button>
    </form>
  );
}
