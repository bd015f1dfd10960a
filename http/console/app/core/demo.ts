// The demo: an application that is filled by a list of calls from the service.
import { call, Refusal, type Schema } from "../api/client";

interface Part {
  parts: number;
  until: string;
  calls: { method: string; path: string; body: { name?: string; title?: string }; ingest?: boolean; unless?: string }[];
}

// demoSite is the address of the fictional product; it identifies a demo.
export const demoSite = "https://harbor.example";

// isMade reports whether a list contains the result of a call: a row with the name or the title of its body.
async function isMade(one: Part["calls"][number], app: string): Promise<boolean> {
  if (!one.unless) return false;
  const response = await fetch(one.unless.replace("{app}", app), { credentials: "same-origin" });
  if (!response.ok) throw new Refusal(response.status, {});
  const { data } = (await response.json()) as { data: { name?: string; title?: string }[] };
  return data.some((row) => (row.name ?? row.title) === (one.body.name ?? one.body.title));
}

// send makes one call of the demo. Objects that exist already, from an interrupted demo, are not a failure.
async function send(one: Part["calls"][number], app: string, key: string): Promise<void> {
  if (await isMade(one, app)) return;
  for (;;) {
    const headers: Record<string, string> = { "content-type": "application/json" };
    if (one.ingest) headers["authorization"] = "Bearer " + key;
    const response = await fetch(one.path.replace("{app}", app), {
      method: one.method,
      headers,
      credentials: one.ingest ? "omit" : "same-origin",
      body: JSON.stringify(one.body),
    });
    if (response.ok) return void (await response.text());
    const text = await response.text();
    if (response.status === 409 || (response.status === 400 && text.includes("duplicate"))) return;
    const wait = Number(response.headers.get("retry-after"));
    if (!wait || (response.status !== 429 && response.status !== 503))
      throw new Refusal(response.status, JSON.parse(text) as Partial<Schema["Problem"]>);
    await new Promise((then) => setTimeout(then, wait * 1000));
  }
}

// made returns the slug of an organization's demo: of an interrupted one, or of a new one.
async function made(org: string, name: string): Promise<string> {
  const { data } = await call("get", "/api/v1/orgs/{org}/apps", { path: { org }, query: { limit: 200 } });
  const before = data.find((one) => one.url === demoSite);
  if (before) return before.slug;
  const modules = [
    "analytics",
    "people",
    "errors",
    "metrics",
    "flags",
    "communications",
    "revenue",
    "destinations",
    "ai",
  ];
  return (
    await call("post", "/api/v1/orgs/{org}/apps", {
      path: { org },
      body: { name, platform: "web", url: demoSite, modules } as never,
    })
  ).slug;
}

// fillDemo makes the application, sends all parts and returns its slug; progress receives the completed share, from 0
// to 1.
export async function fillDemo(org: string, name: string, progress: (share: number) => void): Promise<string> {
  progress(0);
  const app = await made(org, name),
    at = { org, app };
  const key = await call("post", "/api/v1/apps/{org}/{app}/keys", {
    path: at,
    body: { kind: "secret", environment: "production", label: "demo" },
  });
  try {
    let until = "";
    for (let number = 0, parts = 1; number < parts; number++) {
      const response = await fetch(`/console/api/v1/demo/${number}?until=${encodeURIComponent(until)}`);
      if (!response.ok) throw new Refusal(response.status, {});
      const part = (await response.json()) as Part;
      ({ parts, until } = part);
      for (const [n, one] of part.calls.entries()) {
        await send(one, org + "/" + app, key.key);
        progress((number + (n + 1) / part.calls.length) / parts);
      }
    }
  } finally {
    await call("delete", "/api/v1/apps/{org}/{app}/keys/{id}", { path: { ...at, id: key.id } });
  }
  return app;
}
