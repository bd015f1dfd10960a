import { call } from "../../api/client";
import { useAct, useAsk } from "../../core/ask";
import { count, duration, when } from "../../core/format";
import { useKeys } from "../../core/keys";
import { useHere } from "../../core/me";
import { go, to } from "../../core/place";
import { t } from "../../core/texts";
import { Crumb } from "../../parts/Crumb";
import { Empty } from "../../parts/Empty";
import { Facts } from "../../parts/Facts";
import { Failure } from "../../parts/Failure";

// Incident is one firing of a rule, with its notices and their delivery.
export function Incident({ id }: { id: string }) {
  const { at, place, app, may } = useHere();
  const path = { ...at, id };
  const {
    data: one,
    error,
    again,
  } = useAsk(id, (signal) => call("get", "/api/v1/apps/{org}/{app}/incidents/{id}", { path, signal }));
  const act = useAct();
  useKeys({ u: () => go(to(place, "incidents")) });
  if (error)
    return (
      <section class="card">
        <Failure error={error} again={again} />
      </section>
    );
  if (!one)
    return (
      <p class="quiet" role="status" aria-busy="true">
        {t.hints.loading}
      </p>
    );
  const decide = (verb: "acknowledge" | "resolve") =>
    void act.run(async () => {
      await call("post", `/console/api/v1/apps/{org}/{app}/incidents/{id}/${verb}`, { path });
      again();
    });
  const writes = may("metrics.write");
  const lasted = Date.parse(one.resolvedAt ?? new Date().toISOString()) - Date.parse(one.startedAt);
  return (
    <>
      <Crumb page="incidents" query={{ status: "all" }} />
      <section class="card issue" aria-labelledby="incident">
        <div class="top">
          <div>
            <h1 id="incident">{one.title}</h1>
            <p class="quiet">
              <span
                class={"level " + (one.status === "resolved" ? "" : one.severity === "critical" ? "error" : "warning")}
              >
                {t.incidents.statuses[one.status] ?? one.status}
              </span>{" "}
              · {t.incidents.rule} <a href={to(place, "alerts")}>{one.ruleName}</a>
            </p>
          </div>
          <div class="bulk">
            {one.issueId && <a href={to(place, "errors", one.issueId)}>{t.incidents.issue}</a>}
            {one.monitorId && <a href={to(place, "monitors", one.monitorId)}>{t.alerts.monitor}</a>}
            {one.metric && <a href={to(place, "metrics", "", { name: one.metric })}>{one.metric}</a>}
            {writes && one.status === "open" && (
              <button type="button" disabled={act.busy} onClick={() => decide("acknowledge")}>
                {t.incidents.acknowledge}
              </button>
            )}
            {writes && one.status !== "resolved" && (
              <button type="button" disabled={act.busy} onClick={() => decide("resolve")}>
                {t.incidents.resolve}
              </button>
            )}
          </div>
        </div>
        {act.error && <Failure error={act.error} />}
        <dl class="sums">
          <div>
            <dt>{t.incidents.began}</dt>
            <dd>{when(one.startedAt, app.timezone)}</dd>
          </div>
          <div>
            <dt>{t.incidents.length}</dt>
            <dd>{duration(lasted)}</dd>
          </div>
          <div>
            <dt>{t.alerts.value}</dt>
            <dd>{one.value === null ? t.hints.none : count(one.value)}</dd>
          </div>
          <div>
            <dt>{t.alerts.threshold}</dt>
            <dd>
              {t.alerts.comparators[one.comparator] ?? one.comparator} {count(one.threshold)}
            </dd>
          </div>
          <div>
            <dt>{t.incidents.occurrences}</dt>
            <dd>{count(one.occurrences)}</dd>
          </div>
        </dl>
        <Facts
          of={{
            [t.incidents.statuses["acknowledged"] ?? ""]:
              one.acknowledgedAt &&
              when(one.acknowledgedAt, app.timezone) + " " + t.incidents.by(one.acknowledgedBy?.name ?? ""),
            [t.incidents.statuses["resolved"] ?? ""]: one.resolvedAt && when(one.resolvedAt, app.timezone),
            [t.incidents.silenced]: one.silenceId && t.incidents.silencedHint,
            ...one.labels,
          }}
        />
      </section>
      <section class="card list" aria-labelledby="notices">
        <div class="head pad">
          <h2 id="notices">{t.incidents.notices}</h2>
        </div>
        {one.notices.length === 0 ? (
          <Empty title={t.incidents.noNotices} hint={t.incidents.noNoticesHint} />
        ) : (
          <table class="rows">
            <thead>
              <tr>
                <th scope="col">{t.alerts.channels}</th>
                <th scope="col">{t.incidents.state}</th>
                <th scope="col" class="wide">
                  {t.incidents.at}
                </th>
                <th scope="col" class="wide">
                  {t.monitors.answer}
                </th>
              </tr>
            </thead>
            <tbody>
              {one.notices.map((notice) => (
                <tr key={notice.id}>
                  <td>
                    <b>{notice.channelName}</b>
                    <small>
                      {t.alerts.channelKinds[notice.channelKind] ?? notice.channelKind} · {notice.event}
                    </small>
                  </td>
                  <td>
                    <span
                      class={
                        "level " +
                        ({ delivered: "up", failed: "error", waiting: "warning" }[notice.state as string] ?? "")
                      }
                    >
                      {t.incidents.states[notice.state] ?? notice.state}
                    </span>
                  </td>
                  <td class="wide time">{when(notice.attemptedAt ?? notice.createdAt, app.timezone)}</td>
                  <td class="wide text">{notice.answer ?? t.hints.none}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </section>
    </>
  );
}
