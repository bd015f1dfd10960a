// Parts of the console that are loaded when they are first shown.
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Empty } from "../parts/Empty";
import { t } from "./texts";

export type Later<P> = ComponentType<P> & {
  // fetch loads the part without showing it.
  fetch: () => Promise<unknown>;
};

// later makes a component that loads its code with load. Loaded code is shown at once. If a part cannot be loaded, it
// may belong to a former version of the service, so the component offers to reload the whole page.
export function later<P extends object>(load: () => Promise<ComponentType<P>>): Later<P> {
  let Part: ComponentType<P> | undefined;
  const fetch = () =>
    load().then((loaded) => {
      Part = loaded;
    });
  function Fetched(props: P) {
    const [state, change] = useState<"waits" | "here" | "failed">(Part ? "here" : "waits");
    // Effects run after the first render, and the part may have been loaded in between.
    useEffect(() => {
      if (Part) change("here");
      else
        fetch().then(
          () => change("here"),
          () => change("failed"),
        );
    }, []);
    if (Part) return <Part {...props} />;
    if (state === "failed")
      return (
        <div class="failure" role="alert">
          <Empty title={t.failures.part} hint={t.failures.partHint}>
            <button type="button" onClick={() => location.reload()}>
              {t.failures.reload}
            </button>
          </Empty>
        </div>
      );
    return (
      <p class="hidden" role="status" aria-busy="true">
        {t.hints.loading}
      </p>
    );
  }
  return Object.assign(Fetched, { fetch });
}
