import { useEffect, useState } from "preact/hooks";
import { useAct, useAsk } from "../../core/ask";
import { deviceName, invited, join } from "../../core/passkey";
import { t } from "../../core/texts";
import { Failure } from "../../parts/Failure";
import { Field } from "../../parts/Field";
import { Door } from "./Door";

// Join accepts an invitation by the first passkey of a person.
export function Join({ link, done, known }: { link: string; done: () => void; known: () => void }) {
  const asked = useAsk("join", () => invited(link));
  const [name, write] = useState(deviceName());
  const { busy, error, run } = useAct();
  useEffect(() => {
    if (asked.error?.reason === "sign_in_first") known();
  }, [asked.error]);
  const accept = async (event: Event) => {
    event.preventDefault();
    if (asked.data && (await run(async () => join(link, await invited(link), name)))) done();
  };
  const invitation = asked.data?.invitation;
  if (!asked.data || !invitation)
    return (
      <Door title={t.signin.title}>
        {asked.error ? (
          <Failure error={asked.error} />
        ) : (
          <p role="status" class="pulse">
            {t.hints.loading}
          </p>
        )}
      </Door>
    );
  return (
    <Door title={t.signin.joinTitle(invitation.organization.name)}>
      <p class="quiet">
        {t.signin.joinLead(
          invitation.invitedBy,
          t.settings.roles[invitation.role]?.toLowerCase() ?? invitation.role,
          asked.data.email,
        )}
      </p>
      <form onSubmit={(event) => void accept(event)}>
        <Field label={t.signin.name}>
          <input value={name} required maxLength={100} onInput={(event) => write(event.currentTarget.value)} />
        </Field>
        <button class="primary" disabled={busy}>
          {busy ? t.signin.waiting : t.signin.join}
        </button>
      </form>
      {error && <Failure error={error} />}
    </Door>
  );
}
