import { call } from "../../api/client";
import { useAct, useAsk } from "../../core/ask";
import { when } from "../../core/format";
import { useHere } from "../../core/me";
import { t } from "../../core/texts";
import { Failure } from "../../parts/Failure";

// Sessions lists the sessions of the person, and the last sign-ins.
export function Sessions() {
  const { app } = useHere();
  const list = useAsk("sessions", (signal) =>
    call("get", "/console/api/v1/me/sessions", { query: { limit: 200 }, signal }),
  );
  const log = useAsk("signins", (signal) =>
    call("get", "/console/api/v1/me/signins", { query: { limit: 200 }, signal }),
  );
  const { busy, error, run } = useAct();
  const end = (id: string, title: string) =>
    confirm(t.settings.endSession(title)) &&
    void run(async () => {
      await call("delete", "/console/api/v1/me/sessions/{id}", { path: { id } });
      list.again();
    });
  const endOthers = () =>
    void run(async () => {
      await call("delete", "/console/api/v1/me/sessions", {});
      list.again();
    });
  return (
    <>
      <section class="card list" aria-labelledby="sessions">
        <div class="head pad">
          <h2 id="sessions">{t.settings.sessions}</h2>
          <button type="button" class="small" disabled={busy} onClick={endOthers}>
            {t.settings.endOthers}
          </button>
        </div>
        {error && <Failure error={error} />}
        {list.error ? (
          <Failure error={list.error} again={list.again} />
        ) : (
          <table class="rows">
            <thead>
              <tr>
                <th scope="col">{t.settings.browser}</th>
                <th scope="col" class="wide">
                  {t.settings.place}
                </th>
                <th scope="col" class="wide">
                  {t.settings.lastUsed}
                </th>
                <th class="tick">
                  <span class="hidden">{t.settings.end}</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {list.data?.data.map((row) => (
                <tr key={row.id}>
                  <td>
                    <b>{row.device || t.settings.unknown}</b>
                    {row.current && <span class="badge">{t.settings.thisOne}</span>}
                  </td>
                  <td class="wide">{row.place || t.settings.unknown}</td>
                  <td class="wide time">{when(row.lastUsedAt, app.timezone)}</td>
                  <td class="tick">
                    {!row.current && (
                      <button type="button" class="small" onClick={() => end(row.id, row.device || t.settings.unknown)}>
                        {t.settings.end}
                      </button>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </section>
      <section class="card list" aria-labelledby="signins">
        <div class="head pad">
          <h2 id="signins">{t.settings.signIns}</h2>
        </div>
        {log.error ? (
          <Failure error={log.error} again={log.again} />
        ) : (
          <table class="rows">
            <thead>
              <tr>
                <th scope="col">{t.settings.at}</th>
                <th scope="col">{t.settings.method}</th>
                <th scope="col" class="wide">
                  {t.settings.browser}
                </th>
                <th scope="col" class="wide">
                  {t.settings.place}
                </th>
                <th scope="col">{t.settings.outcome}</th>
              </tr>
            </thead>
            <tbody>
              {log.data?.data.map((row) => (
                <tr key={row.id}>
                  <td class="time">{when(row.at, app.timezone)}</td>
                  <td>{t.settings.methods[row.method] ?? row.method}</td>
                  <td class="wide">{row.device || t.settings.unknown}</td>
                  <td class="wide">{row.place || t.settings.unknown}</td>
                  <td>{row.succeeded ? t.settings.succeeded : t.settings.failed}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </section>
    </>
  );
}
