import { call, type Schema } from "../../api/client";
import { useAct, useAsk } from "../../core/ask";
import { useHere } from "../../core/me";
import { t } from "../../core/texts";
import { Empty } from "../../parts/Empty";
import { Failure } from "../../parts/Failure";
import { Field } from "../../parts/Field";
import { Snippet } from "../../parts/Snippet";

const kinds = ["pages", "campaigns", "locations", "browsers"] as const;

// Share publishes the overview for all people with the link.
export function Share() {
  const { administers } = useHere();
  return administers ? (
    <Published />
  ) : (
    <section class="card">
      <Empty title={t.share.noRight} />
    </section>
  );
}

function Published() {
  const { at, may } = useHere();
  const share = useAsk("share" + JSON.stringify(at), (signal) =>
    call("get", "/console/api/v1/apps/{org}/{app}/share", { path: at, signal }),
  );
  const { busy, error, run } = useAct();
  const writes = may("apps.write");
  const act = (doing: () => Promise<unknown>) =>
    void run(async () => {
      await doing();
      share.again();
    });
  const configure = (body: Schema["SharePatch"]) =>
    act(() =>
      call(share.data?.published ? "patch" : "post", "/console/api/v1/apps/{org}/{app}/share", { path: at, body }),
    );
  if (share.error)
    return (
      <section class="card">
        <Failure error={share.error} again={share.again} />
      </section>
    );
  const now = share.data;
  return (
    <section class="card form" aria-labelledby="share" aria-busy={share.loading}>
      <h2 id="share">{t.share.title}</h2>
      <p class="quiet">{t.share.lead}</p>
      {now && !now.published && <p class="strong">{t.share.off}</p>}
      {now?.path && <Snippet title={t.share.link} code={location.origin + now.path} />}
      {now?.embedPath && (
        <Snippet
          title={t.share.embed}
          code={`<iframe src="${location.origin + now.embedPath}" width="100%" height="900" title="Analytics" loading="lazy"></iframe>`}
        />
      )}
      {now && writes && (
        <>
          <fieldset class="field">
            <legend>{t.share.shows}</legend>
            {kinds.map((kind) => (
              <label key={kind} class="check">
                <input
                  type="checkbox"
                  disabled={busy || !now.published}
                  checked={now[kind]}
                  onChange={(event) => configure({ [kind]: event.currentTarget.checked })}
                />{" "}
                {t.share.parts[kind]}
              </label>
            ))}
          </fieldset>
          <Field label={t.share.hidden} hint={t.share.hiddenHint}>
            <textarea
              rows={3}
              disabled={busy || !now.published}
              value={now.privatePaths.join("\n")}
              onChange={(event) => configure({ privatePaths: event.currentTarget.value.split(/\s+/).filter(Boolean) })}
            />
          </Field>
          <div class="bulk">
            {now.published ? (
              <>
                <button
                  type="button"
                  disabled={busy}
                  onClick={() =>
                    confirm(t.share.confirmRotate) &&
                    act(() => call("post", "/console/api/v1/apps/{org}/{app}/share/rotate", { path: at }))
                  }
                >
                  {t.share.rotate}
                </button>
                <button
                  type="button"
                  disabled={busy}
                  onClick={() =>
                    confirm(t.share.confirmOff) &&
                    act(() => call("delete", "/console/api/v1/apps/{org}/{app}/share", { path: at }))
                  }
                >
                  {t.share.unpublish}
                </button>
              </>
            ) : (
              <button
                type="button"
                class="primary"
                disabled={busy}
                onClick={() => configure({ pages: true, campaigns: true, locations: true, browsers: true })}
              >
                {t.share.publish}
              </button>
            )}
          </div>
        </>
      )}
      {error && <Failure error={error} />}
    </section>
  );
}
