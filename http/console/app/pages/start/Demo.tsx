import { useState } from "preact/hooks";
import { useAct } from "../../core/ask";
import { fillDemo } from "../../core/demo";
import { useHere } from "../../core/me";
import { hashOf } from "../../core/place";
import { t } from "../../core/texts";
import { Failure } from "../../parts/Failure";

// Demo offers a filled application to people without data.
export function Demo() {
  const { at, place, administers } = useHere();
  const [share, show] = useState<number>();
  const { busy, error, run } = useAct();
  if (!administers) return null;
  const fill = async () => {
    let app = "";
    if (
      !(await run(async () => {
        app = await fillDemo(at.org, t.start.demoName, show);
      }))
    )
      return;
    // The page reloads, with the application in its list.
    history.pushState(
      null,
      "",
      hashOf({ ...place, app, page: "overview", rest: "", query: new URLSearchParams({ range: "90d" }) }),
    );
    location.reload();
  };
  return (
    <section class="demo" aria-labelledby="demo">
      <h2 id="demo">{t.start.demo}</h2>
      <p class="quiet">{t.start.demoLead}</p>
      {busy && share !== undefined ? (
        <progress aria-label={t.start.demo} max={1} value={share} />
      ) : (
        <p>
          <button type="button" disabled={busy} onClick={() => void fill()}>
            {t.start.demoFill}
          </button>
        </p>
      )}
      {error && <Failure error={error} />}
    </section>
  );
}
