import { useState } from "preact/hooks";
import { call, type Schema } from "../../api/client";
import { useAct, useAsk } from "../../core/ask";
import { brief, when } from "../../core/format";
import { useCursor } from "../../core/keys";
import { useHere } from "../../core/me";
import { go, to } from "../../core/place";
import { t } from "../../core/texts";
import { Empty } from "../../parts/Empty";
import { Failure } from "../../parts/Failure";
import { Builder } from "./Builder";

// SegmentsPage lists the segments of people, and edits them.
export function SegmentsPage() {
  const { at, env, may, place, app } = useHere();
  const list = useAsk(JSON.stringify([at, env, "segments"]), (signal) =>
    call("get", "/api/v1/apps/{org}/{app}/segments", { path: at, query: { env, limit: 200 }, signal }),
  );
  const [chosen, choose] = useState<Schema["Segment"]>();
  const { busy, error, run } = useAct();
  const writes = may("people.write"),
    rows = list.data?.data ?? [];
  const members = (one: Schema["Segment"]) => to(place, "people", "", { segment: one.id });
  const row = useCursor(rows.length, (i) => go(members(rows[i]!)));
  const remove = (one: Schema["Segment"]) =>
    confirm(t.segments.confirm(one.name)) &&
    void run(async () => {
      await call("delete", "/api/v1/apps/{org}/{app}/segments/{id}", { path: { ...at, id: one.id } });
      choose(undefined);
      list.again();
    });
  return (
    <>
      <div class="scope">
        <h1>{t.pages["segments"]}</h1>
        <span class="zone quiet">{t.frame.zone(app.timezone)}</span>
      </div>
      <section
        class={"card list" + (list.loading ? " busy" : "")}
        aria-label={t.pages["segments"]}
        aria-busy={list.loading}
      >
        {error && <Failure error={error} />}
        {list.error ? (
          <Failure error={list.error} again={list.again} />
        ) : rows.length === 0 && !list.loading ? (
          <Empty title={t.segments.empty} hint={t.segments.emptyHint} />
        ) : (
          <table class="rows">
            <thead>
              <tr>
                <th scope="col">{t.segments.name}</th>
                <th scope="col" class="number">
                  {t.segments.members}
                </th>
                <th scope="col" class="wide kind">
                  {t.segments.kind}
                </th>
                <th scope="col" class="wide when">
                  {t.segments.changed}
                </th>
                {writes && (
                  <th class="tick">
                    <span class="hidden">{t.alerts.edit}</span>
                  </th>
                )}
              </tr>
            </thead>
            <tbody>
              {rows.map((one, i) => (
                <tr key={one.id} data-row={i} class={one.id === chosen?.id ? "chosen" : i === row ? "at" : ""}>
                  <td class="title">
                    <a href={members(one)}>{one.name}</a>
                  </td>
                  <td class="number">
                    <a href={members(one)}>{brief(one.memberCount)}</a>
                  </td>
                  <td class="wide">{t.segments.kinds[one.kind]}</td>
                  <td class="wide time">{when(one.updatedAt, app.timezone)}</td>
                  {writes && (
                    <td class="tick acts">
                      {one.kind === "dynamic" && (
                        <button
                          type="button"
                          class="small"
                          disabled={busy}
                          aria-label={t.alerts.change(one.name)}
                          onClick={() => choose(one)}
                        >
                          {t.alerts.edit}
                        </button>
                      )}{" "}
                      <button
                        type="button"
                        class="small"
                        disabled={busy}
                        aria-label={t.alerts.delete + " " + one.name}
                        onClick={() => remove(one)}
                      >
                        ×
                      </button>
                    </td>
                  )}
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </section>
      <Builder
        key={chosen?.id ?? "new"}
        segment={chosen}
        done={() => {
          choose(undefined);
          list.again();
        }}
      />
    </>
  );
}
