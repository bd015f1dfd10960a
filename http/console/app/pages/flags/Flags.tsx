import { call, type Schema } from "../../api/client";
import { useAct, useAsk } from "../../core/ask";
import { brief } from "../../core/format";
import { useCursor } from "../../core/keys";
import { useHere } from "../../core/me";
import { go, leave, set, to } from "../../core/place";
import { t } from "../../core/texts";
import { Empty } from "../../parts/Empty";
import { Failure } from "../../parts/Failure";
import { Search } from "../../parts/Search";
import { Spark } from "../../parts/Spark";
import { Definition, specOf } from "./Definition";

// Flags lists the feature flags with their switch in the shown environment, and makes new ones.
export function Flags() {
  const { at, env, place, may } = useHere();
  const q = place.query.get("q") ?? "";
  const list = useAsk(JSON.stringify([at, env, q]), (signal) =>
    call("get", "/api/v1/apps/{org}/{app}/flags", {
      path: at,
      query: { env, q: q || undefined, limit: 200 } as never,
      signal,
    }),
  );
  const { busy, error, run } = useAct();
  const writes = may("flags.write"),
    rows = list.data?.data ?? [];
  const row = useCursor(rows.length, (i) => go(to(place, "flags", rows[i]!.key)));
  const flip = (flag: Schema["FlagRow"]) =>
    void run(async () => {
      const spec = specOf(flag),
        now = spec.environments![env];
      await call("put", "/api/v1/apps/{org}/{app}/flags/{key}", {
        path: { ...at, key: flag.key },
        body: { ...spec, environments: { ...spec.environments, [env]: { ...now, enabled: !now?.enabled } } } as never,
      });
      list.again();
    });
  return (
    <>
      <div class="scope">
        <h1>{t.pages["flags"]}</h1>
        <span class="grow" />
        <Search label={t.flags.search} value={q} change={(text) => go(set(place, "q", text))} />
      </div>
      <section
        class={"card list" + (list.loading ? " busy" : "")}
        aria-label={t.pages["flags"]}
        aria-busy={list.loading}
      >
        {error && <Failure error={error} />}
        {list.error ? (
          <Failure error={list.error} again={list.again} />
        ) : rows.length === 0 && !list.loading ? (
          <Empty title={t.flags.empty} hint={t.flags.emptyHint} />
        ) : (
          <table class="rows">
            <thead>
              <tr>
                <th scope="col">{t.flags.name}</th>
                <th scope="col" class="wide">
                  {t.flags.kind}
                </th>
                <th scope="col" class="number wide">
                  {t.flags.rollout}
                </th>
                <th scope="col" class="wide">
                  {t.flags.evaluations}
                </th>
                <th scope="col" class="tick">
                  {t.alerts.state}
                </th>
              </tr>
            </thead>
            <tbody>
              {rows.map((flag, i) => {
                const here = flag.environments[env],
                  on = here?.enabled ?? false;
                return (
                  <tr key={flag.key} data-row={i} class={i === row ? "at" : ""}>
                    <td class="title">
                      <a href={to(place, "flags", flag.key)}>{flag.name}</a>
                      <small class="text">
                        <code>{flag.key}</code>
                        {flag.stale && " · " + t.flags.stale[flag.stale]}
                      </small>
                    </td>
                    <td class="wide">{t.flags.kinds[flag.kind]}</td>
                    <td class="number wide">{on ? (here?.rolloutPercent ?? 100) + " %" : t.hints.none}</td>
                    <td class="wide">
                      <Spark
                        numbers={flag.spark}
                        label={t.flags.evaluations + ": " + flag.spark.map(brief).join(", ")}
                      />
                    </td>
                    <td class="tick">
                      {writes ? (
                        <button
                          type="button"
                          class="small"
                          disabled={busy}
                          aria-label={(on ? t.flags.on : t.flags.off) + ": " + flag.name}
                          onClick={() => flip(flag)}
                        >
                          {on ? t.flags.on : t.flags.off}
                        </button>
                      ) : on ? (
                        t.flags.on
                      ) : (
                        t.flags.off
                      )}
                    </td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        )}
      </section>
      {writes && <Definition done={(key) => leave(place, to(place, "flags", key))} />}
    </>
  );
}
