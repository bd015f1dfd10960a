import { useState } from "preact/hooks";
import { call } from "../../api/client";
import { useAct, useAsk } from "../../core/ask";
import { ago, brief, count, when } from "../../core/format";
import { useKeys } from "../../core/keys";
import { useHere } from "../../core/me";
import { go, to } from "../../core/place";
import { t } from "../../core/texts";
import { Crumb } from "../../parts/Crumb";
import { Failure } from "../../parts/Failure";
import { value } from "../../parts/filter";
import { Spark } from "../../parts/Spark";
import { Activity } from "./Activity";
import { Assign } from "./Assign";
import { Occurrence } from "./Occurrence";

type Decision = "resolved" | "ignored" | "open";

// Issue shows one issue: its error, counts and times, and its occurrences one by one.
export function Issue({ id }: { id: string }) {
  const { at, env, place, app, may } = useHere();
  const path = { ...at, issueId: id };
  const issue = useAsk(JSON.stringify([path, env]), (signal) =>
    call("get", "/api/v1/apps/{org}/{app}/errors/{issueId}", { path, query: { env }, signal }),
  );
  const events = useAsk(JSON.stringify([path, env, "events"]), (signal) =>
    call("get", "/api/v1/apps/{org}/{app}/errors/{issueId}/events", { path, query: { env, limit: 100 }, signal }),
  );
  const [which, turn] = useState(0);
  const { busy, error, run } = useAct();
  const decide = (status: Decision) =>
    void run(async () => {
      await call("patch", "/api/v1/apps/{org}/{app}/errors/{issueId}", { path, query: { env }, body: { status } });
      issue.again();
    });
  const assign = (assigneeId: string | null) =>
    void run(async () => {
      await call("patch", "/api/v1/apps/{org}/{app}/errors/{issueId}", { path, query: { env }, body: { assigneeId } });
      issue.again();
    });
  const separate = (part: string) =>
    void run(async () => {
      await call("post", "/console/api/v1/apps/{org}/{app}/errors/{issueId}/unmerge", {
        path,
        query: { env },
        body: { issueIds: [part] },
      });
      issue.again();
    });
  const list = events.data?.data ?? [],
    writes = may("errors.write");
  useKeys({
    j: () => turn(Math.min(which + 1, list.length - 1)),
    k: () => turn(Math.max(which - 1, 0)),
    u: () => go(to(place, "errors")),
    ...(writes ? { e: () => decide("resolved"), i: () => decide("ignored") } : {}),
  });
  if (issue.error)
    return (
      <section class="card">
        <Failure error={issue.error} again={issue.again} />
      </section>
    );
  if (!issue.data)
    return (
      <section class="card" aria-busy="true">
        <p class="quiet pad" role="status">
          {t.hints.loading}
        </p>
      </section>
    );
  const it = issue.data,
    done = it.status === "resolved" || it.status === "ignored";
  return (
    <>
      <Crumb page="errors" />
      <section class="card issue" aria-labelledby="issue-title">
        <div class="top">
          <div>
            <h1 id="issue-title" class={"level " + it.level}>
              {it.title}
            </h1>
            <p class="quiet">{it.culprit}</p>
          </div>
          {writes && (
            <div class="bulk">
              <Assign label={t.errors.assign} value={it.assignee?.id ?? ""} disabled={busy} change={assign} />
              <span class={"badge " + it.status}>{t.errors.statuses[it.status]}</span>
              {done ? (
                <button type="button" disabled={busy} onClick={() => decide("open")}>
                  {t.errors.reopen}
                </button>
              ) : (
                <>
                  <button type="button" class="primary" disabled={busy} onClick={() => decide("resolved")}>
                    {t.errors.resolve}
                  </button>
                  <button type="button" disabled={busy} onClick={() => decide("ignored")}>
                    {t.errors.ignore}
                  </button>
                </>
              )}
            </div>
          )}
        </div>
        {error && <Failure error={error} />}
        {it.merged.length > 0 && (
          <ul class="merged" aria-label={t.errors.parts}>
            {it.merged.map((part) => (
              <li key={part} class="quiet">
                <code>{part}</code>{" "}
                {writes && (
                  <button type="button" class="small" disabled={busy} onClick={() => separate(part)}>
                    {t.errors.separate}
                  </button>
                )}
              </li>
            ))}
          </ul>
        )}
        <dl class="sums">
          <div>
            <dt>{t.errors.events}</dt>
            <dd title={count(it.eventCount)}>{brief(it.eventCount)}</dd>
          </div>
          <div>
            <dt>{t.errors.users}</dt>
            <dd title={count(it.userCount)}>{brief(it.userCount)}</dd>
          </div>
          <div>
            <dt>{t.errors.last}</dt>
            <dd title={when(it.lastSeenAt, app.timezone)}>{ago(it.lastSeenAt)}</dd>
          </div>
          <div>
            <dt>{t.errors.first}</dt>
            <dd title={when(it.firstSeenAt, app.timezone)}>{ago(it.firstSeenAt)}</dd>
          </div>
          <div>
            <dt>{t.errors.daily}</dt>
            <dd>
              <Spark
                numbers={it.daily.map((day) => day.events)}
                label={t.errors.daily + ": " + it.daily.map((day) => day.events).join(", ")}
              />
            </dd>
          </div>
        </dl>
      </section>
      <div class="split">
        <section class="card occurrence" aria-label={t.errors.stack}>
          {events.error ? (
            <Failure error={events.error} again={events.again} />
          ) : list[which] ? (
            <>
              <div class="head pad">
                <h2>{t.errors.occurrence(which + 1, brief(it.eventCount))}</h2>
                <div class="bulk">
                  <button type="button" class="small" disabled={which === 0} onClick={() => turn(which - 1)}>
                    {t.errors.newer}
                  </button>
                  <button
                    type="button"
                    class="small"
                    disabled={which >= list.length - 1}
                    onClick={() => turn(which + 1)}
                  >
                    {t.errors.older}
                  </button>
                </div>
              </div>
              <Occurrence issueId={id} eventId={list[which].id} />
            </>
          ) : (
            <p class="quiet pad">{events.loading ? t.hints.loading : t.errors.empty}</p>
          )}
        </section>
        <aside class="card side" tabIndex={0}>
          <h2>{t.errors.tags}</h2>
          {it.tags.length === 0 && <p class="quiet">{t.hints.none}</p>}
          {it.tags.map((tag) => (
            <div key={tag.key} class="tag">
              <h3>{tag.key}</h3>
              <ul>
                {tag.values.slice(0, 4).map((one) => (
                  <li key={one.value}>
                    <span class="text">{value(tag.key, one.value)}</span> <small>{brief(one.count)}</small>
                  </li>
                ))}
              </ul>
            </div>
          ))}
          <h2>{t.errors.releases}</h2>
          {it.releases.length === 0 && <p class="quiet">{t.hints.none}</p>}
          <ul class="tag">
            {it.releases.map((one) => (
              <li key={one.release}>
                <span class="text">{one.release}</span> <small>{brief(one.eventCount)}</small>
              </li>
            ))}
          </ul>
        </aside>
      </div>
      <Activity id={id} turn={it.status + (it.assignee?.id ?? "") + it.merged.length} />
    </>
  );
}
