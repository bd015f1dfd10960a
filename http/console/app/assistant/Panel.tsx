import { useEffect, useRef, useState } from "preact/hooks";
import { call } from "../api/client";
import { refusalOf, useAsk } from "../core/ask";
import { useHere } from "../core/me";
import { t } from "../core/texts";
import { advice } from "../parts/Failure";
import { Markdown } from "./Markdown";
import { Proposal } from "./Proposal";
import { follow, type Question } from "./stream";
import { add, change, hear, recall, silent, type Entry, type Talk } from "./talk";

// Panel is the assistant next to a page. It sends the service the name of the page, and none of its content.
export function Panel({ close }: { close: () => void }) {
  const { at, place } = useHere();
  const [talk, tell] = useState<Talk>(silent);
  const [busy, wait] = useState(false);
  const [text, write] = useState("");
  const abort = useRef<AbortController | null>(null),
    end = useRef<HTMLDivElement>(null),
    field = useRef<HTMLTextAreaElement>(null);
  const kept = useAsk(JSON.stringify([at, talk.id]), (signal) =>
    call("get", "/api/v1/apps/{org}/{app}/ai/conversations", { path: at, query: { limit: 30 }, signal }),
  );
  useEffect(() => {
    field.current?.focus();
    return () => abort.current?.abort();
  }, []);
  useEffect(() => end.current?.scrollIntoView({ block: "nearest" }), [talk]);
  const listen = async (question: Question) => {
    abort.current?.abort();
    const own = (abort.current = new AbortController());
    wait(true);
    try {
      await follow(encodeURIComponent(at.org) + "/" + encodeURIComponent(at.app), question, own.signal, (frame) =>
        tell((now) => hear(now, frame)),
      );
    } catch (error) {
      tell((now) => add(now, { kind: "failure", text: advice(refusalOf(error)) }));
    }
    if (abort.current === own) wait(false);
  };
  const ask = (event: Event) => {
    event.preventDefault();
    const question = text.trim();
    if (!question || busy) return;
    write("");
    tell((now) => add(now, { kind: "question", text: question }));
    const query = place.query.toString();
    void listen({
      question,
      conversationId: talk.id || undefined,
      contextPath: "/" + ["apps", place.org, place.app, place.page, place.rest].filter(Boolean).join("/"),
      contextSearch: query || undefined,
    });
  };
  const open = async (id: string) => {
    abort.current?.abort();
    wait(false);
    if (!id) return tell(silent);
    const one = await call("get", "/api/v1/apps/{org}/{app}/ai/conversations/{id}", { path: { ...at, id } });
    tell(recall(one));
    if (one.state === "running") void listen({ question: "", conversationId: id });
  };
  const decided = (id: string) => (status: string, said: string, summary?: string) =>
    tell((now) => {
      const next = change(now, id, { status, summary });
      return said ? add(next, { kind: "text", text: said }) : next;
    });
  return (
    <aside class="assistant" aria-label={t.assistant.title} onKeyDown={(event) => event.key === "Escape" && close()}>
      <div class="head">
        <h2>{t.assistant.title}</h2>
        <select
          aria-label={t.assistant.conversations}
          value={talk.id}
          onChange={(event) =>
            void open(event.currentTarget.value).catch((error) =>
              tell((now) => add(now, { kind: "failure", text: advice(refusalOf(error)) })),
            )
          }
        >
          <option value="">{t.assistant.fresh}</option>
          {talk.id && !kept.data?.data.some((one) => one.id === talk.id) && (
            <option value={talk.id}>{talk.title}</option>
          )}
          {kept.data?.data.map((one) => (
            <option key={one.id} value={one.id}>
              {one.title}
            </option>
          ))}
        </select>
        <button type="button" class="plain" aria-label={t.hints.close} onClick={close}>
          ×
        </button>
      </div>
      <div class="talk" role="log" aria-live="polite" aria-label={t.assistant.conversation} tabIndex={0}>
        {talk.entries.length === 0 && (
          <div class="quiet">
            <p>{t.assistant.lead}</p>
            <ul class="hints">
              {t.assistant.examples.map((one) => (
                <li key={one}>
                  <button
                    type="button"
                    class="plain"
                    onClick={() => {
                      write(one);
                      field.current?.focus();
                    }}
                  >
                    {one}
                  </button>
                </li>
              ))}
            </ul>
          </div>
        )}
        {talk.entries.map((entry, i) => (
          <Shown key={i} entry={entry} decided={decided} />
        ))}
        {busy && (
          <p class="pulse" role="status">
            {t.assistant.thinking}
          </p>
        )}
        <div ref={end} />
      </div>
      <form onSubmit={ask}>
        <textarea
          ref={field}
          rows={2}
          aria-label={t.assistant.question}
          placeholder={t.assistant.question}
          value={text}
          onInput={(event) => write(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && !event.shiftKey && !event.isComposing) ask(event);
          }}
        />
        <button class="primary" disabled={busy || !text.trim()}>
          {t.assistant.ask}
        </button>
      </form>
    </aside>
  );
}

function Shown({
  entry,
  decided,
}: {
  entry: Entry;
  decided: (id: string) => (status: string, said: string, summary?: string) => void;
}) {
  switch (entry.kind) {
    case "question":
      return <p class="asked">{entry.text}</p>;
    case "text":
      return <Markdown text={entry.text} />;
    case "note":
      return <p class="quiet">{entry.text}</p>;
    case "failure":
      return (
        <p class="failure" role="alert">
          {entry.text}
        </p>
      );
    case "reveal":
      return (
        <div class="secret">
          <p>{t.settings.once}</p>
          {Object.entries(entry.values).map(([name, value]) => (
            <p key={name}>
              <code>{value}</code>
            </p>
          ))}
        </div>
      );
    case "action":
      return <Proposal action={entry.action} summary={entry.summary} decided={decided(entry.action.id)} />;
    case "tool":
      return (
        <details class="called">
          <summary class={entry.ok === false ? "bad" : ""}>
            {t.assistant.called(entry.name)}
            {entry.ok === undefined ? " …" : entry.ok ? " ✓" : " ✗"}
          </summary>
          <pre class="raw" tabIndex={0}>
            {JSON.stringify(entry.input, null, 2)}
          </pre>
          {entry.summary && <p class="quiet">{entry.summary}</p>}
        </details>
      );
  }
}
