import { call } from "../../api/client";
import { useAsk } from "../../core/ask";
import { count, duration, share } from "../../core/format";
import { useHere } from "../../core/me";
import { t } from "../../core/texts";
import { Failure } from "../../parts/Failure";

// Result shows how many people each step of a funnel has, as bars and as numbers.
export function Result({ id }: { id: string }) {
  const { at, env, range } = useHere();
  const { data, error, loading, again } = useAsk(JSON.stringify([at, id, env, range]), (signal) => call("get", "/api/v1/apps/{org}/{app}/funnels/{id}/results", { path: { ...at, id }, query: { env, range }, signal }));
  if (error) return <Failure error={error} again={again} />;
  if (!data) return <p class="quiet pad" role="status" aria-busy="true">{t.hints.loading}</p>;
  const entered = data.steps[0]?.entered ?? 0, whole = data.steps[data.steps.length - 1]?.entered ?? 0;
  return (
    <div class={loading ? "busy" : ""} aria-busy={loading}>
      <p class="pad strong">{t.funnels.whole(entered ? share(whole / entered) : t.hints.none)}</p>
      <table class="rows funnel">
        <thead><tr><th scope="col">{t.funnels.name}</th><th scope="col" class="number">{t.funnels.entered}</th><th scope="col" class="number wide">{t.funnels.converted}</th><th scope="col" class="number">{t.funnels.rate}</th><th scope="col" class="number wide">{t.funnels.dropOff}</th><th scope="col" class="number wide">{t.funnels.median}</th></tr></thead>
        <tbody>{data.steps.map((row) => (
          <tr key={row.step}>
            <td><span class="text">{row.step}. {row.name}</span>
              <svg class="step" aria-hidden="true" preserveAspectRatio="none" viewBox="0 0 100 1"><rect class="all" width={entered ? (row.entered / entered) * 100 : 0} height={1} /><rect width={entered ? (row.converted / entered) * 100 : 0} height={1} /></svg></td>
            <td class="number">{count(row.entered)}</td><td class="number wide">{count(row.converted)}</td><td class="number">{share(row.conversionRate)}</td>
            <td class="number wide">{count(row.dropOff)}</td><td class="number wide">{row.medianSeconds === null ? t.hints.none : duration(row.medianSeconds * 1000)}</td>
          </tr>
        ))}</tbody>
      </table>
      {data.capped && <p class="quiet pad">{t.funnels.capped}</p>}
    </div>
  );
}
