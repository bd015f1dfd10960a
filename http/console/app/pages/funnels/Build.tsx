import { useState } from "preact/hooks";
import { call } from "../../api/client";
import { useAct } from "../../core/ask";
import { useHere } from "../../core/me";
import { t } from "../../core/texts";
import { Failure } from "../../parts/Failure";
import { Field } from "../../parts/Field";

interface Step {
  kind: "path" | "event";
  match: string;
}

// The specification's limits of a funnel.
const least = 2,
  most = 12;

// Build makes a funnel of steps in a changeable order.
export function Build({ made }: { made: (id: string) => void }) {
  const { at } = useHere();
  const [name, setName] = useState(""),
    [windowHours, setWindow] = useState(168),
    [steps, setSteps] = useState<Step[]>([
      { kind: "path", match: "" },
      { kind: "path", match: "" },
    ]);
  const { busy, error, run } = useAct();
  const change = (i: number, step: Partial<Step>) =>
    setSteps(steps.map((one, j) => (i === j ? { ...one, ...step } : one)));
  const up = (i: number) => setSteps(steps.map((one, j) => (j === i - 1 ? steps[i]! : j === i ? steps[i - 1]! : one)));
  const make = async (event: Event) => {
    event.preventDefault();
    const done = await run(async () =>
      made(
        (
          await call("post", "/api/v1/apps/{org}/{app}/funnels", {
            path: at,
            body: { name, windowHours, steps } as never,
          })
        ).id,
      ),
    );
    if (!done) return;
    setName("");
    setSteps([
      { kind: "path", match: "" },
      { kind: "path", match: "" },
    ]);
  };
  return (
    <form class="card form" onSubmit={(event) => void make(event)}>
      <h2>{t.funnels.add}</h2>
      <div class="fields">
        <Field label={t.funnels.name}>
          <input required maxLength={100} value={name} onInput={(event) => setName(event.currentTarget.value)} />
        </Field>
        <Field label={t.funnels.window}>
          <select value={windowHours} onChange={(event) => setWindow(Number(event.currentTarget.value))}>
            {Object.entries(t.funnels.windows).map(([hours, text]) => (
              <option key={hours} value={hours}>
                {text}
              </option>
            ))}
          </select>
        </Field>
      </div>
      <ol class="steps">
        {steps.map((step, i) => (
          <li key={i} class="bulk">
            <select
              aria-label={t.funnels.kind(i + 1)}
              value={step.kind}
              onChange={(event) => change(i, { kind: event.currentTarget.value as Step["kind"] })}
            >
              {Object.entries(t.goals.kinds).map(([key, text]) => (
                <option key={key} value={key}>
                  {text}
                </option>
              ))}
            </select>
            <input
              required
              aria-label={t.funnels.match(i + 1)}
              placeholder={step.kind === "path" ? "/pricing" : "signup"}
              value={step.match}
              onInput={(event) => change(i, { match: event.currentTarget.value })}
            />
            <button
              type="button"
              class="small"
              disabled={i === 0}
              aria-label={t.funnels.up(i + 1)}
              onClick={() => up(i)}
            >
              ↑
            </button>
            <button
              type="button"
              class="small"
              disabled={steps.length <= least}
              aria-label={t.funnels.removeStep(i + 1)}
              onClick={() => setSteps(steps.filter((_, j) => j !== i))}
            >
              ×
            </button>
          </li>
        ))}
      </ol>
      {steps.length < most && (
        <button type="button" class="plain" onClick={() => setSteps([...steps, { kind: "path", match: "" }])}>
          {t.funnels.addStep}
        </button>
      )}
      {error && <Failure error={error} />}
      <button class="primary" disabled={busy}>
        {t.funnels.add}
      </button>
    </form>
  );
}
