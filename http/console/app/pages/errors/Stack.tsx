import type { Schema } from "../../api/client";
import { t } from "../../core/texts";

type Frame = Schema["Occurrence"]["frames"][number];

// runs groups neighbouring frames of libraries, which are shown folded.
function runs(frames: Frame[]): { own: boolean; frames: Frame[] }[] {
  const all: { own: boolean; frames: Frame[] }[] = [];
  for (const frame of frames) {
    const last = all[all.length - 1];
    if (last && last.own === frame.inApp) last.frames.push(frame);
    else all.push({ own: frame.inApp, frames: [frame] });
  }
  return all;
}

// Stack shows the calls, the innermost first, with their source if it is known.
export function Stack({ frames, text }: { frames: Frame[]; text: string | null }) {
  if (frames.length === 0)
    return text ? (
      <pre class="raw" tabIndex={0}>
        {text}
      </pre>
    ) : (
      <p class="quiet">{t.errors.noStack}</p>
    );
  const own = frames.some((frame) => frame.inApp);
  return (
    <ol class="stack">
      {runs(frames).map((run, i) =>
        run.own || !own ? (
          run.frames.map((frame, j) => (
            <li key={i + "." + j}>
              <Call frame={frame} />
            </li>
          ))
        ) : (
          <li key={i}>
            <details>
              <summary class="quiet">{t.errors.outside(run.frames.length)}</summary>
              <ol class="stack">
                {run.frames.map((frame, j) => (
                  <li key={j}>
                    <Call frame={frame} />
                  </li>
                ))}
              </ol>
            </details>
          </li>
        ),
      )}
    </ol>
  );
}

function Call({ frame }: { frame: Frame }) {
  const code = frame.code;
  const lines = code
    ? [
        ...(code.before ?? []).map((line) => [line, false] as const),
        [code.line ?? "", true] as const,
        ...(code.after ?? []).map((line) => [line, false] as const),
      ]
    : [];
  const start = frame.line - (code?.before?.length ?? 0);
  return (
    <>
      <p class="call">
        <code>{frame.function || "?"}</code>{" "}
        <span class="quiet">
          {frame.file}:{frame.line}
          {frame.column ? ":" + frame.column : ""}
        </span>
      </p>
      {code && (
        <pre class="code" tabIndex={0}>
          {lines.map(([line, at], i) => (
            <span key={i} class={at ? "at" : ""}>
              <i>{start + i}</i>
              {line + "\n"}
            </span>
          ))}
        </pre>
      )}
      {frame.unmapped && (
        <p class="quiet">
          {t.errors.unmapped}
          {frame.unmapped}
        </p>
      )}
    </>
  );
}
