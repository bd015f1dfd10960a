import { useState } from "preact/hooks";
import { call, type Schema } from "../../api/client";
import { useAct, useAsk } from "../../core/ask";
import { ago, brief, count, when } from "../../core/format";
import { useCursor } from "../../core/keys";
import { useHere } from "../../core/me";
import { usePages } from "../../core/pages";
import { go, set, to } from "../../core/place";
import { t } from "../../core/texts";
import { Empty } from "../../parts/Empty";
import { Failure } from "../../parts/Failure";
import { Field } from "../../parts/Field";
import { More } from "../../parts/More";
import { Search } from "../../parts/Search";

export type Status = Schema["ListedCampaign"]["status"];
export const marks: Record<string, string> = {
  pending_approval: "warning",
  approved: "info",
  scheduled: "info",
  sending: "info",
  completed: "up",
  paused: "warning",
  failed: "error",
};

// useSegments reads the segments with their present sizes, if the person may read them.
export function useSegments(): Schema["Segment"][] {
  const { at, env, has, may } = useHere();
  const reads = has("people") && may("people.read");
  return (
    useAsk(JSON.stringify([at, env, "segments of campaigns", reads]), (signal) =>
      reads
        ? call("get", "/api/v1/apps/{org}/{app}/segments", { path: at, query: { env, limit: 200 }, signal })
        : Promise.resolve(undefined),
    ).data?.data ?? []
  );
}

// audienceOf describes the audience of a campaign.
export function audienceOf(of: Schema["CampaignAudience"], segments: Schema["Segment"][]): string {
  if (of.kind !== "segment") return t.campaigns.kinds[of.kind] ?? of.kind;
  return segments.find((one) => one.id === of.segmentId)?.name ?? t.campaigns.kinds["segment"]!;
}

// Campaigns lists the campaigns of an environment with the number for each status, and creates new ones.
export function Campaigns() {
  const { at, env, app, may, place } = useHere();
  const status = place.query.get("status") ?? "all",
    q = place.query.get("q") ?? "";
  const query = { env, status: status as Status, limit: 100 };
  const {
    rows: all,
    first,
    cursor,
    more,
  } = usePages("campaigns" + JSON.stringify([at, query]), (after, signal) =>
    call("get", "/api/v1/apps/{org}/{app}/campaigns", { path: at, query: { ...query, cursor: after }, signal }),
  );
  const segments = useSegments();
  const [name, write] = useState("");
  const { busy, error, run } = useAct();
  const rows = all.filter((one) => one.name.toLowerCase().includes(q.toLowerCase()));
  const row = useCursor(rows.length, (i) => go(to(place, "campaigns", rows[i]!.id)));
  const begin = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      const made = await call("post", "/console/api/v1/apps/{org}/{app}/campaigns", {
        path: at,
        body: { name, environment: env },
      });
      go(to(place, "campaigns", made.campaign.id));
    });
  };
  const counts = first.data?.counts ?? {};
  return (
    <>
      <div class="scope">
        <h1>{t.pages["campaigns"]}</h1>
        <span class="zone quiet">{t.frame.zone(app.timezone)}</span>
        <span class="grow" />
        <Search label={t.campaigns.search} value={q} change={(text) => go(set(place, "q", text))} />
      </div>
      <section
        class={"card list" + (first.loading ? " busy" : "")}
        aria-label={t.pages["campaigns"]}
        aria-busy={first.loading}
      >
        <div class="head pad">
          <label class="pick">
            <span class="hidden">{t.campaigns.status}</span>
            <select
              value={status}
              onChange={(event) =>
                go(set(place, "status", event.currentTarget.value === "all" ? "" : event.currentTarget.value))
              }
            >
              {Object.entries(t.campaigns.statuses).map(([key, text]) => (
                <option key={key} value={key}>
                  {text + " (" + count(counts[key] ?? 0) + ")"}
                </option>
              ))}
            </select>
          </label>
        </div>
        {first.error ? (
          <Failure error={first.error} again={first.again} />
        ) : rows.length === 0 && !first.loading ? (
          counts["all"] ? (
            <Empty title={t.campaigns.none} hint={t.campaigns.noneHint} />
          ) : (
            <Empty title={t.campaigns.empty} hint={t.campaigns.emptyHint}>
              <a href="/docs/campaigns">{t.frame.docs}</a>
            </Empty>
          )
        ) : (
          <table class="rows">
            <thead>
              <tr>
                <th scope="col">{t.campaigns.name}</th>
                <th scope="col">{t.campaigns.status}</th>
                <th scope="col" class="number wide">
                  {t.campaigns.sent}
                </th>
                <th scope="col" class="number wide">
                  {t.campaigns.opened}
                </th>
                <th scope="col" class="number wide">
                  {t.campaigns.clicked}
                </th>
                <th scope="col" class="wide">
                  {t.campaigns.changed}
                </th>
              </tr>
            </thead>
            <tbody>
              {rows.map((one, i) => (
                <tr key={one.id} data-row={i} class={i === row ? "at" : ""}>
                  <td class="title">
                    <a href={to(place, "campaigns", one.id)}>{one.name}</a>
                    <small class="text">
                      {(t.campaigns.channels[one.channels[0] ?? ""] ?? one.channels[0]) +
                        ", " +
                        audienceOf(one.audience, segments)}
                    </small>
                  </td>
                  <td>
                    <span class={"level " + (marks[one.status] ?? "")}>
                      {t.campaigns.statuses[one.status] ?? one.status}
                    </span>
                    {one.status === "scheduled" && one.scheduledAt && (
                      <small>{when(one.scheduledAt, app.timezone)}</small>
                    )}
                  </td>
                  <td class="number wide">{brief(one.stats.sent)}</td>
                  <td class="number wide">{brief(one.stats.opened)}</td>
                  <td class="number wide">{brief(one.stats.clicked)}</td>
                  <td class="wide time" title={when(one.updatedAt, app.timezone)}>
                    {ago(one.updatedAt)}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
        {cursor && <More more={more} />}
      </section>
      {may("apps.write") && (
        <form class="card form" onSubmit={begin}>
          <h2>{t.campaigns.add}</h2>
          <Field label={t.campaigns.name}>
            <input required maxLength={100} value={name} onInput={(event) => write(event.currentTarget.value)} />
          </Field>
          {error && <Failure error={error} />}
          <button class="primary" disabled={busy}>
            {t.campaigns.begin}
          </button>
        </form>
      )}
    </>
  );
}
