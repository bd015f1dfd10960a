import { useState } from "preact/hooks";
import { call, type Schema } from "../../api/client";
import { useAct } from "../../core/ask";
import { count } from "../../core/format";
import { useHere } from "../../core/me";
import { t } from "../../core/texts";
import { Field } from "../../parts/Field";
import { Preview } from "./Preview";
import { Refused } from "./Steps";

type Details = Schema["CampaignDetails"];
interface Props {
  one: Details;
  segments: Schema["Segment"][];
  saved: () => void;
  submitted: (next: Schema["ShownCampaign"]) => void;
  again: () => void;
}

const draftOf = (one: Details) => ({
  name: one.name,
  channel: one.channels[0] ?? "email",
  kind: one.audience.kind,
  segmentId: one.audience.segmentId ?? "",
  from: one.from,
  replyTo: one.replyTo ?? "",
  subject: one.subject,
  preheader: one.preheader,
  text: one.text,
  html: one.html,
  rate: String(one.ratePerSecond),
  budget: String(one.hourlyBudget ?? 0),
});
type Draft = ReturnType<typeof draftOf>;

// bodyOf is the change of a draft. Answers do not contain the people of a list, so such an audience is sent only if it
// has changed.
const bodyOf = (draft: Draft) => ({
  name: draft.name,
  channels: [draft.channel as "email"],
  from: draft.from,
  replyTo: draft.replyTo,
  subject: draft.subject,
  preheader: draft.preheader,
  text: draft.text,
  html: draft.html,
  ratePerSecond: Number(draft.rate),
  hourlyBudget: Number(draft.budget),
  ...(draft.kind === "list"
    ? {}
    : { audience: { kind: draft.kind as "all", ...(draft.kind === "segment" ? { segmentId: draft.segmentId } : {}) } }),
});

// Editor writes a draft with its preview, and submits it.
export function Editor({ one, segments, saved, submitted, again }: Props) {
  const { at } = useHere();
  const [draft, change] = useState(() => draftOf(one));
  const { busy, error, run } = useAct();
  const set = (part: Partial<Draft>) => change({ ...draft, ...part });
  const path = { ...at, id: one.id };
  const dirty = JSON.stringify(draft) !== JSON.stringify(draftOf(one));
  const save = (revision: number) =>
    call("patch", "/console/api/v1/apps/{org}/{app}/campaigns/{id}", { path, revision, body: bodyOf(draft) });
  const submit = () =>
    confirm(t.campaigns.submitConfirm) &&
    void run(async () => {
      const revision = dirty ? (await save(one.revision)).campaign.revision : one.revision;
      submitted(await call("post", "/console/api/v1/apps/{org}/{app}/campaigns/{id}/submit", { path, revision }));
    });
  return (
    <>
      <form
        class="card form"
        onSubmit={(event) => {
          event.preventDefault();
          void run(async () => {
            await save(one.revision);
            saved();
          });
        }}
      >
        <h2>{t.campaigns.message}</h2>
        <div class="fields">
          <Field label={t.campaigns.name}>
            <input
              required
              maxLength={100}
              value={draft.name}
              onInput={(event) => set({ name: event.currentTarget.value })}
            />
          </Field>
          <Field label={t.campaigns.channel} hint={draft.channel === "email" ? undefined : t.campaigns.noSender}>
            <select value={draft.channel} onChange={(event) => set({ channel: event.currentTarget.value as "email" })}>
              {Object.entries(t.campaigns.channels).map(([key, text]) => (
                <option key={key} value={key}>
                  {text}
                </option>
              ))}
            </select>
          </Field>
          <Audience one={one} draft={draft} set={set} segments={segments} />
          <Field label={t.campaigns.from}>
            <input
              maxLength={100}
              value={draft.from.name}
              onInput={(event) => set({ from: { ...draft.from, name: event.currentTarget.value } })}
            />
          </Field>
          <Field label={t.campaigns.address} hint={t.campaigns.addressHint}>
            <input
              {...{ type: "email" as const }}
              value={draft.from.address}
              onInput={(event) => set({ from: { ...draft.from, address: event.currentTarget.value } })}
            />
          </Field>
          <Field label={t.campaigns.replyTo}>
            <input
              {...{ type: "email" as const }}
              value={draft.replyTo}
              onInput={(event) => set({ replyTo: event.currentTarget.value })}
            />
          </Field>
          <Field label={t.campaigns.subject}>
            <input
              maxLength={200}
              value={draft.subject}
              onInput={(event) => set({ subject: event.currentTarget.value })}
            />
          </Field>
          <Field label={t.campaigns.preheader} hint={t.campaigns.preheaderHint}>
            <input
              maxLength={200}
              value={draft.preheader}
              onInput={(event) => set({ preheader: event.currentTarget.value })}
            />
          </Field>
          <Field label={t.campaigns.rate}>
            <input
              {...{ type: "number" as const }}
              required
              min={1}
              max={2000}
              value={draft.rate}
              onInput={(event) => set({ rate: event.currentTarget.value })}
            />
          </Field>
          <Field label={t.campaigns.budget} hint={t.campaigns.budgetHint}>
            <input
              {...{ type: "number" as const }}
              required
              min={0}
              max={10_000_000}
              value={draft.budget}
              onInput={(event) => set({ budget: event.currentTarget.value })}
            />
          </Field>
        </div>
        <div class="letters">
          <Field label={t.campaigns.text} hint={t.campaigns.textHint}>
            <textarea rows={8} value={draft.text} onInput={(event) => set({ text: event.currentTarget.value })} />
          </Field>
        </div>
        <div class="letters">
          <Field label={t.campaigns.html} hint={t.campaigns.htmlHint}>
            <textarea
              rows={8}
              spellcheck={false}
              value={draft.html}
              onInput={(event) => set({ html: event.currentTarget.value })}
            />
          </Field>
        </div>
        {error && <Refused error={error} again={again} />}
        <div class="bulk">
          <button class="primary" disabled={busy || !dirty}>
            {t.hints.save}
          </button>
          <button type="button" disabled={busy} onClick={submit}>
            {t.campaigns.submit}
          </button>
        </div>
      </form>
      <Preview of={draft} />
    </>
  );
}

// Audience chooses the audience of a draft, and shows the present size of a segment.
function Audience({
  one,
  draft,
  set,
  segments,
}: {
  one: Details;
  draft: Draft;
  set: (part: Partial<Draft>) => void;
  segments: Schema["Segment"][];
}) {
  const chosen = segments.find((segment) => segment.id === draft.segmentId);
  const kinds = Object.entries(t.campaigns.kinds).filter(([key]) => key !== "list" || one.audience.kind === "list");
  return (
    <>
      <Field
        label={t.campaigns.audience}
        hint={draft.kind === "list" ? t.campaigns.fixed(count(one.audience.size ?? 0)) : undefined}
      >
        <select value={draft.kind} onChange={(event) => set({ kind: event.currentTarget.value as "all" })}>
          {kinds.map(([key, text]) => (
            <option key={key} value={key}>
              {text}
            </option>
          ))}
        </select>
      </Field>
      {draft.kind === "segment" && (
        <Field label={t.campaigns.segment} hint={chosen && t.campaigns.size(count(chosen.memberCount))}>
          <select required value={draft.segmentId} onChange={(event) => set({ segmentId: event.currentTarget.value })}>
            <option value="">{t.campaigns.chooseSegment}</option>
            {draft.segmentId && !chosen && <option value={draft.segmentId}>{t.campaigns.gone}</option>}
            {segments.map((segment) => (
              <option key={segment.id} value={segment.id}>
                {segment.name}
              </option>
            ))}
          </select>
        </Field>
      )}
    </>
  );
}
