import { call, type Schema } from "../../api/client";
import { useAsk } from "../../core/ask";
import { clock, country, when } from "../../core/format";
import { useHere } from "../../core/me";
import { t } from "../../core/texts";
import { Facts } from "../../parts/Facts";
import { Failure } from "../../parts/Failure";
import { Stack } from "./Stack";

// contextOf describes the environment of an occurrence.
function contextOf(data: Schema["Occurrence"]): Record<string, unknown> {
  const { where } = t.errors;
  return {
    [where.release]: data.release,
    [where.browser]: data.browser && [data.browser, data.browserVersion].filter(Boolean).join(" "),
    [where.os]: data.os,
    [where.device]: data.device,
    [where.country]: data.country && country(data.country),
    [where.person]: data.distinctId,
    [where.session]: data.sessionId,
    [where.mechanism]: data.mechanism,
    [where.handled]: data.handled ? t.errors.yes : t.errors.no,
  };
}

// Occurrence shows one occurrence of an error.
export function Occurrence({ issueId, eventId }: { issueId: string; eventId: string }) {
  const { at, env, app } = useHere();
  const path = { ...at, issueId, eventId };
  const { data, error, again } = useAsk(JSON.stringify([path, env]), (signal) =>
    call("get", "/api/v1/apps/{org}/{app}/errors/{issueId}/events/{eventId}", { path, query: { env }, signal }),
  );
  if (error) return <Failure error={error} again={again} />;
  if (!data)
    return (
      <p class="quiet pad" role="status" aria-busy="true">
        {t.hints.loading}
      </p>
    );
  return (
    <div class="pad">
      <p class="message">
        <b>{data.name}</b>
        {data.message && ": " + data.message}
      </p>
      <p class="quiet">
        {when(data.ts, app.timezone)}
        {data.url && " · "}
        <span class="text">{data.url}</span>
      </p>
      <h3>{t.errors.stack}</h3>
      <Stack frames={data.frames} text={data.stack} />
      {data.breadcrumbs.length > 0 && (
        <>
          <h3>{t.errors.breadcrumbs}</h3>
          <ol class="crumbs">
            {data.breadcrumbs.map((one, i) => (
              <li key={i}>
                <time>{one.timestamp ? clock(one.timestamp, app.timezone) : ""}</time> <b>{one.category}</b>{" "}
                <span>{one.message}</span>
              </li>
            ))}
          </ol>
        </>
      )}
      <h3>{t.errors.context}</h3>
      <Facts of={contextOf(data)} />
      {data.request.url && (
        <>
          <h3>{t.errors.request}</h3>
          <Facts of={{ method: data.request.method, url: data.request.url, status: data.request.status }} />
        </>
      )}
      {Object.keys(data.extra).length > 0 && (
        <>
          <h3>{t.errors.extra}</h3>
          <Facts of={data.extra} />
        </>
      )}
    </div>
  );
}
