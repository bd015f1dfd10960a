import { useState } from "preact/hooks";
import { call, type Schema } from "../../api/client";
import { useAct, useAsk } from "../../core/ask";
import { when } from "../../core/format";
import { useHere } from "../../core/me";
import { confirm } from "../../core/passkey";
import { t } from "../../core/texts";
import { Empty } from "../../parts/Empty";
import { Failure } from "../../parts/Failure";

// Approvals lists the pending decisions: changes that a model proposed, and requests to external systems.
export function Approvals() {
  const { at } = useHere();
  const own = useAsk(JSON.stringify(at), (signal) =>
    call("get", "/console/api/v1/apps/{org}/{app}/ai/actions", { path: at, signal }),
  );
  const outside = useAsk(at.org, (signal) =>
    call("get", "/console/api/v1/orgs/{org}/approvals", { path: { org: at.org }, signal }),
  );
  const [said, say] = useState("");
  const waiting = own.data?.data.filter((row) => row.effect !== "external") ?? [];
  return (
    <>
      <div class="scope">
        <h1>{t.pages["approvals"]}</h1>
      </div>
      <p role="status" class="said">
        {said}
      </p>
      <section class="card list" aria-labelledby="own">
        <div class="head pad">
          <h2 id="own">{t.approvals.own}</h2>
        </div>
        {own.error ? (
          <Failure error={own.error} again={own.again} />
        ) : waiting.length === 0 ? (
          <Empty title={t.approvals.empty} hint={t.approvals.ownHint} />
        ) : (
          <ul class="decisions">
            {waiting.map((row) => (
              <Decision
                key={row.id}
                row={row}
                verbs={[
                  [
                    t.approvals.approve,
                    async (reason) => {
                      const { action, text } = await confirm({ ...at, id: row.id }, reason);
                      say(t.approvals.done(action.status) + " " + text);
                      own.again();
                    },
                  ],
                ]}
              />
            ))}
          </ul>
        )}
      </section>
      <section class="card list" aria-labelledby="outside">
        <div class="head pad">
          <h2 id="outside">{t.approvals.outside}</h2>
        </div>
        {outside.error ? (
          <Failure error={outside.error} again={outside.again} />
        ) : outside.data?.data.length === 0 ? (
          <Empty title={t.approvals.empty} hint={t.approvals.outsideHint} />
        ) : (
          <ul class="decisions">
            {outside.data?.data.map((row) => {
              const decide = (verb: "approve" | "reject") => async (reason: string) => {
                const answer = await call("post", `/console/api/v1/orgs/{org}/approvals/{id}/${verb}`, {
                  path: { org: at.org, id: row.id },
                  body: { reason },
                });
                say(t.approvals.request(answer.status));
                outside.again();
              };
              return (
                <Decision
                  key={row.id}
                  row={row}
                  more={t.approvals.asked(row.requestedBy.name, row.question)}
                  verbs={
                    row.mayDecide
                      ? [
                          [t.approvals.send, decide("approve")],
                          [t.approvals.refuse, decide("reject")],
                        ]
                      : []
                  }
                />
              );
            })}
          </ul>
        )}
      </section>
    </>
  );
}

type Verb = [name: string, act: (reason: string) => Promise<void>];

function Decision({
  row,
  more,
  verbs,
}: {
  row: Pick<Schema["Action"], "preview" | "effect" | "expiresAt">;
  more?: string;
  verbs: Verb[];
}) {
  const { app } = useHere();
  const [reason, write] = useState("");
  const { busy, error, run } = useAct();
  return (
    <li>
      <p class="strong">
        {row.preview.title} <span class="badge">{t.approvals.effects[row.effect]}</span>
      </p>
      {more && <p>{more}</p>}
      <pre class="raw">{row.preview.lines.join("\n")}</pre>
      <p class="quiet">
        {t.approvals.until} {when(row.expiresAt, app.timezone)}
      </p>
      {verbs.length > 0 && (
        <div class="bulk">
          <input
            aria-label={t.approvals.reason}
            placeholder={t.approvals.reason}
            value={reason}
            onInput={(event) => write(event.currentTarget.value)}
          />
          {verbs.map(([name, act]) => (
            <button key={name} type="button" disabled={busy} onClick={() => void run(() => act(reason))}>
              {name}
            </button>
          ))}
        </div>
      )}
      {error && <Failure error={error} />}
    </li>
  );
}
