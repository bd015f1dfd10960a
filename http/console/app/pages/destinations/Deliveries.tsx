import { useState } from "preact/hooks";
import { call, type Schema } from "../../api/client";
import { useAct } from "../../core/ask";
import { when } from "../../core/format";
import { useHere } from "../../core/me";
import { usePages } from "../../core/pages";
import { go, set } from "../../core/place";
import { t } from "../../core/texts";
import { Empty } from "../../parts/Empty";
import { Failure } from "../../parts/Failure";
import { More } from "../../parts/More";

type Status = "accepted" | "retrying" | "failed" | "parked" | "all";
const marks: Record<string, string> = { accepted: "up", retrying: "warning", failed: "error", parked: "error" };

// Deliveries lists the deliveries of a destination, newest first.
export function Deliveries({ id, changed }: { id: string; changed: () => void }) {
  const { at, place, app, may } = useHere();
  const status = (place.query.get("status") ?? "all") as Status;
  const path = { ...at, id },
    query = { status, limit: 50 };
  const { rows, first, cursor, more, again } = usePages("deliveries" + JSON.stringify([path, query]), (after, signal) =>
    call("get", "/api/v1/apps/{org}/{app}/destinations/{id}/deliveries", {
      path,
      query: { ...query, cursor: after },
      signal,
    }),
  );
  const [open, show] = useState(""),
    [said, say] = useState("");
  const { busy, error, run } = useAct();
  const replay = (deliveryId?: string) =>
    void run(async () => {
      const answer = await call("post", "/api/v1/apps/{org}/{app}/destinations/{id}/replay", {
        path,
        body: { deliveryId },
      });
      say(t.destinations.replayed(answer.replayed, answer.more));
      changed();
      again();
    });
  const writes = may("destinations.write");
  return (
    <section
      class={"card list" + (first.loading ? " busy" : "")}
      aria-label={t.destinations.tabs["deliveries"]}
      aria-busy={first.loading}
    >
      <div class="head pad">
        <label class="pick">
          <span class="hidden">{t.destinations.status}</span>
          <select
            value={status}
            onChange={(event) =>
              go(set(place, "status", event.currentTarget.value === "all" ? "" : event.currentTarget.value))
            }
          >
            {Object.entries(t.destinations.statuses).map(([key, text]) => (
              <option key={key} value={key}>
                {text}
              </option>
            ))}
          </select>
        </label>
        {writes && (
          <button type="button" disabled={busy} onClick={() => replay()}>
            {t.destinations.replayAll}
          </button>
        )}
      </div>
      <p role="status" class="said">
        {said}
      </p>
      {error && <Failure error={error} />}
      {first.error ? (
        <Failure error={first.error} again={first.again} />
      ) : rows.length === 0 && !first.loading ? (
        <Empty title={t.destinations.none} hint={t.destinations.noneHint} />
      ) : (
        <table class="rows">
          <thead>
            <tr>
              <th scope="col">{t.destinations.at}</th>
              <th scope="col">{t.destinations.conversion}</th>
              <th scope="col">{t.destinations.status}</th>
              <th scope="col" class="number wide">
                {t.destinations.attempts}
              </th>
              <th scope="col" class="number wide">
                {t.destinations.took}
              </th>
              {writes && (
                <th class="tick">
                  <span class="hidden">{t.destinations.replay}</span>
                </th>
              )}
            </tr>
          </thead>
          <tbody>
            {rows.map((one) => (
              <Delivery
                key={one.id}
                one={one}
                open={open === one.id}
                show={() => show(open === one.id ? "" : one.id)}
                replay={writes ? () => replay(one.id) : undefined}
                busy={busy}
                zone={app.timezone}
              />
            ))}
          </tbody>
        </table>
      )}
      {cursor && <More more={more} />}
    </section>
  );
}

// Delivery is one delivery; if it is open, it shows its latest request and answer.
function Delivery({
  one,
  open,
  show,
  replay,
  busy,
  zone,
}: {
  one: Schema["Delivery"];
  open: boolean;
  show: () => void;
  replay?: () => void;
  busy: boolean;
  zone: string;
}) {
  return (
    <>
      <tr>
        <td class="time">{when(one.lastAttemptAt, zone)}</td>
        <td class="title">
          <button type="button" class="plain" aria-expanded={open} onClick={show}>
            {one.event}
          </button>
          <small class="text">{one.test ? t.destinations.isTest : one.eventId}</small>
        </td>
        <td>
          <span class={"level " + (marks[one.status] ?? "")}>{t.destinations.statuses[one.status] ?? one.status}</span>
          {one.error && <small class="text">{one.error}</small>}
          {one.nextAttemptAt && <small>{t.destinations.next(when(one.nextAttemptAt, zone))}</small>}
        </td>
        <td class="number wide">{one.attempts}</td>
        <td class="number wide">{one.latencyMs} ms</td>
        {replay && (
          <td class="tick">
            {one.status === "parked" && (
              <button
                type="button"
                class="small"
                disabled={busy}
                aria-label={t.destinations.replay + " " + one.eventId}
                onClick={replay}
              >
                {t.destinations.replay}
              </button>
            )}
          </td>
        )}
      </tr>
      {open && (
        <tr class="more">
          <td colSpan={replay ? 6 : 5}>
            <h3>{t.destinations.request}</h3>
            <pre class="raw" tabIndex={0}>
              {one.request || t.hints.none}
            </pre>
            <h3>{t.destinations.response}</h3>
            <pre class="raw" tabIndex={0}>
              {one.response || t.hints.none}
            </pre>
          </td>
        </tr>
      )}
    </>
  );
}
