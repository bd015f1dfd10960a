import { useState } from "preact/hooks";
import { call } from "../../api/client";
import { useAct } from "../../core/ask";
import { moment, when } from "../../core/format";
import { useHere } from "../../core/me";
import { usePages } from "../../core/pages";
import { to } from "../../core/place";
import { t } from "../../core/texts";
import { Failure } from "../../parts/Failure";
import { More } from "../../parts/More";

const kinds = ["", "event", "activity", "error"] as const;

// Timeline lists the events of a person and the notes of members, the newest first.
export function Timeline({ id }: { id: string }) {
  const { at, env, app, may, place } = useHere();
  const [kind, choose] = useState<(typeof kinds)[number]>("");
  const [text, write] = useState("");
  const path = { ...at, id },
    query = { env, kind: kind || undefined, limit: 100 };
  const { rows, first, cursor, more, again } = usePages(JSON.stringify([path, query]), (after, signal) =>
    call("get", "/api/v1/apps/{org}/{app}/people/{id}/timeline", {
      path,
      query: { ...query, cursor: after } as never,
      signal,
    }),
  );
  const noting = useAct();
  const note = (event: Event) => {
    event.preventDefault();
    void noting.run(async () => {
      await call("post", "/api/v1/apps/{org}/{app}/people/{id}/notes", { path, query: { env }, body: { text } });
      write("");
      again();
    });
  };
  return (
    <section class={"card list" + (first.loading ? " busy" : "")} aria-labelledby="timeline" aria-busy={first.loading}>
      <div class="head pad">
        <h2 id="timeline">{t.people.timeline}</h2>
        <div class="tabs" role="group" aria-labelledby="timeline">
          {kinds.map((one) => (
            <button key={one} type="button" aria-pressed={one === kind} onClick={() => choose(one)}>
              {t.people.kinds[one]}
            </button>
          ))}
        </div>
      </div>
      {may("people.write") && (
        <form class="bulk pad" onSubmit={note}>
          <input
            required
            maxLength={8192}
            aria-label={t.people.note}
            placeholder={t.people.note}
            value={text}
            onInput={(event) => write(event.currentTarget.value)}
          />
          <button disabled={noting.busy}>{t.people.addNote}</button>
        </form>
      )}
      {noting.error && <Failure error={noting.error} />}
      {first.error ? (
        <Failure error={first.error} again={first.again} />
      ) : rows.length === 0 && !first.loading ? (
        <p class="quiet pad">{t.people.nothing}</p>
      ) : (
        <ol class="timeline">
          {rows.map((one) => {
            const issue = one.kind === "error" ? (one.data as { issueId?: string } | null)?.issueId : undefined;
            return (
              <li key={one.id} class={one.kind}>
                <time class="quiet" title={when(one.ts, app.timezone)}>
                  {moment(one.ts, app.timezone)}
                </time>
                <div>
                  {issue ? (
                    <a href={to(place, "errors", issue)}>{one.title}</a>
                  ) : one.kind === "event" ? (
                    <a href={to(place, "events", "", { event: one.id })}>{one.title}</a>
                  ) : (
                    <b>{one.title}</b>
                  )}
                  {one.summary && <p class="quiet">{one.summary}</p>}
                </div>
              </li>
            );
          })}
        </ol>
      )}
      {cursor && <More more={more} />}
    </section>
  );
}
