import { call } from "../../api/client";
import { useAsk } from "../../core/ask";
import { useHere } from "../../core/me";
import { go, set } from "../../core/place";
import { t } from "../../core/texts";
import { Empty } from "../../parts/Empty";
import { Failure } from "../../parts/Failure";
import { Search } from "../../parts/Search";
import { Course } from "./Course";

// Metrics lists the metrics, and shows the chart of the chosen one.
export function Metrics() {
  const { at, env, place } = useHere();
  const chosen = place.query.get("name") ?? "",
    q = place.query.get("q") ?? "";
  const list = useAsk(JSON.stringify([at, env]), (signal) =>
    call("get", "/api/v1/apps/{org}/{app}/metrics/names", { path: at, query: { env, limit: 200 }, signal }),
  );
  const found = list.data?.data.filter((one) => one.name.toLowerCase().includes(q.toLowerCase())) ?? [];
  const metric = list.data?.data.find((one) => one.name === chosen);
  return (
    <>
      <div class="scope">
        <h1>{t.pages["metrics"]}</h1>
        <span class="grow" />
        <Search label={t.metrics.search} value={q} change={(text) => go(set(place, "q", text))} />
      </div>
      {list.error ? (
        <section class="card">
          <Failure error={list.error} again={list.again} />
        </section>
      ) : list.data?.data.length === 0 ? (
        <section class="card">
          <Empty title={t.metrics.empty} hint={t.metrics.emptyHint} />
        </section>
      ) : (
        <div class="split left">
          <nav class="card names" aria-label={t.pages["metrics"]} aria-busy={list.loading}>
            <ul>
              {found.map((one) => (
                <li key={one.name}>
                  <a href={set(place, "name", one.name)} aria-current={one.name === chosen ? "true" : undefined}>
                    <span class="text">{one.name}</span>
                    <small>
                      {t.metrics.kinds[one.kind] ?? one.kind}
                      {one.unit && one.unit !== "1" && ", " + one.unit} · {t.metrics.series(one.series)}
                    </small>
                  </a>
                </li>
              ))}
            </ul>
          </nav>
          <section class="card course" aria-label={chosen || t.metrics.name}>
            {metric ? <Course key={metric.name} metric={metric} /> : <p class="quiet">{t.metrics.choose}</p>}
          </section>
        </div>
      )}
    </>
  );
}
