import type { Schema } from "../../api/client";
import { useHere } from "../../core/me";
import { t } from "../../core/texts";
import { Field } from "../../parts/Field";
import { kinds, type Config, type Kind } from "./kinds";
import { Mapping, type Rule } from "./Mapping";

// Draft is a destination while it is edited.
export interface Draft {
  name: string;
  environments: string[];
  mapping: Rule[];
  config: Config;
}

export function draftOf(one: Schema["Destination"]): Draft {
  return { name: one.name, environments: one.environments, mapping: one.mapping, config: one.config };
}

// Fields are the inputs of a destination of a kind.
export function Fields({ kind, draft, change }: { kind: Kind; draft: Draft; change: (draft: Draft) => void }) {
  const { app } = useHere();
  const shape = kinds[kind];
  const configure = (part: Partial<Config>) => change({ ...draft, config: { ...draft.config, ...part } });
  const input = (name: (typeof shape.needed)[number], required: boolean) => (
    <Field key={name} label={t.destinations.settings[name]!} hint={name === "url" ? t.destinations.urlHint : undefined}>
      <input
        inputMode={name === "url" ? "url" : "text"}
        required={required}
        value={draft.config[name] ?? ""}
        onInput={(event) => configure({ [name]: event.currentTarget.value })}
      />
    </Field>
  );
  return (
    <>
      <div class="fields">
        <Field label={t.destinations.name}>
          <input
            required
            maxLength={100}
            value={draft.name}
            onInput={(event) => change({ ...draft, name: event.currentTarget.value })}
          />
        </Field>
        {shape.needed.map((name) => input(name, true))}
        {shape.optional.map((name) => input(name, false))}
        {shape.persons.length > 0 && (
          <Field label={t.destinations.persons}>
            <select
              value={draft.config.personFields ?? "hashed"}
              onChange={(event) => configure({ personFields: event.currentTarget.value as "hashed" })}
            >
              {shape.persons.map((one) => (
                <option key={one} value={one}>
                  {t.destinations.personFields[one]}
                </option>
              ))}
            </select>
          </Field>
        )}
      </div>
      <fieldset class="field">
        <legend>{t.destinations.environments}</legend>
        {app.environments.map((one) => (
          <label key={one.slug} class="check">
            <input
              type="checkbox"
              checked={draft.environments.includes(one.slug)}
              onChange={(event) =>
                change({
                  ...draft,
                  environments: event.currentTarget.checked
                    ? [...draft.environments, one.slug]
                    : draft.environments.filter((slug) => slug !== one.slug),
                })
              }
            />{" "}
            {one.name}
          </label>
        ))}
      </fieldset>
      <Mapping rules={draft.mapping} change={(mapping) => change({ ...draft, mapping })} />
    </>
  );
}
