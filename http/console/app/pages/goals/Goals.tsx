import { useState } from "preact/hooks";
import { call } from "../../api/client";
import { useAct, useAsk } from "../../core/ask";
import { count } from "../../core/format";
import { useCursor } from "../../core/keys";
import { useHere } from "../../core/me";
import { go, to } from "../../core/place";
import { t } from "../../core/texts";
import { Empty } from "../../parts/Empty";
import { Failure } from "../../parts/Failure";
import { Field } from "../../parts/Field";

// Goals shows the conversions of goals, and the number of people.
export function Goals() {
  const { at, env, range, filters, may, place } = useHere();
  const query = { env, range, filter: filters, limit: 100 };
  const list = useAsk(JSON.stringify([at, query]), (signal) =>
    call("get", "/api/v1/apps/{org}/{app}/analytics/goals", { path: at, query, signal }),
  );
  const [name, setName] = useState(""),
    [kind, setKind] = useState<"event" | "path">("event"),
    [match, setMatch] = useState("");
  const adding = useAct(),
    removing = useAct();
  const writes = may("analytics.write");
  const add = async (event: Event) => {
    event.preventDefault();
    const made = await adding.run(() =>
      call("post", "/api/v1/apps/{org}/{app}/goals", { path: at, body: { name, kind, match, value: 0 } }),
    );
    if (!made) return;
    setName("");
    setMatch("");
    list.again();
  };
  const remove = (id: string, title: string) =>
    confirm(t.goals.confirm(title)) &&
    void removing.run(async () => {
      await call("delete", "/api/v1/apps/{org}/{app}/goals/{id}", { path: { ...at, id } });
      list.again();
    });
  const rows = list.data?.data ?? [];
  // The rows behind a goal are its events, or the visits of its page.
  const behind = (goal: (typeof rows)[number]) =>
    !goal.match
      ? ""
      : goal.kind === "event"
        ? to(place, "events", "", { name: goal.match })
        : goal.match.includes("*")
          ? ""
          : to(place, "overview", "", { filter: "path:" + goal.match });
  const row = useCursor(rows.length, (i) => {
    if (behind(rows[i]!)) go(behind(rows[i]!));
  });
  return (
    <>
      <section class={"card list" + (list.loading ? " busy" : "")} aria-label={t.goals.title} aria-busy={list.loading}>
        {removing.error && <Failure error={removing.error} />}
        {list.error ? (
          <Failure error={list.error} again={list.again} />
        ) : list.data?.data.length === 0 ? (
          <Empty title={t.goals.empty} hint={t.goals.emptyHint} />
        ) : (
          <table class="rows">
            <thead>
              <tr>
                <th scope="col">{t.goals.name}</th>
                <th scope="col" class="wide">
                  {t.goals.match}
                </th>
                <th scope="col" class="number">
                  {t.goals.visitors}
                </th>
                <th scope="col" class="number">
                  {t.goals.conversions}
                </th>
                {writes && (
                  <th class="tick">
                    <span class="hidden">{t.goals.remove}</span>
                  </th>
                )}
              </tr>
            </thead>
            <tbody>
              {rows.map((goal, i) => (
                <tr key={goal.goalId} data-row={i} class={i === row ? "at" : ""}>
                  <td>
                    <b>{goal.name ?? t.goals.deleted}</b>
                  </td>
                  <td class="wide text">
                    {goal.kind && t.goals.kinds[goal.kind]} <code>{goal.match}</code>
                  </td>
                  <td class="number">{count(goal.visitors)}</td>
                  <td class="number">
                    {behind(goal) ? <a href={behind(goal)}>{count(goal.conversions)}</a> : count(goal.conversions)}
                  </td>
                  {writes && (
                    <td class="tick">
                      {goal.name !== null && (
                        <button
                          type="button"
                          class="plain"
                          aria-label={t.goals.remove + " " + goal.name}
                          onClick={() => remove(goal.goalId, goal.name ?? "")}
                        >
                          ×
                        </button>
                      )}
                    </td>
                  )}
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </section>
      {writes && (
        <form class="card form" onSubmit={(event) => void add(event)}>
          <h2>{t.goals.add}</h2>
          <div class="fields">
            <Field label={t.goals.name}>
              <input required maxLength={100} value={name} onInput={(event) => setName(event.currentTarget.value)} />
            </Field>
            <Field label={t.goals.kind}>
              <select value={kind} onChange={(event) => setKind(event.currentTarget.value as "event")}>
                {Object.entries(t.goals.kinds).map(([key, text]) => (
                  <option key={key} value={key}>
                    {text}
                  </option>
                ))}
              </select>
            </Field>
            <Field label={t.goals.match} hint={t.goals.matchHint}>
              <input required value={match} onInput={(event) => setMatch(event.currentTarget.value)} />
            </Field>
          </div>
          {adding.error && <Failure error={adding.error} />}
          <button class="primary" disabled={adding.busy}>
            {t.goals.add}
          </button>
        </form>
      )}
    </>
  );
}
