import { call } from "../../api/client";
import { ago, brief, when } from "../../core/format";
import { useCursor } from "../../core/keys";
import { useHere } from "../../core/me";
import { usePages } from "../../core/pages";
import { go, set, to } from "../../core/place";
import { t } from "../../core/texts";
import { Empty } from "../../parts/Empty";
import { Failure } from "../../parts/Failure";
import { More } from "../../parts/More";
import { Search } from "../../parts/Search";

// Companies groups people by the company in their traits.
export function Companies() {
  const { at, env, place, app } = useHere();
  const query = { env, q: place.query.get("q") || undefined, limit: 100 };
  const { rows, first, cursor, more } = usePages(JSON.stringify([at, query]), (after, signal) =>
    call("get", "/api/v1/apps/{org}/{app}/companies", { path: at, query: { ...query, cursor: after }, signal }),
  );
  const people = (name: string) => to(place, "people", "", { q: name });
  const row = useCursor(rows.length, (i) => go(people(rows[i]!.name)));
  return (
    <>
      <div class="scope">
        <h1>{t.pages["companies"]}</h1>
        <span class="zone quiet">{t.frame.zone(app.timezone)}</span>
        <Search
          label={t.companies.search}
          value={place.query.get("q") ?? ""}
          change={(text) => go(set(place, "q", text))}
        />
      </div>
      <section
        class={"card list" + (first.loading ? " busy" : "")}
        aria-label={t.pages["companies"]}
        aria-busy={first.loading}
      >
        {first.error ? (
          <Failure error={first.error} again={first.again} />
        ) : rows.length === 0 && !first.loading ? (
          <Empty title={t.companies.empty} hint={t.companies.emptyHint} />
        ) : (
          <table class="rows">
            <thead>
              <tr>
                <th scope="col">{t.companies.company}</th>
                <th scope="col" class="number">
                  {t.companies.people}
                </th>
                <th scope="col" class="number wide">
                  {t.people.events}
                </th>
                <th scope="col" class="wide">
                  {t.people.first}
                </th>
                <th scope="col" class="wide">
                  {t.people.last}
                </th>
              </tr>
            </thead>
            <tbody>
              {rows.map((one, i) => (
                <tr key={one.name} data-row={i} class={i === row ? "at" : ""}>
                  <td class="title">
                    <a href={people(one.name)}>{one.name}</a>
                  </td>
                  <td class="number">{brief(one.people)}</td>
                  <td class="number wide">{brief(one.events)}</td>
                  <td class="wide time" title={when(one.firstSeenAt, app.timezone)}>
                    {ago(one.firstSeenAt)}
                  </td>
                  <td class="wide time" title={when(one.lastSeenAt, app.timezone)}>
                    {ago(one.lastSeenAt)}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
        {cursor && <More more={more} />}
      </section>
    </>
  );
}
