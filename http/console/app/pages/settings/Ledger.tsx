import { useState } from "preact/hooks";
import { call } from "../../api/client";
import { useAct } from "../../core/ask";
import { when } from "../../core/format";
import { useHere } from "../../core/me";
import { usePages } from "../../core/pages";
import { t } from "../../core/texts";
import { Empty } from "../../parts/Empty";
import { Facts } from "../../parts/Facts";
import { Failure } from "../../parts/Failure";
import { More } from "../../parts/More";

// Ledger lists the changes in the organization and their actors, in a chain that shows whether an entry was altered.
export function Ledger() {
  const { administers } = useHere();
  return administers ? (
    <Entries />
  ) : (
    <section class="card">
      <Empty title={t.ledger.noRight} />
    </section>
  );
}

function Entries() {
  const { at, app } = useHere();
  const path = { org: at.org };
  const { rows, first, cursor, more } = usePages("ledger" + at.org, (after, signal) =>
    call("get", "/console/api/v1/orgs/{org}/ledger", { path, query: { limit: 100, cursor: after }, signal }),
  );
  const [said, say] = useState("");
  const { busy, error, run } = useAct();
  const check = () =>
    void run(async () => {
      const answer = await call("get", "/console/api/v1/orgs/{org}/ledger/check", { path });
      say(answer.intact ? t.ledger.intact(answer.entries) : t.ledger.broken(answer.brokenAt ?? 0));
    });
  return (
    <section class={"card list" + (first.loading ? " busy" : "")} aria-labelledby="ledger" aria-busy={first.loading}>
      <div class="head pad">
        <h2 id="ledger">{t.ledger.title}</h2>
        <span class="zone quiet">{t.frame.zone(app.timezone)}</span>
        <span role="status">{said}</span>
        <button type="button" class="small" disabled={busy} onClick={check}>
          {t.ledger.check}
        </button>
      </div>
      {error && <Failure error={error} />}
      {first.error ? (
        <Failure error={first.error} again={first.again} />
      ) : rows.length === 0 && !first.loading ? (
        <Empty title={t.ledger.empty} />
      ) : (
        <table class="rows">
          <thead>
            <tr>
              <th scope="col">{t.ledger.kind}</th>
              <th scope="col">{t.ledger.who}</th>
              <th scope="col" class="wide">
                {t.ledger.subject}
              </th>
              <th scope="col">{t.ledger.at}</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.sequence}>
                <td>
                  <details class="called">
                    <summary>{row.kind}</summary>
                    <Facts of={{ ...row.metadata, reason: row.reason, requestId: row.requestId, hash: row.hash }} />
                  </details>
                </td>
                <td class="text">{row.actor.name || row.actor.id}</td>
                <td class="wide text">{[row.app, row.subject].filter(Boolean).join(" · ") || t.hints.none}</td>
                <td class="time">{when(row.at, app.timezone)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {cursor && <More more={more} />}
    </section>
  );
}
