// The script for `<script defer src="https://svc.example.com/svc.js" data-key="svc_pub_…"></script>`. Options are data
// attributes: data-privacy-mode="ephemeral", data-consent="pending", data-page-views="false" and so on.
import { report, type Client } from "./client";
import type { Options } from "./options";

/** A call that the page made before this script was loaded: `(window.svc ??= []).push(["track", "signup"])`. */
type Call = [method: keyof Client, ...args: never[]];

const script = document.currentScript as HTMLScriptElement;
const data = script.dataset;
const place = new URL(script.src);
const off = (name: string) => data[name] !== "false";

const options = {
  ...data,
  host: data["host"] ?? place.origin,
  respectSignals: off("respectSignals"),
  pageViews: off("pageViews"),
  hash: data["hash"] === "true",
  interactions: off("interactions"),
  errors: off("errors"),
  vitals: off("vitals"),
} as unknown as Options;

const page = window as unknown as { svc?: Call[] | (Client & { push(call: Call): void }) };
const early = page.svc;
if (!early || Array.isArray(early)) {
  const client = report(options, {
    vitals: () => import(`${place.origin}/svc-vitals.js`),
    flags: () => import(`${place.origin}/svc-flags.js`),
  });
  const push = ([method, ...args]: Call) => (client[method] as (...args: never[]) => void)(...args);
  page.svc = { ...client, push };
  early?.forEach(push);
}
