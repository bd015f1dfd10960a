import { call } from "../../api/client";
import { useAct, useAsk } from "../../core/ask";
import { ago, count, country, when } from "../../core/format";
import { useKeys } from "../../core/keys";
import { useHere } from "../../core/me";
import { go, to } from "../../core/place";
import { t } from "../../core/texts";
import { Crumb } from "../../parts/Crumb";
import { Facts } from "../../parts/Facts";
import { Failure } from "../../parts/Failure";
import { Merge } from "./Merge";
import { Split } from "./Split";
import { Timeline } from "./Timeline";

type Stage = keyof typeof t.people.stages;

// Person is one person: their traits, their sources, their actions, and the decisions and notes of members.
export function Person({ id }: { id: string }) {
  const { at, env, place, app, may } = useHere();
  const path = { ...at, id };
  const { data, error, again } = useAsk(JSON.stringify([path, env]), (signal) =>
    call("get", "/api/v1/apps/{org}/{app}/people/{id}", { path, query: { env }, signal }),
  );
  const deciding = useAct();
  useKeys({ u: () => go(to(place, "people")) });
  if (error)
    return (
      <section class="card">
        <Failure error={error} again={again} />
      </section>
    );
  if (!data)
    return (
      <section class="card" aria-busy="true">
        <p class="quiet pad" role="status">
          {t.hints.loading}
        </p>
      </section>
    );
  const writes = may("people.write");
  const update = (body: object) =>
    void deciding.run(async () => {
      await call("patch", "/api/v1/apps/{org}/{app}/people/{id}", { path, query: { env }, body: body as never });
      again();
    });
  const who = data.name ?? data.email ?? data.distinctId ?? t.people.unknown;
  return (
    <>
      <Crumb page="people" />
      <section class="card issue" aria-labelledby="person">
        <div class="top">
          <div>
            <h1 id="person">{who}</h1>
            <p class="quiet">{[data.name && data.email, data.company].filter(Boolean).join(" · ")}</p>
          </div>
          {writes ? (
            <div class="bulk">
              <label class="quiet" for="stage">
                {t.people.stage}
              </label>
              <select
                id="stage"
                disabled={deciding.busy}
                value={data.stageSource === "manual" ? data.lifecycleStage : ""}
                onChange={(event) => update({ stage: (event.currentTarget.value || null) as Stage | null })}
              >
                <option value="">
                  {t.people.automatic(t.people.stages[data.lifecycleStage] ?? data.lifecycleStage)}
                </option>
                {Object.entries(t.people.stages).map(([key, text]) => (
                  <option key={key} value={key}>
                    {text}
                  </option>
                ))}
              </select>
            </div>
          ) : (
            <span class="badge">{t.people.stages[data.lifecycleStage]}</span>
          )}
        </div>
        {deciding.error && <Failure error={deciding.error} />}
        <dl class="sums">
          <div>
            <dt>{t.people.sessions}</dt>
            <dd>{count(data.sessions)}</dd>
          </div>
          <div>
            <dt>{t.people.pageviews}</dt>
            <dd>{count(data.pageviews)}</dd>
          </div>
          <div>
            <dt>{t.people.events}</dt>
            <dd>
              {data.distinctId ? (
                <a href={to(place, "events", "", { search: data.distinctId })}>{count(data.events)}</a>
              ) : (
                count(data.events)
              )}
            </dd>
          </div>
          <div>
            <dt>{t.people.first}</dt>
            <dd title={when(data.firstSeenAt, app.timezone)}>{ago(data.firstSeenAt)}</dd>
          </div>
          <div>
            <dt>{t.people.last}</dt>
            <dd title={when(data.lastSeenAt, app.timezone)}>{ago(data.lastSeenAt)}</dd>
          </div>
        </dl>
      </section>
      <div class="split">
        <Timeline id={id} />
        <aside class="card side" tabIndex={0} aria-label={t.people.profile}>
          <h2>{t.people.tags}</h2>
          <p class="tags">
            {data.tags.length === 0 && <span class="quiet">{t.hints.none}</span>}
            {data.tags.map((tag) => (
              <span key={tag} class="badge">
                {tag}
                {writes && (
                  <button
                    type="button"
                    class="plain"
                    aria-label={t.people.untag(tag)}
                    onClick={() => update({ tags: data.tags.filter((one) => one !== tag) })}
                  >
                    ×
                  </button>
                )}
              </span>
            ))}
          </p>
          {writes && (
            <form
              class="bulk"
              onSubmit={(event) => {
                event.preventDefault();
                const field = event.currentTarget.elements.namedItem("tag") as HTMLInputElement;
                if (field.value.trim()) update({ tags: [...data.tags, field.value] });
                field.value = "";
              }}
            >
              <input name="tag" aria-label={t.people.newTag} placeholder={t.people.newTag} maxLength={100} />
              <button class="small" disabled={deciding.busy}>
                {t.people.tag}
              </button>
            </form>
          )}
          <h2>{t.people.traits}</h2>
          <Facts of={data.traits} />
          <h2>{t.people.crm}</h2>
          {Object.keys(data.crm).length ? <Facts of={data.crm} /> : <p class="quiet">{t.hints.none}</p>}
          <h2>{t.people.from}</h2>
          <Facts
            of={{
              [t.people.source]: data.firstSource,
              [t.people.medium]: data.firstMedium,
              [t.people.campaign]: data.firstCampaign,
              [t.people.landing]: data.firstUrl,
              [t.people.lastSource]: data.lastSource,
              [t.people.place]: [data.city, data.country && country(data.country)].filter(Boolean).join(", "),
              [t.people.device]: [data.device, data.browser, data.os].filter(Boolean).join(", "),
              [t.people.ids]: data.distinctIds.join(", "),
            }}
          />
          {writes && <Merge id={id} who={who} done={() => again()} />}
          {writes && data.distinctIds.length > 1 && (
            <Split id={id} who={who} ids={data.distinctIds} done={() => again()} />
          )}
        </aside>
      </div>
    </>
  );
}
