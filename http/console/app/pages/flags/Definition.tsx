import { useState } from "preact/hooks";
import { call, type Schema } from "../../api/client";
import { useAct } from "../../core/ask";
import { useHere } from "../../core/me";
import { t } from "../../core/texts";
import { Failure } from "../../parts/Failure";
import { Field } from "../../parts/Field";

type Spec = Partial<Omit<Schema["FlagSpec"], "rules" | "variants">> & {
  name: string;
  kind: "boolean" | "multivariate";
  rules: Rule[];
  variants: Schema["FlagVariant"][];
};
type Rule = {
  id?: string;
  conditions: { field: string; op: string; value?: unknown }[];
  variant?: string;
  rolloutPercent?: number | null;
};
const ops = [
  "eq",
  "neq",
  "contains",
  "in",
  "gt",
  "lt",
  "gte",
  "lte",
  "semver_eq",
  "semver_neq",
  "semver_gt",
  "semver_gte",
  "semver_lt",
  "semver_lte",
  "exists",
];

// specOf returns the definition of a flag; the service replaces it as a whole.
export function specOf(flag: Schema["Flag"] | Schema["FlagRow"]): Spec {
  const { name, description, kind, variants, rules, environments, bucketBy, prerequisites } = flag;
  return {
    name,
    description,
    kind,
    variants,
    rules: rules as Rule[],
    environments: environments as never,
    bucketBy,
    prerequisites,
  };
}

const first: Spec = { name: "", description: "", kind: "boolean", variants: [], rules: [], environments: {} };

// Definition makes a flag, or changes one: its switch and rollout here, its variants, and its rules.
export function Definition({ flag, done }: { flag?: Schema["Flag"]; done: (key: string) => void }) {
  const { at, env } = useHere();
  const [key, name] = useState(flag?.key ?? ""),
    [spec, change] = useState<Spec>(flag ? specOf(flag) : first);
  const { busy, error, run } = useAct();
  const set = (part: Partial<Spec>) => change({ ...spec, ...part });
  const here = (spec.environments as Record<string, Schema["FlagSwitch"]> | undefined)?.[env] ?? {};
  const place = (part: Schema["FlagSwitch"]) =>
    set({ environments: { ...spec.environments, [env]: { ...here, ...part } } as never });
  const variant = (i: number, part: Partial<Schema["FlagVariant"]>) =>
    set({ variants: spec.variants.map((one, j) => (i === j ? { ...one, ...part } : one)) });
  const rule = (i: number, part: Partial<Rule>) =>
    set({ rules: spec.rules.map((one, j) => (i === j ? { ...one, ...part } : one)) });
  const look = (i: number, part: Partial<Rule["conditions"][number]>) =>
    rule(i, { conditions: [{ field: "", op: "eq", ...spec.rules[i]!.conditions[0], ...part }] });
  const kind = (next: Spec["kind"]) =>
    set({
      kind: next,
      variants:
        next === "multivariate"
          ? ([
              { key: "control", weight: 50 },
              { key: "test", weight: 50 },
            ] as never)
          : [],
    });
  const shown = (value: unknown) =>
    Array.isArray(value) ? value.join(", ") : value === undefined || value === null ? "" : String(value);
  const valued = (op: string, text: string) =>
    op === "in"
      ? text
          .split(",")
          .map((one) => one.trim())
          .filter(Boolean)
      : ["gt", "lt", "gte", "lte"].includes(op) && text !== "" && !Number.isNaN(Number(text))
        ? Number(text)
        : text;
  const save = async (event: Event) => {
    event.preventDefault();
    if (
      await run(() =>
        call("put", "/api/v1/apps/{org}/{app}/flags/{key}", { path: { ...at, key }, body: spec as never }),
      )
    )
      done(key);
  };
  return (
    <form class="card form" onSubmit={(event) => void save(event)}>
      <h2>{flag ? t.flags.tabs["definition"] : t.flags.add}</h2>
      <div class="fields">
        <Field label={t.flags.name}>
          <input
            required
            maxLength={100}
            value={spec.name}
            onInput={(event) => set({ name: event.currentTarget.value })}
          />
        </Field>
        {!flag && (
          <Field label={t.flags.key} hint={t.flags.keyHint}>
            <input required spellcheck={false} value={key} onInput={(event) => name(event.currentTarget.value)} />
          </Field>
        )}
        {!flag && (
          <Field label={t.flags.kind}>
            <select value={spec.kind} onChange={(event) => kind(event.currentTarget.value as Spec["kind"])}>
              {Object.entries(t.flags.kinds).map(([value, text]) => (
                <option key={value} value={value}>
                  {text}
                </option>
              ))}
            </select>
          </Field>
        )}
        <Field label={t.flags.description}>
          <input
            maxLength={2000}
            value={spec.description}
            onInput={(event) => set({ description: event.currentTarget.value })}
          />
        </Field>
        <Field label={t.flags.rollout}>
          <input
            type="number"
            min={0}
            max={100}
            step="any"
            value={here.rolloutPercent ?? 100}
            onInput={(event) => place({ rolloutPercent: Number(event.currentTarget.value) })}
          />
        </Field>
      </div>
      <label class="check">
        <input
          type="checkbox"
          checked={here.enabled ?? false}
          onChange={(event) => place({ enabled: event.currentTarget.checked })}
        />{" "}
        {t.flags.enabled(env)}
      </label>
      {spec.kind === "multivariate" && (
        <fieldset class="field">
          <legend>{t.flags.variants}</legend>
          <ol class="conditions">
            {spec.variants.map((one, i) => (
              <li key={i} class="bulk">
                <input
                  required
                  aria-label={t.flags.variant(i + 1)}
                  value={one.key}
                  onInput={(event) => variant(i, { key: event.currentTarget.value })}
                />
                <input
                  type="number"
                  required
                  min={0}
                  max={100}
                  step="any"
                  aria-label={t.flags.weight(i + 1)}
                  value={one.weight}
                  onInput={(event) => variant(i, { weight: Number(event.currentTarget.value) })}
                />
                <button
                  type="button"
                  class="small"
                  disabled={spec.variants.length <= 2}
                  aria-label={t.flags.dropVariant(i + 1)}
                  onClick={() => set({ variants: spec.variants.filter((_, j) => j !== i) })}
                >
                  ×
                </button>
              </li>
            ))}
          </ol>
          <button
            type="button"
            class="plain"
            onClick={() => set({ variants: [...spec.variants, { key: "", weight: 0 } as never] })}
          >
            {t.flags.addVariant}
          </button>
        </fieldset>
      )}
      <fieldset class="field">
        <legend>{t.flags.rules}</legend>
        <small>{t.flags.rulesHint}</small>
        <ol class="conditions">
          {spec.rules.map((one, i) => {
            const condition = one.conditions[0] ?? { field: "", op: "eq" };
            return (
              <li key={i} class="bulk">
                {one.conditions.length > 1 ? (
                  <span class="grow">
                    {one.conditions.map((each) => `${each.field} ${each.op} ${shown(each.value)}`).join(", ")}
                  </span>
                ) : (
                  <>
                    <input
                      required
                      aria-label={t.flags.field(i + 1)}
                      placeholder="trait.plan"
                      value={condition.field}
                      onInput={(event) => look(i, { field: event.currentTarget.value })}
                    />
                    <select
                      aria-label={t.flags.op(i + 1)}
                      value={condition.op}
                      onChange={(event) =>
                        look(i, {
                          op: event.currentTarget.value,
                          value: valued(event.currentTarget.value, shown(condition.value)),
                        })
                      }
                    >
                      {[...new Set([...ops, condition.op])].map((op) => (
                        <option key={op} value={op}>
                          {t.segments.ops[op] ?? op}
                        </option>
                      ))}
                    </select>
                    <input
                      aria-label={t.flags.value(i + 1)}
                      value={shown(condition.value)}
                      onInput={(event) => look(i, { value: valued(condition.op, event.currentTarget.value) })}
                    />
                  </>
                )}
                {spec.kind === "multivariate" && (
                  <select
                    aria-label={t.flags.serves(i + 1)}
                    value={one.variant ?? ""}
                    onChange={(event) => rule(i, { variant: event.currentTarget.value })}
                  >
                    <option value="">{t.flags.byWeights}</option>
                    {spec.variants.map((each) => (
                      <option key={each.key}>{each.key}</option>
                    ))}
                  </select>
                )}
                <input
                  type="number"
                  min={0}
                  max={100}
                  step="any"
                  aria-label={t.flags.percent(i + 1)}
                  value={one.rolloutPercent ?? 100}
                  onInput={(event) => rule(i, { rolloutPercent: Number(event.currentTarget.value) })}
                />
                <button
                  type="button"
                  class="small"
                  aria-label={t.flags.dropRule(i + 1)}
                  onClick={() => set({ rules: spec.rules.filter((_, j) => j !== i) })}
                >
                  ×
                </button>
              </li>
            );
          })}
        </ol>
        <button
          type="button"
          class="plain"
          onClick={() =>
            set({
              rules: [
                ...spec.rules,
                { conditions: [{ field: "trait.plan", op: "eq", value: "" }], rolloutPercent: 100 },
              ],
            })
          }
        >
          {t.flags.addRule}
        </button>
      </fieldset>
      {error && <Failure error={error} />}
      <button class="primary" disabled={busy}>
        {flag ? t.flags.save : t.flags.add}
      </button>
    </form>
  );
}
