// A separate server in a folder that is deleted afterwards, with traffic of sixty days. Except for its dates, the
// traffic is the same on every run.
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const binary = fileURLToPath(new URL("../../bin/svc", import.meta.url));
const patience = 60_000;

// until repeats a question until its answer is not undefined.
export async function until(what, ask) {
  const end = Date.now() + patience;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    if (Date.now() > end) throw new Error("waiting until " + what);
    await new Promise((done) => setTimeout(done, 50));
  }
}

// freePort returns a free port on loopback.
export function freePort() {
  return new Promise((done) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => done(port));
    });
  });
}

// start runs a server, with the given settings if there are any. It returns the addresses, keys and functions that
// tests need to use the server.
export async function start(settings = {}) {
  const dir = await mkdtemp(join(tmpdir(), "svc-browser-"));
  const bootstrap = join(dir, "bootstrap.json");
  const env = {
    ...process.env,
    SVC_HTTP_ADDR: "127.0.0.1:0",
    SVC_ADMIN_ADDR: "127.0.0.1:0",
    SVC_DATA_DIR: join(dir, "data"),
    SVC_BOOTSTRAP_FILE: bootstrap,
    SVC_RATE_LIMIT: "0",
    SVC_LOG_SYNC: "os",
    SVC_FLUSH_INTERVAL: "100ms",
    SVC_PARTITIONS: "4",
    SVC_LOG_LEVEL: "warn",
    ...settings,
  };
  const child = spawn(binary, ["serve"], { env, stdio: ["ignore", "pipe", "pipe"] });
  let printed = "",
    logged = "",
    ended;
  child.stdout.on("data", (part) => (printed += part));
  child.stderr.on("data", (part) => (logged += part));
  const exit = new Promise((done) => child.on("exit", (code) => done((ended = code ?? 1))));
  const stop = async () => {
    child.kill("SIGTERM");
    await exit;
    await rm(dir, { recursive: true, force: true });
  };
  try {
    const operator = await until("the server serves", () => {
      if (ended !== undefined) throw new Error("the server ended: " + logged);
      return printed.match(/operator: (http:\S+)\)/)?.[1];
    });
    const boot = JSON.parse(await readFile(bootstrap, "utf8"));
    // run runs a command of the program against the server and returns its output.
    const run = async (...args) => {
      const command = spawn(binary, [...args, "--addr", new URL(operator).host], { env });
      let said = "";
      command.stdout.on("data", (part) => (said += part));
      await new Promise((done) => command.on("close", done));
      return said;
    };
    const admin = (...args) => run("admin", ...args);
    // demo sends the demo data to the application demo.
    const demo = async () => {
      const said = await run("demo", "--url", boot.url);
      if (!said.includes("/apps/acme/demo/")) throw new Error("svc demo: " + said + logged);
    };
    const session = await admin("login", "--email", "owner@acme.example");
    return {
      url: boot.url,
      operator,
      token: boot.token,
      secret: boot.keys.production.secret,
      console: boot.console,
      session: session.match(/svc_con_\w+/)[0],
      admin,
      demo,
      stop,
      log: () => logged,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

// call sends a request and returns the JSON of the answer.
export async function call(server, bearer, method, path, body) {
  const response = await fetch(server.url + path, {
    method,
    headers: { authorization: "Bearer " + bearer, "content-type": "application/json" },
    body: body && JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return text === "" ? undefined : JSON.parse(text);
}

// random returns numbers from 0 to 1 that are the same on every run.
function random(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const pages = [
  ["/", 34],
  ["/pricing", 15],
  ["/docs", 12],
  ["/docs/getting-started", 9],
  ["/blog/exactly-once", 8],
  ["/features", 7],
  ["/blog", 5],
  ["/changelog", 4],
  ["/docs/api/events", 4],
  ["/about", 2],
  ["/contact", 1.5],
  ["/admin/billing", 1],
  ["/reset/9f8e7d6c5b4a39281706f5e4d3c2b1a0", 0.5],
];
const referrers = [
  ["", 36],
  ["https://www.google.com/", 27],
  ["https://news.ycombinator.com/", 10],
  ["https://github.com/", 8],
  ["https://www.bing.com/", 5],
  ["https://duckduckgo.com/", 5],
  ["https://www.linkedin.com/", 4],
  ["https://lobste.rs/", 3],
  ["https://dev.to/", 2],
];
const campaigns = [
  ["", 84],
  ["utm_source=newsletter&utm_medium=email&utm_campaign=autumn", 9],
  ["utm_source=podcast&utm_medium=audio&utm_campaign=launch", 4],
  ["utm_source=twitter&utm_medium=social&utm_campaign=launch", 3],
];
const addresses = [
  ["193.99.144.80", 24],
  ["8.8.8.8", 23],
  ["212.58.244.20", 12],
  ["194.2.0.20", 9],
  ["213.154.224.1", 8],
  ["202.12.27.33", 6],
  ["130.239.18.10", 5],
  ["200.160.2.3", 5],
  ["14.139.60.10", 4],
  ["129.132.1.1", 3],
  ["131.130.1.11", 2],
  ["158.37.63.1", 0.03],
];
const agents = [
  [
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36",
    36,
  ],
  [
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1",
    24,
  ],
  [
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15",
    16,
  ],
  ["Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0", 12],
  [
    "Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Mobile Safari/537.36",
    12,
  ],
];

// traffic returns the events of sixty days before now. No event is within ten minutes after the start of a window of 30
// days. So the page and the API count the same events, although they are requested one after the other.
export function traffic(now) {
  const next = random(20261120);
  const pick = (weighted) => {
    let left = next() * weighted.reduce((sum, [, weight]) => sum + weight, 0);
    return weighted.find(([, weight]) => (left -= weight) < 0)?.[0] ?? weighted[0][0];
  };
  const day = 86_400_000,
    events = [];
  for (let ago = 60; ago > 0; ago--) {
    const weekday = new Date(now - ago * day).getUTCDay();
    const busy = (weekday % 6 === 0 ? 34 : 62) * (1 + (60 - ago) / 90) * (ago === 12 ? 2.1 : 1) * (0.85 + 0.3 * next());
    for (let n = 0; n < busy; n++) {
      const who = "visitor-" + Math.floor(next() * 1800),
        address = pick(addresses),
        agent = pick(agents);
      const referrer = pick(referrers),
        campaign = pick(campaigns);
      let at =
        now - ago * day + Math.floor(day * Math.min(0.999, Math.max(0, 0.5 + (next() + next() + next() - 1.5) * 0.33)));
      const views = next() < 0.42 ? 1 : 2 + Math.floor(next() * 5);
      for (let view = 0; view < views && at < now; view++, at += 8_000 + Math.floor(next() * 90_000)) {
        if (at >= now - 30 * day && at < now - 30 * day + 600_000) continue;
        const path = view === 0 && next() < 0.4 ? "/" : pick(pages);
        events.push({
          type: "page",
          id: "evt-" + events.length,
          ts: new Date(at).toISOString(),
          name: "page_view",
          distinctId: who,
          sessionId: who + "-" + ago + "-" + n,
          url: "https://acme.example" + path + (view === 0 && campaign ? "?" + campaign : ""),
          referrer: view === 0 ? referrer : "",
          context: { ip: address, userAgent: agent },
        });
      }
    }
  }
  return events;
}
