import { useEffect, useState } from "preact/hooks";
import { call } from "../../api/client";
import { useAct, useAsk } from "../../core/ask";
import { useHere } from "../../core/me";
import { t } from "../../core/texts";
import { Failure } from "../../parts/Failure";
import { Secret } from "../../parts/Secret";
import { Snippet } from "../../parts/Snippet";
import { Demo } from "./Demo";

const frameworks = Object.keys(t.start.frameworks);

// patience is the number of polls to wait for an event that the overview does not count.
const patience = 5;

// Start shows how to send the first event, and waits for it.
export function Start({ arrived }: { arrived: () => void }) {
  const { at, env, may } = useHere();
  const [framework, choose] = useState(frameworks[0]!);
  const [key, keep] = useState("");
  const making = useAct(),
    testing = useAct();
  const guide = useAsk(JSON.stringify([at, env, framework]), (signal) =>
    call("get", "/api/v1/apps/{org}/{app}/install", {
      path: at,
      query: { framework, environment: env } as never,
      signal,
    }),
  );
  useEffect(() => {
    keep("");
    let over = false,
      seen = 0;
    const look = async () => {
      while (!over) {
        try {
          const [{ data }, { visitors }] = await Promise.all([
            call("get", "/api/v1/apps/{org}/{app}/events", { path: at, query: { env, limit: 1 } }),
            call("get", "/api/v1/apps/{org}/{app}/analytics/overview", { path: at, query: { env, range: "24h" } }),
          ]);
          // The overview counts an event a moment after the feed shows it.
          seen += data.length > 0 ? 1 : 0;
          if ((visitors > 0 || seen > patience) && !over) return arrived();
        } catch {
          // The next poll tries again.
        }
        await new Promise((then) => setTimeout(then, 800));
      }
    };
    void look();
    return () => {
      over = true;
    };
  }, [at.org, at.app, env]);
  const make = () =>
    making.run(async () =>
      keep(
        (
          await call("post", "/api/v1/apps/{org}/{app}/keys", {
            path: at,
            body: { kind: "public", environment: env, label: t.start.frameworks[framework] ?? framework },
          })
        ).key,
      ),
    );
  const send = () =>
    testing.run(async () => {
      const response = await fetch("/api/v1/events", {
        method: "POST",
        headers: { authorization: "Bearer " + key, "content-type": "application/json" },
        body: JSON.stringify({
          name: "page_view",
          distinctId: "console-test",
          url: location.origin + "/hello?utm_source=console",
          title: "Hello",
        }),
      });
      if (!response.ok) throw new Error(((await response.json()) as { detail?: string }).detail);
    });
  const place = new RegExp("svc_pub_[a-z]+_YOUR_KEY", "g");
  return (
    <section class="card start">
      <h1>{t.start.title}</h1>
      <p class="quiet">{t.start.lead}</p>
      <div class="tabs" role="group" aria-label={t.start.framework}>
        {frameworks.map((one) => (
          <button key={one} type="button" aria-pressed={one === framework} onClick={() => choose(one)}>
            {t.start.frameworks[one]}
          </button>
        ))}
      </div>
      {may("keys.write") ? (
        key ? (
          <Secret text={key} hint={t.start.keyHint} />
        ) : (
          <p>
            <button type="button" class="primary" disabled={making.busy} onClick={() => void make()}>
              {t.start.key}
            </button>
          </p>
        )
      ) : (
        <p>{t.start.noRight}</p>
      )}
      {making.error && <Failure error={making.error} />}
      {guide.error ? (
        <Failure error={guide.error} again={guide.again} />
      ) : (
        guide.data?.snippets.map((one) => (
          <Snippet key={one.title} title={one.title} code={key ? one.code.replace(place, key) : one.code} />
        ))
      )}
      <p class="waiting" role="status">
        <i aria-hidden="true" />
        {t.start.waiting}
      </p>
      {key && (
        <p>
          <button type="button" disabled={testing.busy} onClick={() => void send()}>
            {t.start.test}
          </button>{" "}
          <span class="quiet">{t.start.testHint}</span>
        </p>
      )}
      {testing.error && <Failure error={testing.error} />}
      <Demo />
    </section>
  );
}
