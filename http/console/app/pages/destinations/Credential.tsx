import { t } from "../../core/texts";
import { Field } from "../../parts/Field";
import { kinds, type Kind } from "./kinds";

// Credential has an input for each part of the credential of a kind. The entered values are never shown again.
export function Credential({
  kind,
  parts,
  change,
}: {
  kind: Kind;
  parts: Record<string, string>;
  change: (parts: Record<string, string>) => void;
}) {
  return (
    <>
      {kinds[kind].credential.map((name) => (
        <Field
          key={name}
          label={t.destinations.credentials[name]!}
          hint={name === "secret" ? t.destinations.secretHint : undefined}
        >
          <input
            type="password"
            autocomplete="off"
            spellcheck={false}
            value={parts[name] ?? ""}
            onInput={(event) => change({ ...parts, [name]: event.currentTarget.value })}
          />
        </Field>
      ))}
    </>
  );
}
