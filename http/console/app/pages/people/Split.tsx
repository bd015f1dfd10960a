import { useState } from "preact/hooks";
import { call } from "../../api/client";
import { useAct } from "../../core/ask";
import { useHere } from "../../core/me";
import { t } from "../../core/texts";
import { Failure } from "../../parts/Failure";

// Split removes an id from the person, from a time on or entirely.
export function Split({ id, who, ids, done }: { id: string; who: string; ids: string[]; done: () => void }) {
  const { at, env } = useHere();
  const [one, choose] = useState("");
  const [from, begin] = useState("");
  const { busy, error, run } = useAct();
  const split = () =>
    confirm(t.people.splitConfirm(one, who)) &&
    void run(async () => {
      await call("post", "/api/v1/apps/{org}/{app}/people/{person}/split", {
        path: { ...at, person: id },
        query: { env },
        body: from ? { id: one, from: new Date(from).toISOString() } : { id: one },
      });
      choose("");
      done();
    });
  return (
    <>
      <h2>{t.people.split}</h2>
      <form
        class="bulk"
        onSubmit={(event) => {
          event.preventDefault();
          split();
        }}
      >
        <select aria-label={t.people.splitId} value={one} onChange={(event) => choose(event.currentTarget.value)}>
          <option value="" />
          {ids.map((other) => (
            <option key={other} value={other}>
              {other}
            </option>
          ))}
        </select>
        <input
          type="datetime-local"
          aria-label={t.people.splitFrom}
          title={t.people.splitFrom}
          value={from}
          onInput={(event) => begin(event.currentTarget.value)}
        />
        <button class="small" disabled={busy || !one}>
          {t.people.splitDo}
        </button>
      </form>
      {error && <Failure error={error} />}
    </>
  );
}
