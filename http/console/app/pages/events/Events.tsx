import { useRef } from "preact/hooks";
import { call } from "../../api/client";
import { useAsk } from "../../core/ask";
import { country, moment, when } from "../../core/format";
import { useCursor } from "../../core/keys";
import { useFollow } from "../../core/live";
import { useHere } from "../../core/me";
import { usePages } from "../../core/pages";
import { go, set } from "../../core/place";
import { t } from "../../core/texts";
import { useWindow } from "../../core/window";
import { Empty } from "../../parts/Empty";
import { Failure } from "../../parts/Failure";
import { More } from "../../parts/More";
import { Search } from "../../parts/Search";
import { Details } from "./Details";

// size is the number of events in the first page of the feed, later the number in the others. rowHeight is the height
// of a row in pixels, as in the style sheet.
const size = 100,
  later = 200,
  rowHeight = 39;

// Events is the feed, the newest first. It grows while it is open: live changes when events have arrived.
export function Events({ live }: { live?: string }) {
  const { at, env, place, app } = useHere();
  const name = place.query.get("name") ?? "",
    search = place.query.get("search") ?? "",
    chosen = place.query.get("event") ?? "";
  const query = { env, name: name || undefined, search: search || undefined, limit: size };
  const key = JSON.stringify([at, query]);
  const {
    rows,
    first: newest,
    cursor,
    grown,
    more,
  } = usePages(key, (after, signal) =>
    call("get", "/api/v1/apps/{org}/{app}/events", {
      path: at,
      query: after ? { ...query, limit: later, cursor: after } : query,
      signal,
    }),
  );
  const names = useAsk(JSON.stringify([at, env, "names"]), (signal) =>
    call("get", "/api/v1/apps/{org}/{app}/events/names", {
      path: at,
      query: { env, range: "30d", limit: 100 },
      signal,
    }),
  );
  // A feed that was scrolled down does not change.
  useFollow(live, grown || newest.loading, newest.again, 0);
  const body = useRef<HTMLTableSectionElement>(null),
    seen = useWindow(body, rows.length, rowHeight);
  const open = (id: string) => go(set(place, "event", id));
  const row = useCursor(rows.length, (i) => open(rows[i]!.id));
  const shown = rows.find((event) => event.id === chosen);
  return (
    <>
      <div class="scope">
        <h1>{t.pages["events"]}</h1>
        <span class="zone quiet">{t.frame.zone(app.timezone)}</span>
        <select
          aria-label={t.events.names}
          value={name}
          onChange={(event) => go(set(place, "name", event.currentTarget.value))}
        >
          <option value="">{t.events.all}</option>
          {names.data?.data.map((one) => (
            <option key={one.name} value={one.name}>
              {one.name}
            </option>
          ))}
          {name && !names.data?.data.some((one) => one.name === name) && <option value={name}>{name}</option>}
        </select>
        <Search label={t.events.search} value={search} change={(text) => go(set(place, "search", text))} />
      </div>
      <div class="split">
        <section class="card list" aria-label={t.pages["events"]} aria-busy={newest.loading}>
          {newest.error ? (
            <Failure error={newest.error} again={newest.again} />
          ) : rows.length === 0 && !newest.loading ? (
            <Empty title={t.events.empty} hint={t.events.emptyHint} />
          ) : (
            <table class="rows even">
              <thead>
                <tr>
                  <th scope="col">{t.events.time}</th>
                  <th scope="col">{t.events.name}</th>
                  <th scope="col" class="wide">
                    {t.events.page}
                  </th>
                  <th scope="col" class="wide">
                    {t.events.place}
                  </th>
                </tr>
              </thead>
              <tbody ref={body}>
                {seen.before > 0 && <tr aria-hidden="true" class="gap" style={{ height: seen.before + "px" }} />}
                {rows.slice(seen.from, seen.to).map((event, i) => (
                  <tr
                    key={event.id}
                    data-row={seen.from + i}
                    class={event.id === chosen ? "chosen" : seen.from + i === row ? "at" : ""}
                    onClick={() => open(event.id)}
                  >
                    <td class="time" title={when(event.ts, app.timezone)}>
                      {moment(event.ts, app.timezone)}
                    </td>
                    <td>
                      <a href={set(place, "event", event.id)}>{event.name}</a>
                    </td>
                    <td class="wide text">{event.path ?? t.hints.none}</td>
                    <td class="wide text">
                      {[event.city, event.country && country(event.country)].filter(Boolean).join(", ") || t.hints.none}
                    </td>
                  </tr>
                ))}
                {seen.after > 0 && <tr aria-hidden="true" class="gap" style={{ height: seen.after + "px" }} />}
              </tbody>
            </table>
          )}
          {cursor && <More more={more} />}
        </section>
        <Details id={chosen} known={shown} close={() => go(set(place, "event", ""))} />
      </div>
    </>
  );
}
