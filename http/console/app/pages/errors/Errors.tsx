import { useEffect, useRef, useState } from "preact/hooks";
import { call } from "../../api/client";
import { useAct } from "../../core/ask";
import { ago, brief, count, when } from "../../core/format";
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
import { Spark } from "../../parts/Spark";
import { Assign } from "./Assign";

const statuses = ["open", "regressed", "ignored", "resolved", "all"] as const;
type Status = (typeof statuses)[number];
type Decision = "resolved" | "ignored" | "open";

// most is the maximum number of issues in one request.
const most = 200;
// rowHeight is the height of an issue in the list in pixels, as in the style sheet.
const rowHeight = 57;

// Errors lists issues by their status and by words, and changes several at once.
export function Errors() {
  const { at, env, place, app, may } = useHere();
  const status = (
    statuses.includes(place.query.get("status") as Status) ? place.query.get("status") : "open"
  ) as Status;
  const q = place.query.get("q") ?? "",
    sort = (place.query.get("sort") ?? "last_seen") as "last_seen";
  const query = { env, status, q: q || undefined, sort, limit: 50 };
  const key = JSON.stringify([at, query]);
  const { rows, first, cursor, more, again } = usePages(key, (after, signal) =>
    call("get", "/api/v1/apps/{org}/{app}/errors", { path: at, query: { ...query, cursor: after }, signal }),
  );
  const [chosen, choose] = useState<string[]>([]);
  const { busy, error, run } = useAct();
  const [said, say] = useState("");
  useEffect(() => choose([]), [key]);
  const writes = may("errors.write");
  // Several issues are changed in one request; the answer contains the result for each.
  const change = (ids: string[], body: { status?: Decision; assigneeId?: string | null }) =>
    run(async () => {
      const failed: string[] = [];
      for (let from = 0; from < ids.length; from += most) {
        const answer = await call("patch", "/api/v1/apps/{org}/{app}/errors", {
          path: at,
          query: { env },
          body: { ids: ids.slice(from, from + most), ...body },
        });
        for (const one of answer.data) if (one.error) failed.push(one.error.message);
      }
      say(failed.length ? t.errors.failed(failed.length, failed[0]!) : t.errors.done(ids.length));
      choose([]);
      again();
    });
  const decide = (ids: string[], status: Decision) => change(ids, { status });
  const merge = () =>
    run(async () => {
      const [into = "", ...others] = chosen;
      await call("post", "/console/api/v1/apps/{org}/{app}/errors/{issueId}/merge", {
        path: { ...at, issueId: into },
        query: { env },
        body: { issueIds: others },
      });
      say(t.errors.merged(chosen.length));
      choose([]);
      again();
    });
  const flip = (id: string) => choose(chosen.includes(id) ? chosen.filter((one) => one !== id) : [...chosen, id]);
  const body = useRef<HTMLTableSectionElement>(null),
    seen = useWindow(body, rows.length, rowHeight);
  const row = useCursor(
    rows.length,
    (i) => go(to(place, "errors", rows[i]!.id)),
    writes
      ? {
          x: (i) => flip(rows[i]!.id),
          e: (i) => void decide([rows[i]!.id], "resolved"),
          i: (i) => void decide([rows[i]!.id], "ignored"),
        }
      : {},
  );
  return (
    <>
      <div class="scope">
        <h1>{t.pages["errors"]}</h1>
        <span class="grow" />
        <select
          aria-label={t.errors.sort}
          value={sort}
          onChange={(event) => go(set(place, "sort", event.currentTarget.value))}
        >
          {Object.entries(t.errors.sorts).map(([name, text]) => (
            <option key={name} value={name}>
              {text}
            </option>
          ))}
        </select>
        <Search label={t.errors.search} value={q} change={(text) => go(set(place, "q", text))} />
      </div>
      <section
        class={"card list" + (first.loading ? " busy" : "")}
        aria-label={t.pages["errors"]}
        aria-busy={first.loading}
      >
        <div class="head">
          <nav class="tabs" aria-label={t.errors.issue}>
            {statuses.map((one) => (
              <a
                key={one}
                href={set(place, "status", one === "open" ? "" : one)}
                aria-current={one === status ? "true" : undefined}
              >
                {t.errors.statuses[one]} {first.data && <small>{brief(first.data.counts[one])}</small>}
              </a>
            ))}
          </nav>
          {chosen.length > 0 && (
            <div class="bulk">
              <span class="quiet">{t.errors.chosen(chosen.length)}</span>
              <button type="button" disabled={busy} onClick={() => void decide(chosen, "resolved")}>
                {t.errors.resolve}
              </button>
              <button type="button" disabled={busy} onClick={() => void decide(chosen, "ignored")}>
                {t.errors.ignore}
              </button>
              <button type="button" disabled={busy} onClick={() => void decide(chosen, "open")}>
                {t.errors.reopen}
              </button>
              <Assign
                label={t.errors.assign}
                value=""
                disabled={busy}
                change={(id) => void change(chosen, { assigneeId: id })}
              />
              {chosen.length > 1 && (
                <button
                  type="button"
                  disabled={busy}
                  onClick={() => confirm(t.errors.mergeConfirm(chosen.length)) && void merge()}
                >
                  {t.errors.merge}
                </button>
              )}
            </div>
          )}
        </div>
        {error && <Failure error={error} />}
        <p role="status" class="hidden">
          {said}
        </p>
        {first.error ? (
          <Failure error={first.error} again={first.again} />
        ) : rows.length === 0 && !first.loading ? (
          <Empty title={t.errors.empty} hint={t.errors.emptyHint} />
        ) : (
          <table class="rows tall issues">
            <thead>
              <tr>
                {writes && (
                  <th class="tick">
                    <input
                      type="checkbox"
                      aria-label={t.errors.chooseAll}
                      checked={rows.length > 0 && chosen.length === rows.length}
                      onChange={(event) => choose(event.currentTarget.checked ? rows.map((issue) => issue.id) : [])}
                    />
                  </th>
                )}
                <th scope="col">{t.errors.issue}</th>
                <th scope="col" class="wide">
                  {t.errors.last}
                </th>
                <th scope="col" class="wide">
                  <span class="hidden">{t.errors.daily}</span>
                </th>
                <th scope="col" class="number">
                  {t.errors.events}
                </th>
                <th scope="col" class="number">
                  {t.errors.users}
                </th>
              </tr>
            </thead>
            <tbody ref={body}>
              {seen.before > 0 && <tr aria-hidden="true" class="gap" style={{ height: seen.before + "px" }} />}
              {rows.slice(seen.from, seen.to).map((issue, i) => (
                <tr key={issue.id} data-row={seen.from + i} class={seen.from + i === row ? "at" : ""}>
                  {writes && (
                    <td class="tick">
                      <input
                        type="checkbox"
                        aria-label={t.errors.choose(issue.title)}
                        checked={chosen.includes(issue.id)}
                        onChange={() => flip(issue.id)}
                      />
                    </td>
                  )}
                  <td class="title">
                    <a class={"level " + issue.level} href={to(place, "errors", issue.id)}>
                      {issue.title}
                    </a>
                    <small class="text">
                      {issue.culprit}
                      {issue.status === "regressed" && <b class="badge">{t.errors.statuses.regressed}</b>}
                    </small>
                  </td>
                  <td class="wide time" title={when(issue.lastSeenAt, app.timezone)}>
                    {ago(issue.lastSeenAt)}
                  </td>
                  <td class="wide">
                    <Spark numbers={issue.spark} label={t.errors.spark(issue.spark)} />
                  </td>
                  <td class="number" title={count(issue.eventCount)}>
                    {brief(issue.eventCount)}
                  </td>
                  <td class="number" title={count(issue.userCount)}>
                    {brief(issue.userCount)}
                  </td>
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
