import { call } from "../../api/client";
import { useAct, useAsk } from "../../core/ask";
import { useHere } from "../../core/me";
import { go, leave, set } from "../../core/place";
import { t } from "../../core/texts";
import { Empty } from "../../parts/Empty";
import { Failure } from "../../parts/Failure";
import { Build } from "./Build";
import { Result } from "./Result";

// Funnels shows the steps of one funnel, and makes new ones.
export function Funnels() {
  const { at, place, may } = useHere();
  const list = useAsk(JSON.stringify(at), (signal) =>
    call("get", "/api/v1/apps/{org}/{app}/funnels", { path: at, query: { limit: 200 }, signal }),
  );
  const { error, run } = useAct();
  const all = list.data?.data ?? [];
  const chosen = all.find((one) => one.id === place.query.get("funnel")) ?? all[0];
  const writes = may("analytics.write");
  const remove = (id: string, name: string) =>
    confirm(t.funnels.confirm(name)) &&
    void run(async () => {
      await call("delete", "/api/v1/apps/{org}/{app}/funnels/{id}", { path: { ...at, id } });
      go(set(place, "funnel", ""));
      list.again();
    });
  return (
    <>
      <section
        class={"card list" + (list.loading ? " busy" : "")}
        aria-label={t.pages["funnels"]}
        aria-busy={list.loading}
      >
        {error && <Failure error={error} />}
        {list.error ? (
          <Failure error={list.error} again={list.again} />
        ) : !chosen && !list.loading ? (
          <Empty title={t.funnels.empty} hint={t.funnels.emptyHint} />
        ) : (
          chosen && (
            <>
              <div class="head pad">
                <select
                  aria-label={t.funnels.choose}
                  value={chosen.id}
                  onChange={(event) => go(set(place, "funnel", event.currentTarget.value))}
                >
                  {all.map((one) => (
                    <option key={one.id} value={one.id}>
                      {one.name}
                    </option>
                  ))}
                </select>
                {writes && (
                  <button type="button" class="small" onClick={() => remove(chosen.id, chosen.name)}>
                    {t.funnels.remove}
                  </button>
                )}
              </div>
              <Result key={chosen.id} id={chosen.id} />
            </>
          )
        )}
      </section>
      {writes && (
        <Build
          made={(id) => {
            list.again();
            leave(place, set(place, "funnel", id));
          }}
        />
      )}
    </>
  );
}
