import { useState } from "preact/hooks";
import { call, type Schema } from "../../api/client";
import { useAct, useAsk } from "../../core/ask";
import { ago } from "../../core/format";
import { useHere } from "../../core/me";
import { t } from "../../core/texts";
import { Copy } from "../../parts/Copy";
import { Empty } from "../../parts/Empty";
import { Failure } from "../../parts/Failure";
import { Field } from "../../parts/Field";

type Connector = Schema["BillingConnector"];

// Billing connects payment providers; their subscriptions and payments make the revenue.
export function Billing() {
  const { may, has } = useHere();
  return has("revenue") && may("revenue.read") ? (
    <List />
  ) : (
    <section class="card">
      <Empty title={has("revenue") ? t.failures.forbidden : t.failures.module} />
    </section>
  );
}

function List() {
  const { at, may } = useHere();
  const list = useAsk("billing" + JSON.stringify(at), (signal) =>
    call("get", "/console/api/v1/apps/{org}/{app}/billing", { path: at, query: { limit: 200 }, signal }),
  );
  const [chosen, choose] = useState<Connector>(),
    [said, say] = useState("");
  const { busy, error, run } = useAct();
  const writes = may("apps.write"),
    rows = list.data?.data ?? [];
  const remove = (one: Connector) =>
    confirm(t.billing.confirm(one.id)) &&
    void run(async () => {
      const gone = await call("delete", "/console/api/v1/apps/{org}/{app}/billing/{id}", {
        path: { ...at, id: one.id },
      });
      say(gone.kept);
      choose(undefined);
      list.again();
    });
  return (
    <section class={"card list" + (list.loading ? " busy" : "")} aria-labelledby="billing" aria-busy={list.loading}>
      <div class="head pad">
        <h2 id="billing">{t.settings.tabs["billing"]}</h2>
      </div>
      {error && <Failure error={error} />}
      {list.error ? (
        <Failure error={list.error} again={list.again} />
      ) : rows.length === 0 && !list.loading ? (
        <Empty title={t.billing.empty} hint={t.billing.emptyHint} />
      ) : (
        <table class="rows">
          <thead>
            <tr>
              <th scope="col">{t.billing.connector}</th>
              <th scope="col">{t.alerts.state}</th>
              <th scope="col" class="wide">
                {t.billing.last}
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
              <tr key={one.id} class={one.id === chosen?.id ? "chosen" : ""}>
                <td class="text">
                  <b>{one.id}</b>
                  <small class="text">
                    {t.billing.providers[one.provider] ?? one.provider} · {one.environment}
                    {one.provider === "stripe" && !one.live && " · " + t.billing.testMode}
                  </small>
                  {one.webhookPath && (
                    <small class="text">
                      {t.billing.webhook}: <code>{one.webhookPath}</code>{" "}
                      <Copy text={location.origin + one.webhookPath} />
                      {!one.hasSigningSecret && " " + t.billing.unsigned}
                    </small>
                  )}
                </td>
                <td>
                  <span
                    class={
                      "level " +
                      (one.state === "failing"
                        ? "error"
                        : one.state === "syncing"
                          ? "warning"
                          : one.state === "current"
                            ? "up"
                            : "")
                    }
                  >
                    {t.billing.states[one.state]}
                  </span>
                  {one.lastError && <small class="text">{t.billing.problems[one.lastError] ?? one.lastError}</small>}
                </td>
                <td class="wide time">{one.lastSyncAt ? ago(one.lastSyncAt) : t.hints.none}</td>
                {writes && (
                  <td class="tick acts">
                    <button
                      type="button"
                      class="small"
                      disabled={busy}
                      aria-label={t.alerts.change(one.id)}
                      onClick={() => choose(one)}
                    >
                      {t.alerts.edit}
                    </button>{" "}
                    <button
                      type="button"
                      class="small"
                      disabled={busy}
                      aria-label={t.alerts.delete + " " + one.id}
                      onClick={() => remove(one)}
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
      {said && (
        <p class="pad quiet" role="status">
          {said}
        </p>
      )}
      {writes && (
        <Form
          key={chosen?.id ?? "new"}
          connector={chosen}
          done={() => {
            choose(undefined);
            say("");
            list.again();
          }}
        />
      )}
    </section>
  );
}

// ratesOf reads exchange rates, one per line; the service validates them.
function ratesOf(text: string) {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean)
    .map((line) => {
      const [day = "", currency = "", to = "", rate = ""] = line.split(/[\s,;]+/);
      return { day, currency, to, rate };
    });
}

function Form({ connector, done }: { connector?: Connector; done: () => void }) {
  const { at, env, app } = useHere();
  const [id, name] = useState(connector?.id ?? "stripe"),
    [provider, choose] = useState<string>(connector?.provider ?? "stripe"),
    [environment, fill] = useState(connector?.environment ?? env);
  const [customers, know] = useState<string>(connector?.customers ?? "metadata"),
    [enabled, enable] = useState(connector?.enabled ?? true),
    [apiKey, setKey] = useState(""),
    [signingSecret, setSecret] = useState("");
  const [rates, rate] = useState("");
  const { busy, error, run } = useAct();
  const save = async (event: Event) => {
    event.preventDefault();
    const body = {
      provider,
      environment,
      enabled,
      customers,
      ...(apiKey ? { apiKey } : {}),
      ...(signingSecret ? { signingSecret } : {}),
      ...(rates.trim() ? { rates: ratesOf(rates) } : {}),
    };
    if (
      !(await run(() =>
        call("put", "/console/api/v1/apps/{org}/{app}/billing/{id}", { path: { ...at, id }, body: body as never }),
      ))
    )
      return;
    setKey("");
    setSecret("");
    rate("");
    done();
  };
  return (
    <form class="form" onSubmit={(event) => void save(event)}>
      <div class="fields">
        <Field label={t.billing.provider}>
          <select
            value={provider}
            disabled={!!connector}
            onChange={(event) => {
              choose(event.currentTarget.value);
              name(event.currentTarget.value);
            }}
          >
            {Object.entries(t.billing.providers).map(([key, text]) => (
              <option key={key} value={key}>
                {text}
              </option>
            ))}
          </select>
        </Field>
        <Field label={t.billing.id}>
          <input
            required
            pattern="[a-z0-9][a-z0-9\-]{0,39}"
            readOnly={!!connector}
            value={id}
            onInput={(event) => name(event.currentTarget.value)}
          />
        </Field>
        <Field label={t.frame.env}>
          <select value={environment} onChange={(event) => fill(event.currentTarget.value)}>
            {app.environments.map((one) => (
              <option key={one.slug} value={one.slug}>
                {one.name}
              </option>
            ))}
          </select>
        </Field>
        {provider === "stripe" && (
          <>
            <Field label={t.billing.key} hint={connector?.hasApiKey ? t.billing.keeps : t.billing.keyHint}>
              <input
                type="password"
                autocomplete="off"
                required={!connector?.hasApiKey}
                value={apiKey}
                onInput={(event) => setKey(event.currentTarget.value)}
              />
            </Field>
            <Field label={t.billing.secret} hint={connector?.hasSigningSecret ? t.billing.keeps : t.billing.secretHint}>
              <input
                type="password"
                autocomplete="off"
                value={signingSecret}
                onInput={(event) => setSecret(event.currentTarget.value)}
              />
            </Field>
            <Field label={t.billing.customers}>
              <select value={customers} onChange={(event) => know(event.currentTarget.value)}>
                {Object.entries(t.billing.customersBy).map(([key, text]) => (
                  <option key={key} value={key}>
                    {text}
                  </option>
                ))}
              </select>
            </Field>
          </>
        )}
      </div>
      <Field label={t.billing.rates} hint={t.billing.ratesHint}>
        <textarea
          rows={3}
          spellcheck={false}
          placeholder="2026-03-01 EUR USD 1.0832"
          value={rates}
          onInput={(event) => rate(event.currentTarget.value)}
        />
      </Field>
      {provider === "generic" && <p class="quiet">{t.billing.genericHint}</p>}
      <label class="check">
        <input type="checkbox" checked={enabled} onChange={(event) => enable(event.currentTarget.checked)} />{" "}
        {t.billing.enabled}
      </label>
      {error && <Failure error={error} />}
      <div class="bulk">
        <button class="primary" disabled={busy}>
          {connector ? t.hints.save : t.billing.connect}
        </button>
        {connector && (
          <button type="button" onClick={done}>
            {t.hints.cancel}
          </button>
        )}
      </div>
    </form>
  );
}
