import { useEffect, useState } from "preact/hooks";
import { call, type Schema } from "../../api/client";
import { useAct, useAsk } from "../../core/ask";
import { count } from "../../core/format";
import { useHere } from "../../core/me";
import { to } from "../../core/place";
import { t } from "../../core/texts";
import { Failure } from "../../parts/Failure";
import { Field } from "../../parts/Field";
import { definitionOf, fields, fresh, opsOf, readable, wordsOf, type Word } from "./words";

const pause = 400;

// Builder makes or changes a segment, and shows its size during the edit.
export function Builder({ segment, done }: { segment?: Schema["Segment"]; done: () => void }) {
  const { at, env, may, place } = useHere();
  const known = segment?.definition ? readable(segment.definition) : undefined;
  const [name, write] = useState(segment?.name ?? ""),
    [match, choose] = useState<"all" | "any">(known?.match ?? "all"),
    [words, change] = useState<Word[]>(known?.words ?? [fresh()]);
  const { busy, error, run } = useAct();
  const definition = definitionOf(match, words),
    text = JSON.stringify(definition);
  const [asked, ask] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => ask(text), pause);
    return () => clearTimeout(timer);
  }, [text]);
  const complete = words.length > 0 && words.every((word) => wordsOf(word) !== undefined);
  const preview = useAsk(JSON.stringify([at, env, complete && asked]), (signal) =>
    complete
      ? call("post", "/api/v1/apps/{org}/{app}/segments/preview", {
          path: at,
          query: { env },
          body: { definition: JSON.parse(asked) } as never,
          signal,
        })
      : Promise.resolve(undefined),
  );
  const set = (i: number, part: Partial<Word>) =>
    change(words.map((word, j) => (i === j ? { ...word, ...part } : word)));
  const save = async (event: Event) => {
    event.preventDefault();
    if (
      await run(() =>
        call("post", "/api/v1/apps/{org}/{app}/segments", {
          path: at,
          query: { env },
          body: { ...(segment ? { id: segment.id } : { kind: "dynamic" }), name, definition } as never,
        }),
      )
    ) {
      write("");
      change([fresh()]);
      done();
    }
  };
  if (segment && !known) return <p class="card pad quiet">{t.segments.nested}</p>;
  return (
    <form class="card form" onSubmit={(event) => void save(event)}>
      <h2>{segment ? t.alerts.change(segment.name) : t.segments.add}</h2>
      <div class="fields">
        <Field label={t.segments.name}>
          <input required maxLength={100} value={name} onInput={(event) => write(event.currentTarget.value)} />
        </Field>
        <Field label={t.segments.match}>
          <select value={match} onChange={(event) => choose(event.currentTarget.value as "all" | "any")}>
            {Object.entries(t.segments.matches).map(([key, text]) => (
              <option key={key} value={key}>
                {text}
              </option>
            ))}
          </select>
        </Field>
      </div>
      <ol class="conditions">
        {words.map((word, i) => {
          const field = fields[word.field] ?? fields["stage"]!;
          return (
            <li key={i} class="bulk">
              <select
                aria-label={t.segments.field(i + 1)}
                value={word.field}
                onChange={(event) => set(i, { ...fresh(event.currentTarget.value) })}
              >
                {Object.keys(fields).map((key) => (
                  <option key={key} value={key}>
                    {t.segments.fields[key]}
                  </option>
                ))}
              </select>
              {field.key && (
                <input
                  aria-label={t.segments.key(i + 1)}
                  placeholder={t.segments.keys[word.field]}
                  value={word.key}
                  onInput={(event) => set(i, { key: event.currentTarget.value })}
                />
              )}
              <select
                aria-label={t.segments.op(i + 1)}
                value={word.op}
                onChange={(event) => set(i, { op: event.currentTarget.value })}
              >
                {opsOf(word.field).map((op) => (
                  <option key={op} value={op}>
                    {t.segments.ops[op]}
                  </option>
                ))}
              </select>
              {word.op !== "exists" &&
                (field.choices && word.op !== "in" ? (
                  <select
                    aria-label={t.segments.value(i + 1)}
                    value={word.value}
                    onChange={(event) => set(i, { value: event.currentTarget.value })}
                  >
                    {field.choices.map((one) => (
                      <option key={one} value={one}>
                        {t.people.stages[one] ?? one}
                      </option>
                    ))}
                  </select>
                ) : (
                  <input
                    aria-label={t.segments.value(i + 1)}
                    {...{
                      type: (field.type === "time" && !word.op.endsWith("days")
                        ? "date"
                        : field.type === "number" || word.op.endsWith("days")
                          ? "number"
                          : "text") as "text",
                    }}
                    value={word.value}
                    onInput={(event) => set(i, { value: event.currentTarget.value })}
                  />
                ))}
              <button
                type="button"
                class="small"
                disabled={words.length === 1}
                aria-label={t.segments.drop(i + 1)}
                onClick={() => change(words.filter((_, j) => j !== i))}
              >
                ×
              </button>
            </li>
          );
        })}
      </ol>
      <button type="button" class="plain" onClick={() => change([...words, fresh()])}>
        {t.segments.more}
      </button>
      <div class={"said" + (preview.loading ? " busy" : "")} role="status">
        {!complete ? (
          t.segments.incomplete
        ) : preview.error ? (
          <Failure error={preview.error} />
        ) : (
          preview.data && (
            <>
              <b>{t.segments.found(count(preview.data.memberCount))}</b>{" "}
              {preview.data.members
                .slice(0, 5)
                .map((one) => (
                  <a key={one.id} href={to(place, "people", one.id)}>
                    {one.name ?? one.email ?? one.distinctId ?? t.people.unknown}
                  </a>
                ))
                .flatMap((link, n) => (n ? [", ", link] : [link]))}
            </>
          )
        )}
      </div>
      {error && <Failure error={error} />}
      {may("people.write") && (
        <div class="bulk">
          <button class="primary" disabled={busy || !complete}>
            {segment ? t.hints.save : t.segments.add}
          </button>
          {segment && (
            <button type="button" onClick={done}>
              {t.hints.cancel}
            </button>
          )}
        </div>
      )}
    </form>
  );
}
