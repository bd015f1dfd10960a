// Events and errors of a server. npm install @sentry/node
import * as Sentry from "@sentry/node";

const host = "{{.Host}}";
const key = process.env.SVC_SECRET_KEY; // {{.SecretKey}}

Sentry.init({ dsn: process.env.SVC_DSN, environment: "{{.Environment}}" }); // {{.DSN}}

export async function track(name, distinctId, properties = {}) {
  const answer = await fetch(host + "/api/v1/events", {
    method: "POST", body: JSON.stringify({ id: crypto.randomUUID(), name, distinctId, properties }),
    headers: { "Content-Type": "application/json", Authorization: "Bearer " + key },
  });
  if (!answer.ok) throw new Error(`svc answered ${answer.status}: ${await answer.text()}`);
}
