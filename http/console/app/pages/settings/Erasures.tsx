import { call } from "../../api/client";
import { count, when } from "../../core/format";
import { useHere } from "../../core/me";
import { usePages } from "../../core/pages";
import { t } from "../../core/texts";
import { Empty } from "../../parts/Empty";
import { Failure } from "../../parts/Failure";
import { More } from "../../parts/More";

// Erasures lists the erased people: the time, the number of removed rows, and the time of completion.
export function Erasures() {
  const { at, app, may } = useHere();
  return may("people.read") ? (
    <List at={at} zone={app.timezone} />
  ) : (
    <section class="card">
      <Empty title={t.failures.forbidden} />
    </section>
  );
}

function List({ at, zone }: { at: { org: string; app: string }; zone: string }) {
  const { rows, first, cursor, more } = usePages("erasures" + JSON.stringify(at), (after, signal) =>
    call("get", "/api/v1/apps/{org}/{app}/erasures", { path: at, query: { limit: 50, cursor: after }, signal }),
  );
  return (
    <section class={"card list" + (first.loading ? " busy" : "")} aria-labelledby="erasures" aria-busy={first.loading}>
      <div class="head pad">
        <h2 id="erasures">{t.settings.tabs["erasures"]}</h2>
      </div>
      {first.error ? (
        <Failure error={first.error} again={first.again} />
      ) : rows.length === 0 && !first.loading ? (
        <Empty title={t.erasures.empty} hint={t.erasures.emptyHint} />
      ) : (
        <table class="rows">
          <thead>
            <tr>
              <th scope="col">{t.erasures.asked}</th>
              <th scope="col">{t.alerts.state}</th>
              <th scope="col" class="number">
                {t.people.events}
              </th>
              <th scope="col" class="number wide">
                {t.erasures.occurrences}
              </th>
              <th scope="col" class="number wide">
                {t.people.ids}
              </th>
              <th scope="col" class="wide">
                {t.erasures.complete}
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map((one) => (
              <tr key={one.id}>
                <td class="time">
                  {when(one.requestedAt, zone)}
                  <small class="text">{[one.environment, one.requestedBy?.name].filter(Boolean).join(" · ")}</small>
                </td>
                <td>
                  <span class={"level " + (one.status === "complete" ? "up" : "warning")}>
                    {t.erasures.states[one.status]}
                  </span>
                </td>
                <td class="number">{count(one.removed.events)}</td>
                <td class="number wide">{count(one.removed.occurrences)}</td>
                <td class="number wide">{count(one.removed.ids)}</td>
                <td class="wide time">
                  {one.completedAt ? when(one.completedAt, zone) : t.erasures.by(when(one.completesBy, zone))}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {cursor && <More more={more} />}
    </section>
  );
}
