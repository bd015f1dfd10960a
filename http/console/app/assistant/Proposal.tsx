import { useState } from "preact/hooks";
import { call } from "../api/client";
import { useAct } from "../core/ask";
import { useHere } from "../core/me";
import { confirm } from "../core/passkey";
import { t } from "../core/texts";
import { Failure } from "../parts/Failure";
import type { Proposed } from "./talk";

interface Props {
  action: Proposed;
  summary?: string;
  // decided receives the outcome of the action, and the assistant's answer to it.
  decided: (status: string, text: string, summary?: string) => void;
}

// Proposal shows a change that the assistant proposes, and takes the decision.
export function Proposal({ action, summary, decided }: Props) {
  const { at } = useHere();
  const [reason, write] = useState("");
  const { busy, error, run } = useAct();
  const path = { ...at, id: action.id },
    waits = action.status === "proposed",
    outside = action.effect === "external",
    passkey = action.effect === "destructive";
  const approve = () =>
    void run(async () => {
      const answer = passkey
        ? await confirm(path, reason)
        : await call("post", "/api/v1/apps/{org}/{app}/ai/actions/{id}/approve", { path, body: { reason } });
      decided(answer.action.status, answer.text, answer.action.result?.summary);
    });
  const reject = () =>
    void run(async () => {
      const answer = await call("post", "/api/v1/apps/{org}/{app}/ai/actions/{id}/reject", {
        path,
        body: { reason: reason || t.assistant.rejected },
      });
      decided(answer.action.status, "");
    });
  return (
    <section class="proposal" aria-label={action.preview.title}>
      <p class="strong">
        {action.preview.title} <span class="badge">{t.approvals.effects[action.effect]}</span>
      </p>
      <pre class="raw" tabIndex={0}>
        {action.preview.lines.join("\n")}
      </pre>
      {!waits && (
        <p role="status">
          {t.assistant.statuses[action.status] ?? action.status}
          {summary ? ": " + summary : ""}
        </p>
      )}
      {waits && outside && <p class="quiet">{t.assistant.outside}</p>}
      {waits && (
        <div class="bulk">
          <input
            aria-label={t.approvals.reason}
            placeholder={t.approvals.reason}
            value={reason}
            required={passkey}
            onInput={(event) => write(event.currentTarget.value)}
          />
          {!outside && (
            <button type="button" class="primary" disabled={busy || (passkey && !reason.trim())} onClick={approve}>
              {passkey ? t.approvals.approve : t.assistant.approve}
            </button>
          )}
          <button type="button" disabled={busy} onClick={reject}>
            {outside ? t.assistant.withdraw : t.approvals.reject}
          </button>
        </div>
      )}
      {error && <Failure error={error} />}
    </section>
  );
}
