import { useState } from "preact/hooks";
import { call, type Schema } from "../../api/client";
import { useAct } from "../../core/ask";
import { ago, when } from "../../core/format";
import { useHere } from "../../core/me";
import { usePages } from "../../core/pages";
import { t } from "../../core/texts";
import { Failure } from "../../parts/Failure";
import { More } from "../../parts/More";

// told describes an activity in words.
function told(one: Schema["Activity"]): string {
  switch (one.kind) {
    case "status":
      return t.errors.activity.status(t.errors.statuses[one.to as "open"] ?? one.to ?? "");
    case "assignee":
      return one.to ? t.errors.activity.assigned : t.errors.activity.unassigned;
    case "regression":
      return t.errors.activity.regression(one.release ?? "");
    case "merged":
      return t.errors.activity.merged;
    case "unmerged":
      return t.errors.activity.unmerged;
  }
  return t.errors.activity.comment;
}

// Activity lists the decisions and comments of people about an issue, the newest first. turn changes when there may be
// more.
export function Activity({ id, turn }: { id: string; turn: string }) {
  const { at, env, app, may } = useHere();
  const path = { ...at, issueId: id };
  const { rows, first, cursor, more, again } = usePages(JSON.stringify([path, env, turn]), (after, signal) =>
    call("get", "/api/v1/apps/{org}/{app}/errors/{issueId}/activity", {
      path,
      query: { env, limit: 30, cursor: after },
      signal,
    }),
  );
  const [text, write] = useState("");
  const { busy, error, run } = useAct();
  const comment = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      await call("post", "/api/v1/apps/{org}/{app}/errors/{issueId}/comments", {
        path,
        query: { env },
        body: { text },
      });
      write("");
      again();
    });
  };
  return (
    <section class="card list" aria-labelledby="activity" aria-busy={first.loading}>
      <div class="head pad">
        <h2 id="activity">{t.errors.activity.title}</h2>
      </div>
      {may("errors.write") && (
        <form class="bulk pad" onSubmit={comment}>
          <input
            required
            maxLength={8192}
            aria-label={t.errors.activity.write}
            placeholder={t.errors.activity.write}
            value={text}
            onInput={(event) => write(event.currentTarget.value)}
          />
          <button disabled={busy}>{t.errors.activity.send}</button>
        </form>
      )}
      {error && <Failure error={error} />}
      {first.error ? (
        <Failure error={first.error} again={first.again} />
      ) : rows.length === 0 && !first.loading ? (
        <p class="quiet pad">{t.errors.activity.none}</p>
      ) : (
        <ol class="timeline">
          {rows.map((one) => (
            <li
              key={one.id}
              class={one.kind === "regression" ? "error" : one.kind === "comment" ? "event" : "activity"}
            >
              <time class="quiet" title={when(one.at, app.timezone)}>
                {ago(one.at)}
              </time>
              <div>
                <span class="quiet">
                  {one.author?.name ?? ""} {told(one)}
                </span>
                {one.text && <p class="comment">{one.text}</p>}
              </div>
            </li>
          ))}
        </ol>
      )}
      {cursor && <More more={more} />}
    </section>
  );
}
