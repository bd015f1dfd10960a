import { call } from "../../api/client";
import { useAsk } from "../../core/ask";
import { count, dayAt, share } from "../../core/format";
import { useHere } from "../../core/me";
import { go, set } from "../../core/place";
import { t } from "../../core/texts";
import { Empty } from "../../parts/Empty";
import { Failure } from "../../parts/Failure";

// Retention shows returning visitors: a row for each group with the same first visit, a column for the time since.
export function Retention() {
  const { at, env, range, filters, place, app } = useHere();
  const cohortBy = place.query.get("by") === "month" ? "month" : "week";
  const query = { env, range, filter: filters, cohortBy } as const;
  const { data, error, loading, again } = useAsk(JSON.stringify([at, query]), (signal) =>
    call("get", "/api/v1/apps/{org}/{app}/analytics/retention", { path: at, query, signal }),
  );
  const cohorts = data?.cohorts ?? [],
    columns = Math.max(0, ...cohorts.map((one) => one.periods.length));
  const day = (iso: string) => dayAt(iso, app.timezone);
  return (
    <section class={"card list" + (loading ? " busy" : "")} aria-label={t.pages["retention"]} aria-busy={loading}>
      <div class="head">
        <div class="tabs" role="group" aria-label={t.retention.by}>
          {Object.entries(t.retention.bys).map(([key, text]) => (
            <button
              key={key}
              type="button"
              aria-pressed={key === cohortBy}
              onClick={() => go(set(place, "by", key === "week" ? "" : key))}
            >
              {text}
            </button>
          ))}
        </div>
      </div>
      {error ? (
        <Failure error={error} again={again} />
      ) : cohorts.every((one) => one.size === 0) && !loading ? (
        <Empty title={t.retention.empty} hint={t.retention.emptyHint} />
      ) : (
        <div class="scroll wide" tabIndex={0} role="region" aria-label={t.retention.table}>
          <table class="heat">
            <thead>
              <tr>
                <th scope="col">{t.retention.cohort}</th>
                <th scope="col">{t.retention.size}</th>
                {Array.from({ length: columns }, (_, i) => (
                  <th key={i} scope="col">
                    {i}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {cohorts.map((one) => (
                <tr key={one.cohort}>
                  <th scope="row">{day(one.cohort)}</th>
                  <td>{count(one.size)}</td>
                  {Array.from({ length: columns }, (_, i) => {
                    const n = one.periods[i];
                    if (n === undefined || one.size === 0) return <td key={i} />;
                    const ratio = n / one.size;
                    return (
                      <td
                        key={i}
                        class={"warm" + Math.min(5, Math.ceil(ratio * 5))}
                        title={t.retention.cell(share(ratio), count(n))}
                      >
                        {share(ratio)}
                      </td>
                    );
                  })}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
