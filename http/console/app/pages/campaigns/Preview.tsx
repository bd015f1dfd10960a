import { useRef } from "preact/hooks";
import type { Schema } from "../../api/client";
import { t } from "../../core/texts";

// The policy of the console forbids documents with their own styles. So the HTML comes into the frame with its styles
// as inert data, and inert applies them by the browser's object model, which the policy permits.
const inert = (html: string) =>
  html
    .replace(/<(?:style)\b/gi, '<script type="text/css" data-sheet')
    .replace(/<\/style\b/gi, "</script")
    .replace(/(<[^>]*?\s)style(\s*=)/gi, "$1data-style$2");

function dress(frame: HTMLIFrameElement) {
  const inside = frame.contentDocument,
    window = frame.contentWindow as (Window & typeof globalThis) | null;
  if (!inside || !window) return;
  for (const one of inside.querySelectorAll<HTMLElement>("[data-style]"))
    one.style.cssText = one.dataset["style"] ?? "";
  inside.adoptedStyleSheets = [...inside.querySelectorAll("script[data-sheet]")].map((one) => {
    const sheet = new window.CSSStyleSheet();
    sheet.replaceSync(one.textContent ?? "");
    return sheet;
  });
}

// Preview shows a message as inboxes show it. The frame of its HTML runs no scripts, sends no forms and opens no windows.
export function Preview({
  of,
}: {
  of: Pick<Schema["CampaignDetails"], "from" | "subject" | "preheader" | "text" | "html">;
}) {
  const frame = useRef<HTMLIFrameElement>(null);
  return (
    <section class="card course" aria-labelledby="preview">
      <h2 id="preview">{t.campaigns.preview}</h2>
      <p class="quiet">{[of.from.name, of.from.address].filter(Boolean).join(" · ")}</p>
      <p class="message">
        <b>{of.subject || t.hints.none}</b> <span class="quiet">{of.preheader}</span>
      </p>
      {of.html && (
        <>
          <p class="quiet">{t.campaigns.previewHint}</p>
          <iframe
            ref={frame}
            class="letter"
            title={t.campaigns.html}
            sandbox="allow-same-origin"
            referrerpolicy="no-referrer"
            srcdoc={inert(of.html)}
            onLoad={() => frame.current && dress(frame.current)}
          />
        </>
      )}
      {of.text && (
        <pre class="raw" tabIndex={0} aria-label={t.campaigns.text}>
          {of.text}
        </pre>
      )}
    </section>
  );
}
