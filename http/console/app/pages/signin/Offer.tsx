import { useState } from "preact/hooks";
import { useAct } from "../../core/ask";
import { deviceName, register } from "../../core/passkey";
import { t } from "../../core/texts";
import { Failure } from "../../parts/Failure";
import { Field } from "../../parts/Field";
import { Door } from "./Door";

// Offer suggests a passkey to a person that signed in by a link.
export function Offer({ done }: { done: () => void }) {
  const [name, write] = useState(deviceName());
  const { busy, error, run } = useAct();
  const add = async (event: Event) => {
    event.preventDefault();
    if (await run(() => register(name))) done();
  };
  return (
    <Door title={t.signin.offer}>
      <p class="quiet">{t.signin.offerLead}</p>
      <form onSubmit={(event) => void add(event)}>
        <Field label={t.signin.name}>
          <input value={name} required maxLength={100} onInput={(event) => write(event.currentTarget.value)} />
        </Field>
        <button class="primary" disabled={busy}>
          {busy ? t.signin.waiting : t.signin.add}
        </button>
        <button type="button" class="plain" onClick={done}>
          {t.signin.later}
        </button>
      </form>
      {error && <Failure error={error} />}
    </Door>
  );
}
