import { useState } from "preact/hooks";
import { call } from "../../api/client";
import { useAsk } from "../../core/ask";
import { useHere } from "../../core/me";
import { t } from "../../core/texts";
import { Failure } from "../../parts/Failure";
import { Snippet } from "../../parts/Snippet";

const frameworks = Object.keys(t.start.frameworks);

// Install shows the code of a framework.
export function Install() {
  const { at, env } = useHere();
  const [framework, choose] = useState(frameworks[0]!);
  const { data, error, again } = useAsk(JSON.stringify([at, env, framework]), (signal) =>
    call("get", "/api/v1/apps/{org}/{app}/install", {
      path: at,
      query: { framework, environment: env } as never,
      signal,
    }),
  );
  return (
    <section class="card form" aria-labelledby="install">
      <h2 id="install">{t.settings.install}</h2>
      <div class="tabs" role="group" aria-labelledby="install">
        {frameworks.map((one) => (
          <button key={one} type="button" aria-pressed={one === framework} onClick={() => choose(one)}>
            {t.start.frameworks[one]}
          </button>
        ))}
      </div>
      {error ? (
        <Failure error={error} again={again} />
      ) : (
        data?.snippets.map((one) => <Snippet key={one.title} title={one.title} code={one.code} />)
      )}
    </section>
  );
}
