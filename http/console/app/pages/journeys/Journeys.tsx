import { call, type Schema } from "../../api/client";
import { useAsk } from "../../core/ask";
import { brief, count, share } from "../../core/format";
import { useHere } from "../../core/me";
import { go, set, to } from "../../core/place";
import { t } from "../../core/texts";
import { Empty } from "../../parts/Empty";
import { Failure } from "../../parts/Failure";
import { Search } from "../../parts/Search";

// Journeys shows the next steps of visits after a page or an event, or the steps before it.
export function Journeys() {
  const { at, env, range, filters, place } = useHere();
  const direction = place.query.get("direction") === "to" ? "to" : "from",
    start = place.query.get("start") || "/";
  const query = {
    env,
    range,
    filter: filters,
    [direction]: (start.startsWith("/") ? "path:" : "event:") + start,
    steps: 4,
    limit: 8,
  };
  const { data, error, loading, again } = useAsk(JSON.stringify([at, query]), (signal) =>
    call("get", "/api/v1/apps/{org}/{app}/analytics/journeys", { path: at, query: query as never, signal }),
  );
  const steps = [...new Set(data?.links.map((link) => link.step) ?? [])].sort((a, b) => a - b);
  return (
    <section class={"card list" + (loading ? " busy" : "")} aria-label={t.pages["journeys"]} aria-busy={loading}>
      <div class="head pad">
        <select
          aria-label={t.journeys.direction}
          value={direction}
          onChange={(event) => go(set(place, "direction", event.currentTarget.value === "to" ? "to" : ""))}
        >
          <option value="from">{t.journeys.from}</option>
          <option value="to">{t.journeys.to}</option>
        </select>
        <Search label={t.journeys.start} value={start} change={(text) => go(set(place, "start", text))} />
        <span class="quiet grow">{data && t.journeys.sessions(count(data.sessions))}</span>
      </div>
      {error ? (
        <Failure error={error} again={again} />
      ) : data && data.sessions === 0 ? (
        <Empty title={t.journeys.empty} hint={t.journeys.emptyHint} />
      ) : (
        <ol class="journey">
          {steps.map((step) => (
            <Step
              key={step}
              step={step}
              links={data!.links.filter((link) => link.step === step)}
              whole={data!.sessions}
              href={(value) =>
                to(place, "journeys", "", { start: value, ...(direction === "to" ? { direction } : {}) })
              }
            />
          ))}
        </ol>
      )}
      {data?.capped && <p class="quiet pad">{t.journeys.capped}</p>}
    </section>
  );
}

// Step adds up the links that lead to the same value.
function Step({
  step,
  links,
  whole,
  href,
}: {
  step: number;
  links: Schema["JourneyLink"][];
  whole: number;
  href: (value: string) => string;
}) {
  const sums = new Map<string, { name: string; known: boolean; sessions: number }>();
  for (const link of links) {
    const name = link.end ? t.journeys.end : link.toOther ? t.journeys.others : (link.to ?? t.journeys.end);
    const sum = sums.get(name) ?? { name, known: !link.end && !link.toOther && link.to !== null, sessions: 0 };
    sum.sessions += link.sessions;
    sums.set(name, sum);
  }
  const rows = [...sums.values()].sort((a, b) => b.sessions - a.sessions);
  return (
    <li>
      <table class="bars">
        <thead>
          <tr>
            <th scope="col">{t.journeys.step(step)}</th>
            <th scope="col">{t.journeys.visits}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.name}>
              <th scope="row">
                <svg class="fill" aria-hidden="true" preserveAspectRatio="none" viewBox="0 0 100 1">
                  <rect width={whole ? (row.sessions / whole) * 100 : 0} height={1} />
                </svg>
                {row.known ? (
                  <a class="text" href={href(row.name)}>
                    {row.name}
                  </a>
                ) : (
                  <span class="text">{row.name}</span>
                )}
              </th>
              <td title={share(row.sessions / whole)}>{brief(row.sessions)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </li>
  );
}
