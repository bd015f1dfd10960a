import { useEffect, useState } from "preact/hooks";
import { call, type Schema } from "../../api/client";
import { useAsk } from "../../core/ask";
import { count, share, when } from "../../core/format";
import { useKeys } from "../../core/keys";
import { useHere } from "../../core/me";
import { go, to } from "../../core/place";
import { t } from "../../core/texts";
import { Crumb } from "../../parts/Crumb";
import { Facts } from "../../parts/Facts";
import { Failure } from "../../parts/Failure";
import { audienceOf, marks, useSegments } from "./Campaigns";
import { Editor } from "./Editor";
import { Preview } from "./Preview";
import { Steps } from "./Steps";

// watch is the interval at which the statistics of a running campaign are read, in milliseconds.
const watch = 5_000;

// Campaign is one campaign: its status, its statistics, its content, and the next actions of a member.
export function Campaign({ id }: { id: string }) {
  const { at, place, app, may } = useHere();
  const asked = useAsk("campaign" + JSON.stringify([at, id]), (signal) =>
    call("get", "/api/v1/apps/{org}/{app}/campaigns/{id}", { path: { ...at, id }, signal }),
  );
  const segments = useSegments();
  const [said, say] = useState("");
  useKeys({ u: () => go(to(place, "campaigns")) });
  const status = asked.data?.campaign.status;
  useEffect(() => {
    if (status !== "sending" && status !== "scheduled") return;
    const timer = setInterval(() => document.hidden || asked.again(), watch);
    return () => clearInterval(timer);
  }, [status, asked.again]);
  if (!asked.data)
    return asked.error ? (
      <section class="card">
        <Failure error={asked.error} again={asked.again} />
      </section>
    ) : (
      <p class="quiet" role="status" aria-busy="true">
        {t.hints.loading}
      </p>
    );
  const { campaign: one, stats } = asked.data;
  const writes = may("apps.write"),
    zone = app.timezone;
  const changed = (next: Schema["ShownCampaign"]) => {
    say(t.campaigns.done(t.campaigns.statuses[next.campaign.status] ?? next.campaign.status));
    asked.again();
  };
  const on = (time: string | null) => time && when(time, zone);
  return (
    <>
      <Crumb page="campaigns" />
      <section class="card issue" aria-labelledby="campaign">
        <div class="top">
          <div>
            <h1 id="campaign">{one.name}</h1>
            <p class="quiet text">
              <span class={"level " + (marks[one.status] ?? "")}>{t.campaigns.statuses[one.status] ?? one.status}</span>{" "}
              · {t.campaigns.by(one.author.name)}
            </p>
          </div>
        </div>
        <p role="status" class="said">
          {said}
        </p>
        {asked.error && <Failure error={asked.error} again={asked.again} />}
        {one.problem && <p class="bad message">{t.campaigns.problems[one.problem] ?? one.problem}</p>}
        {one.waiting && <p class="bad message">{t.campaigns.waiting(one.waiting)}</p>}
        {one.decision && (
          <p class="message">
            {one.decision.approved
              ? t.campaigns.approvedBy(one.decision.by.name, when(one.decision.at, zone))
              : t.campaigns.returnedBy(one.decision.by.name, when(one.decision.at, zone), one.decision.reason ?? "")}
          </p>
        )}
        <Facts
          of={{
            [t.campaigns.audience]:
              audienceOf(one.audience, segments) +
              (one.audienceSnapshot
                ? ", " + t.campaigns.counted(count(one.audienceSnapshot.size), when(one.audienceSnapshot.takenAt, zone))
                : one.audience.size != null
                  ? ", " + t.campaigns.size(count(one.audience.size))
                  : ""),
            [t.campaigns.submitted]: on(one.submittedAt),
            [t.campaigns.scheduled]: one.status === "scheduled" ? on(one.scheduledAt) : null,
            [t.campaigns.started]: on(one.startedAt),
            [t.campaigns.completed]: on(one.completedAt),
          }}
        />
        {writes ? (
          one.status !== "draft" && <Steps key={one.revision} one={one} changed={changed} again={asked.again} />
        ) : (
          <p class="quiet">{t.campaigns.reader}</p>
        )}
      </section>
      {one.startedAt && <Statistics stats={stats} />}
      {writes && one.status === "draft" ? (
        <Editor
          key={one.revision}
          one={one}
          segments={segments}
          saved={() => {
            say(t.hints.saved);
            asked.again();
          }}
          submitted={changed}
          again={asked.again}
        />
      ) : (
        <Preview of={one} />
      )}
    </>
  );
}

// Statistics shows the outcomes for the audience, with the reasons.
function Statistics({ stats }: { stats: Schema["CampaignStats"] }) {
  const rate = (name: string) =>
    (name === "opened" || name === "clicked") && stats.sent > 0
      ? t.campaigns.ofSent(share(stats[name] / stats.sent))
      : "";
  const why = (names: Record<string, string>, of: Record<string, number>) =>
    Object.fromEntries(
      Object.entries(names)
        .filter(([key]) => of[key])
        .map(([key, text]) => [text, count(of[key]!)]),
    );
  return (
    <section class="card course" aria-labelledby="statistics">
      <h2 id="statistics">{t.campaigns.statistics}</h2>
      <dl class="sums">
        {Object.entries(t.campaigns.stats).map(([key, text]) => (
          <div key={key}>
            <dt>{text}</dt>
            <dd>{count(stats[key as "sent"])}</dd>
            {rate(key) && <dd class="quiet">{rate(key)}</dd>}
          </div>
        ))}
      </dl>
      <Facts
        of={{ ...why(t.campaigns.failures, { ...stats.failures }), ...why(t.campaigns.skips, { ...stats.skips }) }}
      />
    </section>
  );
}
