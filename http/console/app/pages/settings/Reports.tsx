import { useState } from "preact/hooks";
import { call, type Schema } from "../../api/client";
import { useAct, useAsk } from "../../core/ask";
import { when } from "../../core/format";
import { useHere } from "../../core/me";
import { t } from "../../core/texts";
import { Failure } from "../../parts/Failure";
import { Field } from "../../parts/Field";

type Report = Schema["Report"];
type Kind = Report["kind"];
const kinds: Kind[] = ["weekly", "monthly", "spike"];

// Reports are the letters of an environment: every week, every month, and when there are many visitors.
export function Reports() {
  const { at, env } = useHere();
  const list = useAsk("reports" + JSON.stringify(at), (signal) =>
    call("get", "/api/v1/apps/{org}/{app}/reports", { path: at, query: { limit: 200 }, signal }),
  );
  if (list.error) return <Failure error={list.error} again={list.again} />;
  if (!list.data)
    return (
      <p class="hidden" role="status" aria-busy="true">
        {t.hints.loading}
      </p>
    );
  return (
    <>
      {kinds.map((kind) => (
        <One
          key={env + kind}
          kind={kind}
          report={list.data!.data.find((one) => one.kind === kind && one.environment === env)}
          again={list.again}
        />
      ))}
    </>
  );
}

// One shows the report of a kind, and makes, changes or deletes it.
function One({ kind, report, again }: { kind: Kind; report?: Report; again: () => void }) {
  const { at, env, app, me, may } = useHere();
  const [to, setTo] = useState(report ? report.recipients.join("\n") : (me.user?.email ?? "")),
    [threshold, setThreshold] = useState(report?.threshold ?? 100),
    [saved, tell] = useState(false);
  const { busy, error, run } = useAct();
  const writes = may("analytics.write"),
    title = t.reports.kinds[kind];
  const put = async (enabled: boolean) => {
    tell(false);
    const recipients = to.split(/[\s,;]+/).filter(Boolean);
    const done = await run(() =>
      call("post", "/api/v1/apps/{org}/{app}/reports", {
        path: at,
        query: { env },
        body: { kind, recipients, enabled, ...(kind === "spike" ? { threshold } : {}) } as never,
      }),
    );
    if (done) {
      tell(true);
      again();
    }
  };
  const remove = () =>
    report &&
    confirm(t.reports.confirm(title ?? "")) &&
    void run(async () => {
      await call("delete", "/api/v1/apps/{org}/{app}/reports/{id}", { path: { ...at, id: report.id } });
      again();
    });
  const state = !report
    ? t.reports.none
    : !report.enabled
      ? t.reports.off
      : report.recipients.length === 0
        ? t.reports.nobody
        : report.nextAt
          ? t.reports.next(when(report.nextAt, app.timezone))
          : t.reports.watching(report.threshold ?? 0);
  return (
    <form
      class="card form"
      aria-labelledby={"report-" + kind}
      onSubmit={(event) => {
        event.preventDefault();
        void put(true);
      }}
    >
      <h2 id={"report-" + kind}>{title}</h2>
      <p class="quiet">
        {t.reports.hints[kind] ?? ""} {t.frame.zone(app.timezone)}.
      </p>
      <p>
        {state}
        {report?.sentAt && " " + t.reports.sent(when(report.sentAt, app.timezone))}
      </p>
      {report?.problem && (
        <p class="failure" role="status">
          {report.problem}
        </p>
      )}
      <div class="fields">
        <Field label={t.reports.to} hint={t.reports.toHint}>
          <textarea
            required
            rows={3}
            readOnly={!writes}
            value={to}
            onInput={(event) => setTo(event.currentTarget.value)}
          />
        </Field>
        {kind === "spike" && (
          <Field label={t.reports.threshold}>
            <input
              type="number"
              required
              min={1}
              max={1_000_000}
              readOnly={!writes}
              value={threshold}
              onInput={(event) => setThreshold(Number(event.currentTarget.value))}
            />
          </Field>
        )}
      </div>
      {error && <Failure error={error} />}
      {writes && (
        <div class="row">
          <button class="primary" disabled={busy}>
            {report ? t.hints.save : t.reports.add}
          </button>
          {report?.enabled && (
            <button type="button" disabled={busy} onClick={() => void put(false)}>
              {t.reports.turnOff}
            </button>
          )}
          {report && (
            <button type="button" disabled={busy} onClick={remove}>
              {t.settings.remove}
            </button>
          )}
          {saved && <span role="status">{t.hints.saved}</span>}
        </div>
      )}
    </form>
  );
}
