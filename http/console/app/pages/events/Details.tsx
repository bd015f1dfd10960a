import { call, type Schema } from "../../api/client";
import { useAsk } from "../../core/ask";
import { when } from "../../core/format";
import { useHere } from "../../core/me";
import { t } from "../../core/texts";
import { Facts } from "../../parts/Facts";
import { Failure } from "../../parts/Failure";

// Details shows every non-empty field of an event.
export function Details({ id, known, close }: { id: string; known?: Schema["Event"]; close: () => void }) {
  const { at, env, app } = useHere();
  const asked = useAsk(JSON.stringify([at, env, id]), async (signal) =>
    id && !known
      ? (await call("get", "/api/v1/apps/{org}/{app}/events", { path: at, query: { env, id }, signal })).data[0]
      : undefined,
  );
  const event = known ?? asked.data;
  if (!id)
    return (
      <aside class="card side quiet" tabIndex={0} aria-label={t.events.details}>
        <p>{t.events.choose}</p>
      </aside>
    );
  if (!event)
    return (
      <aside class="card side" tabIndex={0} aria-label={t.events.details} aria-busy={asked.loading}>
        {asked.error ? (
          <Failure error={asked.error} again={asked.again} />
        ) : (
          <p class="quiet">{asked.loading ? t.hints.loading : t.events.empty}</p>
        )}
      </aside>
    );
  const { properties, name, ts, receivedAt, clickIds, ...fields } = event;
  return (
    <aside class="card side" tabIndex={0} aria-label={t.events.details}>
      <div class="head">
        <h2>{name}</h2>
        <button type="button" class="plain" onClick={close} aria-label={t.hints.close}>
          ×
        </button>
      </div>
      <p class="quiet">{when(ts, app.timezone)}</p>
      <h3>{t.events.properties}</h3>
      {Object.keys(properties).length ? <Facts of={properties} /> : <p class="quiet">{t.events.noProperties}</p>}
      <h3>{t.events.fields}</h3>
      <Facts of={{ ...fields, ...clickIds, receivedAt: when(receivedAt, app.timezone) }} />
    </aside>
  );
}
