import type { Values } from "./options";

const files =
  /\.(7z|apk|avi|csv|dmg|docx?|epub|exe|gz|iso|jar|key|m4a|mkv|mov|mp[34]|msi|odp|ods|odt|pdf|pkg|pptx?|rar|rtf|tar|tgz|txt|wav|xlsx?|zip)$/i;

/** Reports clicks on links to other hosts and to files, and sent forms; never the content of a form. */
export function watchInteractions(track: (name: string, properties: Values) => void) {
  const clicked = (event: Event) => {
    const link = (event.target as Element | null)?.closest?.<HTMLAnchorElement>("a[href]");
    if (!link || !/^https?:$/.test(link.protocol)) return;
    const url = link.origin + link.pathname;
    const kind = files.exec(link.pathname);
    if (kind || link.download) track("file_download", { url, extension: kind?.[1]?.toLowerCase() });
    else if (link.host !== location.host) track("outbound_link", { url });
  };
  addEventListener("click", clicked, true);
  addEventListener("auxclick", (event) => event.button === 1 && clicked(event), true);
  addEventListener(
    "submit",
    (event) => {
      const form = event.target as HTMLFormElement;
      const named = (name: string) => form.getAttribute(name) || undefined;
      track("form_submit", {
        form: named("id") ?? named("name"),
        action: new URL(named("action") ?? "", location.href).pathname,
      });
    },
    true,
  );
}
