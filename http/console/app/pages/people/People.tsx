import { useRef } from "preact/hooks";
import { call } from "../../api/client";
import { useAsk } from "../../core/ask";
import { ago, brief, country, when } from "../../core/format";
import { useCursor } from "../../core/keys";
import { useHere } from "../../core/me";
import { usePages } from "../../core/pages";
import { go, set, to } from "../../core/place";
import { t } from "../../core/texts";
import { useWindow } from "../../core/window";
import { Empty } from "../../parts/Empty";
import { Failure } from "../../parts/Failure";
import { More } from "../../parts/More";
import { Search } from "../../parts/Search";

const stages = ["visitor", "lead", "signup", "activated", "paying", "churned"] as const;
type Stage = (typeof stages)[number];

// rowHeight is the height of a person in the list in pixels, as in the style sheet.
const rowHeight = 57;

// People lists the people, with a search by their traits and a filter by their stage.
export function People() {
  const { at, env, place, app, range } = useHere();
  const q = place.query.get("q") ?? "",
    stage = (place.query.get("stage") ?? "") as Stage | "";
  const funnel = place.query.get("funnel") ?? "",
    step = Number(place.query.get("step")) || 1;
  const query = {
    env,
    q: q || undefined,
    stage: stage || undefined,
    limit: 100,
    ...(funnel && { funnel, step, range }),
  };
  const { rows, first, cursor, more } = usePages(JSON.stringify([at, query]), (after, signal) =>
    call("get", "/api/v1/apps/{org}/{app}/people", { path: at, query: { ...query, cursor: after }, signal }),
  );
  const row = useCursor(rows.length, (i) => go(to(place, "people", rows[i]!.id)));
  const body = useRef<HTMLTableSectionElement>(null),
    seen = useWindow(body, rows.length, rowHeight);
  return (
    <>
      <div class="scope">
        <h1>{t.pages["people"]}</h1>
        <span class="zone quiet">{t.frame.zone(app.timezone)}</span>
        <select
          aria-label={t.people.stage}
          value={stage}
          onChange={(event) => go(set(place, "stage", event.currentTarget.value))}
        >
          <option value="">{t.people.allStages}</option>
          {stages.map((one) => (
            <option key={one} value={one}>
              {t.people.stages[one]}
            </option>
          ))}
        </select>
        <Search label={t.people.search} value={q} change={(text) => go(set(place, "q", text))} />
      </div>
      {funnel && <Stopped funnel={funnel} step={step} />}
      <section
        class={"card list" + (first.loading ? " busy" : "")}
        aria-label={t.pages["people"]}
        aria-busy={first.loading}
      >
        {first.error ? (
          <Failure error={first.error} again={first.again} />
        ) : rows.length === 0 && !first.loading ? (
          <Empty title={t.people.empty} hint={t.people.emptyHint} />
        ) : (
          <table class="rows tall">
            <thead>
              <tr>
                <th scope="col" class="lead">
                  {t.people.person}
                </th>
                <th scope="col">{t.people.stage}</th>
                <th scope="col" class="wide">
                  {t.people.source}
                </th>
                <th scope="col" class="wide">
                  {t.people.place}
                </th>
                <th scope="col" class="wide">
                  {t.people.last}
                </th>
                <th scope="col" class="number">
                  {t.people.sessions}
                </th>
                <th scope="col" class="number wide">
                  {t.people.events}
                </th>
              </tr>
            </thead>
            <tbody ref={body}>
              {seen.before > 0 && <tr aria-hidden="true" class="gap" style={{ height: seen.before + "px" }} />}
              {rows.slice(seen.from, seen.to).map((one, i) => (
                <tr
                  key={one.id}
                  data-row={seen.from + i}
                  class={seen.from + i === row ? "at" : ""}
                  onClick={() => go(to(place, "people", one.id))}
                >
                  <td class="title">
                    <a href={to(place, "people", one.id)}>
                      {one.name ?? one.email ?? one.distinctId ?? t.people.unknown}
                    </a>
                    <small class="text">
                      {[one.name && one.email, one.company].filter(Boolean).join(" · ") ||
                        (!one.name && !one.email && one.distinctId ? t.people.unknown : t.hints.none)}
                    </small>
                  </td>
                  <td>{t.people.stages[one.lifecycleStage]}</td>
                  <td class="wide text">{one.firstSource ?? t.hints.none}</td>
                  <td class="wide text">
                    {[one.city, one.country && country(one.country)].filter(Boolean).join(", ") || t.hints.none}
                  </td>
                  <td class="wide time" title={when(one.lastSeenAt, app.timezone)}>
                    {ago(one.lastSeenAt)}
                  </td>
                  <td class="number">{brief(one.sessions)}</td>
                  <td class="number wide">{brief(one.events)}</td>
                </tr>
              ))}
              {seen.after > 0 && <tr aria-hidden="true" class="gap" style={{ height: seen.after + "px" }} />}
            </tbody>
          </table>
        )}
        {cursor && <More more={more} />}
      </section>
    </>
  );
}

// Stopped names the funnel and the step at which the listed people stopped.
function Stopped({ funnel, step }: { funnel: string; step: number }) {
  const { at, place, range } = useHere();
  const { data } = useAsk(JSON.stringify([at, funnel, "funnel"]), (signal) =>
    call("get", "/api/v1/apps/{org}/{app}/funnels", { path: at, query: { limit: 200 }, signal }),
  );
  const found = data?.data.find((one) => one.id === funnel);
  return (
    <p class="said">
      {t.people.stopped(step, found?.steps[step - 1]?.match ?? "", t.ranges[range] ?? range)}{" "}
      <a href={to(place, "funnels", "", { funnel })}>{found?.name ?? t.pages["funnels"]}</a> ·{" "}
      <a href={to(place, "people")}>{t.people.everybody}</a>
    </p>
  );
}
