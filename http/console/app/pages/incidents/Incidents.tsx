import { call } from "../../api/client";
import { useAct, useAsk } from "../../core/ask";
import { ago, duration, when } from "../../core/format";
import { useCursor } from "../../core/keys";
import { useHere } from "../../core/me";
import { go, set, to } from "../../core/place";
import { t } from "../../core/texts";
import { Empty } from "../../parts/Empty";
import { Failure } from "../../parts/Failure";

const statuses = ["open", "acknowledged", "resolved", "all"] as const;
type Status = (typeof statuses)[number];

// Incidents lists the firings of alert rules, and lets people acknowledge and resolve them.
export function Incidents() {
  const { at, env, place, app, may } = useHere();
  const asked = place.query.get("status") as Status | null;
  const status: Status = asked && statuses.includes(asked) ? asked : "open";
  const list = useAsk(JSON.stringify([at, env, status]), (signal) =>
    call("get", "/api/v1/apps/{org}/{app}/incidents", { path: at, query: { env, status, limit: 100 }, signal }),
  );
  const { busy, error, run } = useAct();
  const decide = (id: string, verb: "acknowledge" | "resolve") =>
    void run(async () => {
      await call("post", `/console/api/v1/apps/{org}/{app}/incidents/{id}/${verb}`, { path: { ...at, id } });
      list.again();
    });
  const writes = may("metrics.write");
  const rows = list.data?.data ?? [];
  const row = useCursor(
    rows.length,
    (i) => go(to(place, "incidents", rows[i]!.id)),
    writes
      ? {
          a: (i) => {
            if (rows[i]?.status === "open") decide(rows[i].id, "acknowledge");
          },
          e: (i) => {
            if (rows[i] && rows[i].status !== "resolved") decide(rows[i].id, "resolve");
          },
        }
      : {},
  );
  return (
    <>
      <div class="scope">
        <h1>{t.pages["incidents"]}</h1>
        <span class="zone quiet">{t.frame.zone(app.timezone)}</span>
      </div>
      <section
        class={"card list" + (list.loading ? " busy" : "")}
        aria-label={t.pages["incidents"]}
        aria-busy={list.loading}
      >
        <div class="head">
          <nav class="tabs" aria-label={t.pages["incidents"]}>
            {statuses.map((one) => (
              <a
                key={one}
                href={set(place, "status", one === "open" ? "" : one)}
                aria-current={one === status ? "true" : undefined}
              >
                {t.incidents.statuses[one]}
              </a>
            ))}
          </nav>
        </div>
        {error && <Failure error={error} />}
        {list.error ? (
          <Failure error={list.error} again={list.again} />
        ) : list.data?.data.length === 0 ? (
          <Empty title={t.incidents.empty} hint={t.incidents.emptyHint} />
        ) : (
          <ul class="decisions">
            {rows.map((one, i) => (
              <li key={one.id} data-row={i} class={i === row ? "at" : ""}>
                <p class="strong">
                  <span
                    class={
                      "level " + (one.status === "resolved" ? "" : one.severity === "critical" ? "error" : "warning")
                    }
                  >
                    <a href={to(place, "incidents", one.id)}>{one.title}</a>
                  </span>
                  <span class="badge">{t.incidents.statuses[one.status] ?? one.status}</span>
                </p>
                <p class="quiet">
                  <span title={when(one.startedAt, app.timezone)}>{ago(one.startedAt)}</span> · {t.incidents.rule}{" "}
                  {one.ruleName}
                  {one.resolvedAt &&
                    " · " +
                      t.incidents.lasted(
                        duration(new Date(one.resolvedAt).getTime() - new Date(one.startedAt).getTime()),
                      )}
                  {one.acknowledgedBy &&
                    " · " +
                      t.incidents.statuses["acknowledged"]?.toLowerCase() +
                      " " +
                      t.incidents.by(one.acknowledgedBy.name)}
                </p>
                <div class="bulk">
                  {one.issueId && <a href={to(place, "errors", one.issueId)}>{t.incidents.issue}</a>}
                  {writes && one.status === "open" && (
                    <button type="button" disabled={busy} onClick={() => decide(one.id, "acknowledge")}>
                      {t.incidents.acknowledge}
                    </button>
                  )}
                  {writes && one.status !== "resolved" && (
                    <button type="button" disabled={busy} onClick={() => decide(one.id, "resolve")}>
                      {t.incidents.resolve}
                    </button>
                  )}
                </div>
              </li>
            ))}
          </ul>
        )}
      </section>
    </>
  );
}
