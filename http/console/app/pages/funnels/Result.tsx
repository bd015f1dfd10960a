import { call } from "../../api/client";
import { useAsk } from "../../core/ask";
import { count, duration, share } from "../../core/format";
import { useHere } from "../../core/me";
import { to } from "../../core/place";
import { t } from "../../core/texts";
import { Failure } from "../../parts/Failure";
import { Breakdown, DivideBy } from "./Breakdown";

// Result shows the number of people at each step of a funnel, as bars and as numbers. The number of people that stopped
// links to them.
export function Result({ id }: { id: string }) {
  const { at, env, range, place, has, may } = useHere();
  const by = place.query.get("by") ?? "",
    query = { env, range, breakdown: by || undefined };
  const { data, error, loading, again } = useAsk(JSON.stringify([at, id, query]), (signal) =>
    call("get", "/api/v1/apps/{org}/{app}/funnels/{id}/results", { path: { ...at, id }, query, signal }),
  );
  const links = has("people") && may("people.read");
  if (error)
    return (
      <>
        <div class="pad">
          <DivideBy by={by} />
        </div>
        <Failure error={error} again={again} />
      </>
    );
  if (!data)
    return (
      <p class="quiet pad" role="status" aria-busy="true">
        {t.hints.loading}
      </p>
    );
  const entered = data.steps[0]?.entered ?? 0,
    whole = data.steps[data.steps.length - 1]?.entered ?? 0;
  return (
    <div class={loading ? "busy" : ""} aria-busy={loading}>
      <p class="pad strong">{t.funnels.whole(entered ? share(whole / entered) : t.hints.none)}</p>
      <table class="rows funnel">
        <thead>
          <tr>
            <th scope="col">{t.funnels.name}</th>
            <th scope="col" class="number">
              {t.funnels.entered}
            </th>
            <th scope="col" class="number wide">
              {t.funnels.converted}
            </th>
            <th scope="col" class="number wide">
              {t.funnels.rate}
            </th>
            <th scope="col" class="number">
              {t.funnels.dropOff}
            </th>
            <th scope="col" class="number wide">
              {t.funnels.median}
            </th>
          </tr>
        </thead>
        <tbody>
          {data.steps.map((row) => (
            <tr key={row.step}>
              <td>
                <span class="text">
                  {row.step}. {row.name}
                </span>
                <svg class="step" aria-hidden="true" preserveAspectRatio="none" viewBox="0 0 100 1">
                  <rect class="all" width={entered ? (row.entered / entered) * 100 : 0} height={1} />
                  <rect width={entered ? (row.converted / entered) * 100 : 0} height={1} />
                </svg>
              </td>
              <td class="number">{count(row.entered)}</td>
              <td class="number wide">{count(row.converted)}</td>
              <td class="number wide">{share(row.conversionRate)}</td>
              <td class="number">
                {links && row.dropOff > 0 ? (
                  <a
                    href={to(place, "people", "", { funnel: id, step: String(row.step), range })}
                    aria-label={t.funnels.who(count(row.dropOff), row.step)}
                  >
                    {count(row.dropOff)}
                  </a>
                ) : (
                  count(row.dropOff)
                )}
              </td>
              <td class="number wide">
                {row.medianSeconds === null ? t.hints.none : duration(row.medianSeconds * 1000)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <div class="pad">
        <DivideBy by={by} />
      </div>
      {data.breakdown && <Breakdown of={data.breakdown} />}
      {data.capped && <p class="quiet pad">{t.funnels.capped}</p>}
    </div>
  );
}
