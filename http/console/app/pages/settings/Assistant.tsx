import { useEffect, useState } from "preact/hooks";
import { call, type Schema } from "../../api/client";
import { useAct, useAsk } from "../../core/ask";
import { count } from "../../core/format";
import { useHere } from "../../core/me";
import { t } from "../../core/texts";
import { Empty } from "../../parts/Empty";
import { Failure } from "../../parts/Failure";
import { Field } from "../../parts/Field";

type Policy = Schema["AiPolicy"];
const effects = ["write", "destructive", "external"] as const;
const providers = ["anthropic", "openai", "gemini"] as const;

// Assistant edits the organization's policy and credential for the assistant.
export function Assistant() {
  const { administers, at } = useHere();
  const { data, error, again } = useAsk("ai" + at.org, (signal) =>
    administers
      ? call("get", "/console/api/v1/orgs/{org}/ai", { path: { org: at.org }, signal })
      : Promise.resolve(undefined),
  );
  if (!administers)
    return (
      <section class="card">
        <Empty title={t.ai.noRight} />
      </section>
    );
  if (error)
    return (
      <section class="card">
        <Failure error={error} again={again} />
      </section>
    );
  if (!data)
    return (
      <section class="card" aria-busy="true">
        <p class="quiet pad" role="status">
          {t.hints.loading}
        </p>
      </section>
    );
  return (
    <>
      <Rules now={data} again={again} />
      <Credential now={data} again={again} />
    </>
  );
}

function Rules({ now, again }: { now: Schema["AiSettings"]; again: () => void }) {
  const { at } = useHere();
  const [policy, change] = useState<Policy>(now.policy),
    [tools, write] = useState(now.policy.deniedTools.join("\n")),
    [saved, tell] = useState(false);
  const { busy, error, run } = useAct();
  useEffect(() => change(now.policy), [now]);
  const save = async (event: Event) => {
    event.preventDefault();
    tell(false);
    if (
      await run(() =>
        call("put", "/console/api/v1/orgs/{org}/ai/policy", {
          path: { org: at.org },
          body: { ...policy, deniedTools: tools.split(/\s+/).filter(Boolean) },
        }),
      )
    ) {
      tell(true);
      again();
    }
  };
  const flip = (effect: (typeof effects)[number], on: boolean) =>
    change({
      ...policy,
      deniedEffects: on ? [...policy.deniedEffects, effect] : policy.deniedEffects.filter((one) => one !== effect),
    });
  return (
    <form class="card form" onSubmit={(event) => void save(event)}>
      <h2>{t.ai.title}</h2>
      <p class="quiet">{t.ai.spent(count(now.spent.inputTokens), count(now.spent.outputTokens))}</p>
      <Field label={t.ai.scope}>
        <select
          value={policy.maxScope ?? ""}
          onChange={(event) =>
            change({ ...policy, maxScope: (event.currentTarget.value || null) as Policy["maxScope"] })
          }
        >
          {Object.entries(t.ai.scopes).map(([key, text]) => (
            <option key={key} value={key}>
              {text}
            </option>
          ))}
        </select>
      </Field>
      <fieldset class="field">
        <legend>{t.ai.effects}</legend>
        {effects.map((effect) => (
          <label key={effect} class="check">
            <input
              type="checkbox"
              checked={policy.deniedEffects.includes(effect)}
              onChange={(event) => flip(effect, event.currentTarget.checked)}
            />{" "}
            {t.approvals.effects[effect]}
          </label>
        ))}
      </fieldset>
      <Field label={t.ai.budget} hint={t.ai.budgetHint}>
        <input
          type="number"
          min={0}
          value={policy.monthlyBudget ?? ""}
          onInput={(event) =>
            change({
              ...policy,
              monthlyBudget: event.currentTarget.value === "" ? null : Number(event.currentTarget.value),
            })
          }
        />
      </Field>
      <Field label={t.ai.tools} hint={t.ai.toolsHint}>
        <textarea rows={3} value={tools} onInput={(event) => write(event.currentTarget.value)} />
      </Field>
      {error && <Failure error={error} />}
      <div class="bulk">
        <button class="primary" disabled={busy}>
          {t.hints.save}
        </button>
        <span role="status" class="quiet">
          {saved && t.hints.saved}
        </span>
      </div>
    </form>
  );
}

function Credential({ now, again }: { now: Schema["AiSettings"]; again: () => void }) {
  const { at } = useHere();
  const path = { org: at.org };
  const [provider, choose] = useState<(typeof providers)[number]>("anthropic"),
    [model, name] = useState(""),
    [apiKey, write] = useState("");
  const { busy, error, run } = useAct();
  const put = async (event: Event) => {
    event.preventDefault();
    if (
      !(await run(() =>
        call("put", "/console/api/v1/orgs/{org}/ai/credential", {
          path,
          body: { provider, apiKey, ...(model ? { model } : {}) } as Schema["AiCredentialBody"],
        }),
      ))
    )
      return;
    write("");
    again();
  };
  const drop = () =>
    confirm(t.ai.dropConfirm) &&
    void run(async () => {
      await call("delete", "/console/api/v1/orgs/{org}/ai/credential", { path });
      again();
    });
  return (
    <form class="card form" onSubmit={(event) => void put(event)}>
      <h2>{t.ai.credential}</h2>
      <p>
        {now.credential ? t.ai.own(now.credential.provider, now.credential.last4) : t.ai.platform}{" "}
        {now.credential && (
          <button type="button" class="small" disabled={busy} onClick={drop}>
            {t.ai.drop}
          </button>
        )}
      </p>
      <div class="fields">
        <Field label={t.ai.provider}>
          <select value={provider} onChange={(event) => choose(event.currentTarget.value as "anthropic")}>
            {providers.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </Field>
        <Field label={t.ai.model} hint={t.ai.modelHint}>
          <input value={model} onInput={(event) => name(event.currentTarget.value)} />
        </Field>
        <Field label={t.ai.key} hint={t.ai.keyHint}>
          <input
            type="password"
            required
            autocomplete="off"
            value={apiKey}
            onInput={(event) => write(event.currentTarget.value)}
          />
        </Field>
      </div>
      {error && <Failure error={error} />}
      <button class="primary" disabled={busy}>
        {t.ai.put}
      </button>
    </form>
  );
}
