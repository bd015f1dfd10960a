// Page views, events and errors of the browser. npm install @sentry/browser
import * as Sentry from "@sentry/browser";

const host = "{{.Host}}";
const key = "{{.PublicKey}}"; // put a public key of {{.Environment}} here
const dsn = "{{.DSN}}"; // the answer to the making of a key has it whole
{{- if .Ephemeral}}

// Nothing is sent before consent("granted"), and nothing is kept on the device.
const anonymousId = crypto.randomUUID();
const waiting = [];
let state = "pending";

export function consent(answer) {
  state = answer;
  const events = waiting.splice(0);
  if (state !== "granted") return;
  Sentry.init({ dsn });
  events.forEach(send);
}
{{- else}}
const anonymousId = localStorage.getItem("svc_id") ?? crypto.randomUUID();
localStorage.setItem("svc_id", anonymousId);

Sentry.init({ dsn });
{{- end}}

export function track(name, properties = {}) {
  const event = { id: crypto.randomUUID(), name, anonymousId, url: location.href, title: document.title, referrer: document.referrer, properties };
{{- if .Ephemeral}}
  if (state === "pending") waiting.push(event);
  if (state !== "granted") return;
{{- end}}
  return send(event);
}

export const pageView = () => track("page_view");

function send(event) {
  return fetch(host + "/api/v1/events", {
    method: "POST", keepalive: true, body: JSON.stringify(event),
    headers: { "Content-Type": "application/json", Authorization: "Bearer " + key },
  });
}
