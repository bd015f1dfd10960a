// The demo: an application that the service's list of calls fills.
import { call, Refusal, type Schema } from "../api/client";

interface Part {
  parts: number;
  until: string;
  calls: { method: string; path: string; body: unknown; ingest?: boolean }[];
}

export const demoSlug = "demo";

// send makes one call of the demo. What is there already, of a demo that was interrupted, is no failure.
async function send(one: Part["calls"][number], app: string, key: string): Promise<void> {
  for (;;) {
    const headers: Record<string, string> = { "content-type": "application/json" };
    if (one.ingest) headers["authorization"] = "Bearer " + key;
    const response = await fetch(one.path.replace("{app}", app), { method: one.method, headers, credentials: one.ingest ? "omit" : "same-origin", body: JSON.stringify(one.body) });
    if (response.ok) return void (await response.text());
    const text = await response.text();
    if (response.status === 409 || (response.status === 400 && text.includes("duplicate"))) return;
    const wait = Number(response.headers.get("retry-after"));
    if (!wait || (response.status !== 429 && response.status !== 503)) throw new Refusal(response.status, JSON.parse(text) as Partial<Schema["Problem"]>);
    await new Promise((then) => setTimeout(then, wait * 1000));
  }
}

// fillDemo makes the application and sends all parts; progress hears how much of it is done, from 0 to 1.
export async function fillDemo(org: string, name: string, progress: (share: number) => void): Promise<void> {
  const at = { org, app: demoSlug };
  progress(0);
  try {
    await call("post", "/api/v1/orgs/{org}/apps", { path: { org }, body: { name, slug: demoSlug, platform: "web", url: "https://harbor.example", modules: ["analytics", "people", "errors", "metrics", "flags", "ai"] } as never });
  } catch (error) {
    if (!(error instanceof Refusal && error.status === 409)) throw error;
  }
  const made = await call("post", "/api/v1/apps/{org}/{app}/keys", { path: at, body: { kind: "secret", environment: "production", label: demoSlug } });
  try {
    let until = "";
    for (let number = 0, parts = 1; number < parts; number++) {
      const response = await fetch(`/console/demo/${number}?until=${encodeURIComponent(until)}`);
      if (!response.ok) throw new Refusal(response.status, {});
      const part = (await response.json()) as Part;
      ({ parts, until } = part);
      for (const [n, one] of part.calls.entries()) {
        await send(one, org + "/" + demoSlug, made.key);
        progress((number + (n + 1) / part.calls.length) / parts);
      }
    }
  } finally {
    await call("delete", "/api/v1/apps/{org}/{app}/keys/{id}", { path: { ...at, id: made.id } });
  }
}
