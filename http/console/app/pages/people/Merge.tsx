import { useState } from "preact/hooks";
import { call } from "../../api/client";
import { useAct, useAsk } from "../../core/ask";
import { useHere } from "../../core/me";
import { t } from "../../core/texts";
import { Failure } from "../../parts/Failure";
import { Search } from "../../parts/Search";

// Merge merges another record of the same person into this one.
export function Merge({ id, who, done }: { id: string; who: string; done: () => void }) {
  const { at, env } = useHere();
  const [q, search] = useState("");
  const found = useAsk(JSON.stringify([at, env, q]), async (signal) =>
    q
      ? (await call("get", "/api/v1/apps/{org}/{app}/people", { path: at, query: { env, q, limit: 5 }, signal })).data
      : [],
  );
  const { busy, error, run } = useAct();
  const merge = (other: string, name: string) =>
    confirm(t.people.mergeConfirm(name, who)) &&
    void run(async () => {
      await call("post", "/api/v1/apps/{org}/{app}/people/{id}/merge", {
        path: { ...at, id },
        query: { env },
        body: { personId: other },
      });
      search("");
      done();
    });
  return (
    <>
      <h2>{t.people.merge}</h2>
      <Search label={t.people.mergeSearch} value={q} change={search} />
      <ul class="found">
        {found.data
          ?.filter((one) => one.id !== id)
          .map((one) => {
            const name = one.name ?? one.email ?? one.distinctId ?? one.id;
            return (
              <li key={one.id}>
                <button type="button" class="plain" disabled={busy} onClick={() => merge(one.id, name)}>
                  {name}
                </button>
              </li>
            );
          })}
      </ul>
      {error && <Failure error={error} />}
    </>
  );
}
