import { useState } from "preact/hooks";
import type { Schema } from "../../api/client";
import { count, share } from "../../core/format";
import { useHere } from "../../core/me";
import { go, set } from "../../core/place";
import { t } from "../../core/texts";

// The dimensions of a funnel's breakdown, in addition to the funnel's own properties.
export const dimensions = [
  "source",
  "referrer_domain",
  "medium",
  "utm_source",
  "utm_medium",
  "utm_campaign",
  "utm_term",
  "utm_content",
  "path",
  "country",
  "region",
  "city",
  "device",
  "browser",
  "os",
  "event",
] as const;
const property = "property.";

// DivideBy chooses the dimension that divides the people of a funnel.
export function DivideBy({ by }: { by: string }) {
  const { place } = useHere();
  const [asking, ask] = useState(by.startsWith(property));
  const [key, write] = useState(by.startsWith(property) ? by.slice(property.length) : "");
  const choose = (one: string) => {
    ask(one === property);
    if (one !== property) go(set(place, "by", one));
  };
  return (
    <form
      class="bulk"
      onSubmit={(event) => {
        event.preventDefault();
        go(set(place, "by", property + key.trim()));
      }}
    >
      <select
        aria-label={t.funnels.by}
        value={asking ? property : by}
        onChange={(event) => choose(event.currentTarget.value)}
      >
        <option value="">{t.funnels.undivided}</option>
        {dimensions.map((one) => (
          <option key={one} value={one}>
            {t.overview.dimensions[one]}
          </option>
        ))}
        <option value={property}>{t.funnels.property}</option>
      </select>
      {asking && (
        <>
          <input
            required
            aria-label={t.funnels.key}
            placeholder="plan"
            maxLength={100}
            value={key}
            onInput={(event) => write(event.currentTarget.value)}
          />
          <button class="small">{t.funnels.divide}</button>
        </>
      )}
    </form>
  );
}

// Breakdown has a row for each value at the entry, and a column for each step.
export function Breakdown({ of }: { of: Schema["FunnelBreakdown"] }) {
  const steps = of.values[0]?.steps ?? [];
  const name = of.dimension.startsWith(property)
    ? of.dimension.slice(property.length)
    : (t.overview.dimensions[of.dimension] ?? of.dimension);
  if (of.values.length === 0) return <p class="quiet pad">{t.funnels.nobody}</p>;
  return (
    <div class="scroll wide" tabIndex={0} role="region" aria-label={t.funnels.values(name)}>
      <table class="heat">
        <thead>
          <tr>
            <th scope="col">{name}</th>
            {steps.map((one) => (
              <th key={one.step} scope="col" title={one.name}>
                {t.funnels.step(one.step)}
              </th>
            ))}
            <th scope="col">{t.funnels.all}</th>
          </tr>
        </thead>
        <tbody>
          {of.values.map((value) => {
            const entered = value.steps[0]?.entered ?? 0,
              last = value.steps[value.steps.length - 1]?.entered ?? 0;
            return (
              <tr key={value.value ?? ""}>
                <th scope="row">{value.value === null || value.value === "" ? t.overview.unknown : value.value}</th>
                {value.steps.map((one) => (
                  <td
                    key={one.step}
                    class={entered ? "warm" + Math.ceil((one.entered / entered) * 5) : undefined}
                    title={entered ? share(one.entered / entered) : undefined}
                  >
                    {count(one.entered)}
                  </td>
                ))}
                <td>{entered ? share(last / entered) : t.hints.none}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
