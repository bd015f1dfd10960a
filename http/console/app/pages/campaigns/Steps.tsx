import { useState } from "preact/hooks";
import { call, type Schema } from "../../api/client";
import { useAct } from "../../core/ask";
import { useHere } from "../../core/me";
import { confirmed } from "../../core/passkey";
import { t } from "../../core/texts";
import { Failure } from "../../parts/Failure";
import { Field } from "../../parts/Field";

type Action = "schedule" | "send" | "pause" | "resume" | "cancel";
const next: Record<string, Action[]> = {
  approved: ["schedule", "send"],
  scheduled: ["send", "cancel"],
  sending: ["pause"],
  paused: ["resume", "cancel"],
};

interface Props {
  one: Schema["CampaignDetails"];
  changed: (next: Schema["ShownCampaign"]) => void;
  again: () => void;
}

// Steps are the actions of a member for a campaign that is no longer a draft.
export function Steps(props: Props) {
  return props.one.status === "pending_approval" ? <Decide {...props} /> : <Control {...props} />;
}

// Decide approves a campaign, or returns it with a reason. Its author may only return it.
function Decide({ one, changed, again }: Props) {
  const { at, me } = useHere();
  const [reason, write] = useState("");
  const { busy, error, run } = useAct();
  const own = me.user?.id === one.author.id;
  const decide = async (decision: "approve" | "return") =>
    changed(
      await call("post", "/console/api/v1/apps/{org}/{app}/campaigns/{id}/decide", {
        path: { ...at, id: one.id },
        body: { decision, revision: one.revision, reason },
      }),
    );
  return (
    <form
      class="gap"
      aria-label={t.campaigns.ask}
      onSubmit={(event) => {
        event.preventDefault();
        void run(() => decide("return"));
      }}
    >
      <p>{own ? t.campaigns.own : t.campaigns.askHint}</p>
      <div class="bulk">
        {!own && (
          <button
            type="button"
            class="primary"
            disabled={busy}
            onClick={() => void run(() => confirmed(() => decide("approve")))}
          >
            {t.campaigns.approve}
          </button>
        )}
        <input
          required
          maxLength={1000}
          aria-label={t.campaigns.reason}
          placeholder={t.campaigns.reason}
          value={reason}
          onInput={(event) => write(event.currentTarget.value)}
        />
        <button disabled={busy}>{t.campaigns.giveBack}</button>
      </div>
      {error && <Refused error={error} again={again} />}
    </form>
  );
}

// Control starts an approved campaign, and pauses, resumes or ends a running one.
function Control({ one, changed, again }: Props) {
  const { at, app } = useHere();
  const [when, choose] = useState("");
  const { busy, error, run } = useAct();
  const may = next[one.status] ?? [];
  if (may.length === 0) return null;
  const act = (action: Action) => {
    const question = t.campaigns.confirm[action];
    if (question && !confirm(question)) return;
    void run(async () =>
      changed(
        await call("post", "/console/api/v1/apps/{org}/{app}/campaigns/{id}/control", {
          path: { ...at, id: one.id },
          revision: one.revision,
          body: { action, ...(action === "schedule" ? { at: when } : {}) },
        }),
      ),
    );
  };
  return (
    <form
      class="gap"
      onSubmit={(event) => {
        event.preventDefault();
        act("schedule");
      }}
    >
      {may.includes("schedule") && (
        <Field label={t.campaigns.at} hint={t.frame.zone(app.timezone)}>
          <input
            {...{ type: "datetime-local" as const }}
            required
            value={when}
            onInput={(event) => choose(event.currentTarget.value)}
          />
        </Field>
      )}
      <div class="bulk gap">
        {may.map((action) =>
          action === "schedule" ? (
            <button key={action} class="primary" disabled={busy}>
              {t.campaigns.actions[action]}
            </button>
          ) : (
            <button
              key={action}
              type="button"
              class={action === "cancel" ? "danger" : ""}
              disabled={busy}
              onClick={() => act(action)}
            >
              {t.campaigns.actions[action]}
            </button>
          ),
        )}
      </div>
      {error && <Refused error={error} again={again} />}
    </form>
  );
}

// Refused shows why a step was refused; after a change by another member, it offers to read the campaign again.
export function Refused({ error, again }: { error: Parameters<typeof Failure>[0]["error"]; again: () => void }) {
  if (error.code !== "precondition_failed") return <Failure error={error} />;
  return (
    <div class="failure" role="alert">
      <p>{t.campaigns.moved}</p>
      <button type="button" onClick={again}>
        {t.campaigns.reload}
      </button>
    </div>
  );
}
