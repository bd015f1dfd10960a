import type { Schema } from "../../api/client";
import { t } from "../../core/texts";
import { Field } from "../../parts/Field";

export type Rule = Schema["DestinationRule"];
export const noRule: Rule = { event: "", destinationEvent: "", valueProperty: "", currency: "" };

// Mapping edits the events that are forwarded, and their names at the destination.
export function Mapping({ rules, change }: { rules: Rule[]; change: (rules: Rule[]) => void }) {
  const set = (i: number, part: Partial<Rule>) =>
    change(rules.map((rule, n) => (n === i ? { ...rule, ...part } : rule)));
  return (
    <fieldset class="field">
      <legend>{t.destinations.mapping}</legend>
      {rules.map((rule, i) => (
        <div key={i} class="fields">
          <Field label={t.destinations.event(i + 1)}>
            <input required value={rule.event} onInput={(event) => set(i, { event: event.currentTarget.value })} />
          </Field>
          <Field label={t.destinations.called(i + 1)}>
            <input
              placeholder={rule.event}
              value={rule.destinationEvent}
              onInput={(event) => set(i, { destinationEvent: event.currentTarget.value })}
            />
          </Field>
          <Field label={t.destinations.value(i + 1)}>
            <input
              value={rule.valueProperty}
              onInput={(event) => set(i, { valueProperty: event.currentTarget.value })}
            />
          </Field>
          <Field label={t.destinations.currency(i + 1)}>
            <input
              maxLength={3}
              value={rule.currency}
              onInput={(event) => set(i, { currency: event.currentTarget.value.toUpperCase() })}
            />
          </Field>
          <button type="button" class="small" onClick={() => change(rules.filter((_, n) => n !== i))}>
            {t.destinations.removeRule(i + 1)}
          </button>
        </div>
      ))}
      <button type="button" onClick={() => change([...rules, noRule])}>
        {t.destinations.addRule}
      </button>
    </fieldset>
  );
}
