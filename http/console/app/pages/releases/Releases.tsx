import { call } from "../../api/client";
import { useAsk } from "../../core/ask";
import { ago, brief, bytes, share, when } from "../../core/format";
import { useCursor } from "../../core/keys";
import { useHere } from "../../core/me";
import { usePages } from "../../core/pages";
import { go, set, to } from "../../core/place";
import { t } from "../../core/texts";
import { Empty } from "../../parts/Empty";
import { Failure } from "../../parts/Failure";
import { More } from "../../parts/More";
import { Search } from "../../parts/Search";

// ReleasesPage shows the errors of each release, or the source maps for stacks.
export function ReleasesPage() {
  const { place, app } = useHere();
  const maps = place.rest === "maps";
  return (
    <>
      <div class="scope">
        <h1>{t.pages["releases"]}</h1>
        <span class="zone quiet">{t.frame.zone(app.timezone)}</span>
        {!maps && (
          <Search
            label={t.releases.search}
            value={place.query.get("q") ?? ""}
            change={(text) => go(set(place, "q", text))}
          />
        )}
      </div>
      <nav class="tabs large" aria-label={t.pages["releases"]}>
        {Object.entries(t.releases.tabs).map(([name, text]) => (
          <a
            key={name}
            href={to(place, "releases", name === "releases" ? "" : name)}
            aria-current={(name === "maps") === maps ? "page" : undefined}
          >
            {text}
          </a>
        ))}
      </nav>
      {maps ? <Maps /> : <Releases />}
    </>
  );
}

function Releases() {
  const { at, env, app, place } = useHere();
  const query = { env, q: place.query.get("q") || undefined, limit: 50 };
  const { rows, first, cursor, more } = usePages(JSON.stringify([at, query]), (after, signal) =>
    call("get", "/api/v1/apps/{org}/{app}/errors/releases", { path: at, query: { ...query, cursor: after }, signal }),
  );
  const row = useCursor(rows.length, () => {});
  return (
    <section
      class={"card list" + (first.loading ? " busy" : "")}
      aria-label={t.pages["releases"]}
      aria-busy={first.loading}
    >
      {first.error ? (
        <Failure error={first.error} again={first.again} />
      ) : rows.length === 0 && !first.loading ? (
        <Empty title={t.releases.empty} hint={t.releases.emptyHint} />
      ) : (
        <table class="rows">
          <thead>
            <tr>
              <th scope="col">{t.releases.release}</th>
              <th scope="col" class="number">
                {t.releases.fresh}
              </th>
              <th scope="col" class="number">
                {t.releases.regressed}
              </th>
              <th scope="col" class="number wide">
                {t.releases.resolved}
              </th>
              <th scope="col" class="number wide">
                {t.errors.events}
              </th>
              <th scope="col" class="number wide">
                {t.releases.crashFree}
              </th>
              <th scope="col" class="wide">
                {t.errors.last}
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map((one, i) => (
              <tr key={one.release} data-row={i} class={i === row ? "at" : ""}>
                <td class="text">
                  <b>{one.release}</b>
                </td>
                <td class="number">{brief(one.newIssues)}</td>
                <td class={"number" + (one.regressedIssues > 0 ? " bad" : "")}>{brief(one.regressedIssues)}</td>
                <td class="number wide">{brief(one.resolvedIssues)}</td>
                <td class="number wide">{brief(one.eventCount)}</td>
                <td class="number wide">
                  {one.crashFreeSessions === null ? t.hints.none : share(one.crashFreeSessions)}
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
  );
}

function Maps() {
  const { at, env, app } = useHere();
  const list = useAsk(JSON.stringify([at, env, "maps"]), (signal) =>
    call("get", "/api/v1/apps/{org}/{app}/errors/artifacts", { path: at, query: { env, limit: 200 }, signal }),
  );
  const rows = list.data?.data ?? [],
    missing = list.data?.unmapped ?? [];
  const row = useCursor(rows.length, () => {});
  if (list.error)
    return (
      <section class="card">
        <Failure error={list.error} again={list.again} />
      </section>
    );
  return (
    <>
      <section
        class={"card list" + (list.loading ? " busy" : "")}
        aria-label={t.releases.tabs["maps"]}
        aria-busy={list.loading}
      >
        {rows.length === 0 && !list.loading ? (
          <Empty title={t.releases.noMaps} hint={t.releases.noMapsHint}>
            <a href="/docs/error-tracking">{t.frame.docs}</a>
          </Empty>
        ) : (
          <table class="rows">
            <thead>
              <tr>
                <th scope="col">{t.releases.file}</th>
                <th scope="col" class="wide">
                  {t.releases.release}
                </th>
                <th scope="col" class="number">
                  {t.releases.size}
                </th>
                <th scope="col" class="wide">
                  {t.releases.uploaded}
                </th>
              </tr>
            </thead>
            <tbody>
              {rows.map((one, i) => (
                <tr key={i} data-row={i} class={i === row ? "at" : ""}>
                  <td class="text">
                    {one.file ?? one.debugId}
                    <small class="text">{one.file && one.debugId}</small>
                  </td>
                  <td class="wide text">{one.release ?? t.hints.none}</td>
                  <td class="number">{bytes(one.size)}</td>
                  <td class="wide time">{when(one.uploadedAt, app.timezone)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </section>
      {missing.length > 0 && (
        <section class="card list" aria-labelledby="unmapped">
          <div class="head pad">
            <h2 id="unmapped">{t.releases.unmapped}</h2>
          </div>
          <table class="rows">
            <thead>
              <tr>
                <th scope="col">{t.releases.file}</th>
                <th scope="col">{t.releases.why}</th>
                <th scope="col" class="number">
                  {t.releases.frames}
                </th>
              </tr>
            </thead>
            <tbody>
              {missing.map((one) => (
                <tr key={one.file + one.reason + one.release}>
                  <td class="text">
                    {one.file}
                    <small class="text">{one.release}</small>
                  </td>
                  <td>{one.reason}</td>
                  <td class="number">{brief(one.frames)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
    </>
  );
}
