import { useState } from "preact/hooks";
import { call, type Schema } from "../../api/client";
import { useAct, type Asked } from "../../core/ask";
import { instant, local, when } from "../../core/format";
import { useHere } from "../../core/me";
import { t } from "../../core/texts";
import { Failure } from "../../parts/Failure";
import { Field } from "../../parts/Field";

type Kind = "note" | "campaign" | "release";

// Marks lists the annotations of the range, and adds notes; the chart has a line at each.
export function Marks({ of }: { of: Asked<Schema["AnnotationPage"]> }) {
  const { at, env, app, may } = useHere();
  const [open, show] = useState(false),
    [title, write] = useState(""),
    [kind, choose] = useState<Kind>("note"),
    [time, set] = useState(local(new Date().toISOString(), app.timezone));
  const { busy, error, run } = useAct();
  const writes = may("analytics.write"),
    rows = of.data?.data ?? [];
  const add = async (event: Event) => {
    event.preventDefault();
    if (
      !(await run(() =>
        call("post", "/api/v1/apps/{org}/{app}/annotations", {
          path: at,
          body: { title, kind, at: instant(time, app.timezone), environment: env } as never,
        }),
      ))
    )
      return;
    write("");
    of.again();
  };
  const remove = (one: Schema["Annotation"]) =>
    confirm(t.marks.confirm(one.title)) &&
    void run(async () => {
      await call("delete", "/api/v1/apps/{org}/{app}/annotations/{id}", { path: { ...at, id: one.id } });
      of.again();
    });
  return (
    <details class="numbers marks" open={open} onToggle={(event) => show(event.currentTarget.open)}>
      <summary>{t.marks.title(rows.length)}</summary>
      {of.error && <Failure error={of.error} again={of.again} />}
      {rows.length === 0 && !of.loading && <p class="quiet">{t.marks.empty}</p>}
      <ul class="crumbs">
        {rows.map((one) => (
          <li key={one.id}>
            <time>{when(one.at, app.timezone)}</time>
            <b>{one.title}</b>{" "}
            <span class="quiet">
              {t.marks.kinds[one.kind]}
              {one.createdBy && " · " + one.createdBy.name}
            </span>
            {writes && !one.automatic && (
              <button
                type="button"
                class="plain"
                disabled={busy}
                aria-label={t.marks.remove + " " + one.title}
                onClick={() => remove(one)}
              >
                ×
              </button>
            )}
          </li>
        ))}
      </ul>
      {writes && open && (
        <form class="fields" onSubmit={(event) => void add(event)}>
          <Field label={t.marks.what}>
            <input required maxLength={200} value={title} onInput={(event) => write(event.currentTarget.value)} />
          </Field>
          <Field label={t.goals.kind}>
            <select value={kind} onChange={(event) => choose(event.currentTarget.value as Kind)}>
              {Object.entries(t.marks.kinds).map(([key, text]) => (
                <option key={key} value={key}>
                  {text}
                </option>
              ))}
            </select>
          </Field>
          <Field label={t.overview.time}>
            <input type="datetime-local" required value={time} onInput={(event) => set(event.currentTarget.value)} />
          </Field>
          <div class="end">
            <button disabled={busy}>{t.marks.add}</button>
          </div>
        </form>
      )}
      {error && <Failure error={error} />}
    </details>
  );
}
