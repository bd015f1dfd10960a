// A site with pages of each framework in the install guide. The pages use the snippets of the guide unchanged, with
// keys in place of their placeholders. /<framework>-<mode> is a page. It links to a second page, which its framework
// shows without loading it.
import { execFile, spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build } from "esbuild";
import { call, freePort, until } from "../browser/server.mjs";

const run = promisify(execFile);
const here = fileURLToPath(new URL(".", import.meta.url));
const app = "/api/v1/apps/acme/web";
const modes = ["persistent", "ephemeral"];
const next = createRequire(import.meta.url).resolve("next/dist/bin/next");

// Page frameworks have snippets for pages. Programs of the server frameworks run behind html pages.
export const ofPages = ["html", "react", "nextjs"],
  ofServers = ["node", "express", "hono"];

// files writes files into a folder.
async function files(folder, texts) {
  for (const [name, text] of Object.entries(texts)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
}

// snippets returns the files of a guide.
async function snippets(server, framework, mode) {
  const answer = await call(server, server.token, "GET", `${app}/install?framework=${framework}&privacyMode=${mode}`);
  const key = await call(server, server.token, "POST", `${app}/keys`, {
    kind: "public",
    environment: "production",
    label: framework,
  });
  const filled = (code) =>
    code.replaceAll(answer.dsn, key.dsn).replaceAll(`${answer.publicKeyPrefix}_YOUR_KEY`, key.key);
  return Object.fromEntries(answer.snippets.map(({ title, code }) => [title, filled(code)]));
}

// plain is an html page. Its order is an event of the page, or of the program behind it.
function plain(name, snippet, order) {
  return `<!doctype html><html lang="en"><title>${name}</title>${snippet}
    <h1>${name}</h1><a id="second" href="/${name}/second">Second</a> <button id="order">Order</button> <button id="fail">Fail</button> <button id="agree">Agree</button>
    <div style="height:4000px"></div>
    <script>
      const on = (id, act) => (document.getElementById(id).onclick = act);
      on("second", (event) => { event.preventDefault(); history.pushState({}, "", event.target.href); document.title = "Second"; });
      on("order", () => { ${order} });
      on("fail", () => { throw new Error("${name} failed"); });
      on("agree", () => svc.push(["consent", "granted"]));
    </script>`;
}

// acts is the source of the buttons of a React page, with the exports of the snippet.
const acts = (name, mode, from) => `import { track${mode === "ephemeral" ? ", consent" : ""} } from "${from}";
  export const Acts = () => <>
    <button id="order" onClick={() => track("ordered_${name}")}>Order</button>
    <button id="fail" onClick={() => { throw new Error("${name} failed"); }}>Fail</button>
    ${mode === "ephemeral" ? '<button id="agree" onClick={() => consent("granted")}>Agree</button>' : ""}
    <div style={{ height: 4000 }} />
  </>;`;

// react builds the page with the snippet main.jsx as its entry, and returns its script.
async function react(folder, name, mode, texts) {
  await files(join(folder, name), {
    ...texts,
    "src/acts.jsx": acts(name, mode, "./svc"),
    "src/App.jsx": `import { Acts } from "./acts";
      const follow = (event) => { event.preventDefault(); history.pushState({}, "", event.target.href); document.title = "Second"; };
      export default function App() { return <><h1>${name}</h1><a id="second" href="/${name}/second" onClick={follow}>Second</a> <Acts /></>; }`,
  });
  const built = await build({
    entryPoints: [join(folder, name, "src/main.jsx")],
    bundle: true,
    write: false,
    jsx: "automatic",
    define: { "process.env.NODE_ENV": '"production"' },
    logLevel: "error",
  });
  return built.outputFiles[0].text;
}

// nextjs writes an application of Next.js with a root layout for each mode.
async function nextjs(folder, server) {
  for (const mode of modes) {
    const {
      "lib/svc.js": calls,
      "app/page-views.jsx": views,
      "instrumentation.js": instrumentation,
    } = await snippets(server, "nextjs", mode);
    const name = "nextjs-" + mode;
    if (instrumentation) await files(folder, { "instrumentation.js": instrumentation });
    await files(join(folder, "app", `(${mode})`), {
      "svc.js": calls,
      "page-views.jsx": views,
      "acts.jsx": '"use client";\n' + acts(name, mode, "./svc"),
      "layout.jsx":
        'import { PageViews } from "./page-views"; export default function Layout({ children }) { return <html lang="en"><body>{children}<PageViews /></body></html>; }',
      [name + "/page.jsx"]:
        `import Link from "next/link"; import { Acts } from "../acts"; export const metadata = { title: "${name}" };
        export default function Page() { return <><h1>${name}</h1><Link id="second" href="/${name}/second">Second</Link> <Acts /></>; }`,
      [name + "/second/page.jsx"]:
        'import { Acts } from "../../acts"; export const metadata = { title: "Second" }; export default function Page() { return <><h1>Second</h1><Acts /></>; }',
    });
  }
  await files(folder, {
    "package.json": '{ "private": true }',
    "app/broken/route.js": 'export function POST() { throw new Error("nextjs-server failed"); }',
  });
}

// served starts a program and waits until it answers. It returns the address, and a function that stops the program.
async function served(what, args, env) {
  const port = await freePort();
  const child = spawn(process.execPath, args(port), {
    env: { ...process.env, PORT: String(port), NEXT_TELEMETRY_DISABLED: "1", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (part) => (said += part));
  const ended = new Promise((done) => child.on("exit", done));
  const url = `http://127.0.0.1:${port}`;
  await until(what + " answers", async () => {
    if (child.exitCode !== null) throw new Error(what + " ended: " + said);
    return fetch(url).then(
      (response) => response.text(),
      () => undefined,
    );
  });
  return { url, stop: () => (child.kill(), ended) };
}

// programs starts the programs of the server frameworks. It returns a function per framework that places an order, and
// a function that stops the programs.
async function programs(folder, server) {
  const env = { SVC_SECRET_KEY: server.secret, SVC_DSN: "" };
  const order = {},
    running = [];
  for (const framework of ofServers) {
    const texts = await snippets(server, framework, "persistent"),
      own = join(folder, framework);
    await files(own, texts);
    const program = join(
      own,
      Object.keys(texts).find((title) => title !== "svc.mjs"),
    );
    if (framework === "node") {
      order[framework] = () => run(process.execPath, [program], { env: { ...process.env, ...env } }).then(() => 201);
      continue;
    }
    const one = await served(framework, () => [program], env);
    running.push(one);
    order[framework] = () => fetch(one.url + "/orders", { method: "POST" }).then((response) => response.status);
  }
  return { order, stop: () => Promise.all(running.map((one) => one.stop())) };
}

// textsOf makes the answers of the site, by address.
async function textsOf(folder, server) {
  const texts = {};
  for (const mode of modes) {
    const html = (await snippets(server, "html", mode))["index.html"];
    texts["/html-" + mode] = plain("html-" + mode, html, `svc.push(["track", "ordered_html-${mode}"]);`);
    for (const framework of ofServers)
      texts[`/${framework}-${mode}`] = plain(
        `${framework}-${mode}`,
        html,
        `fetch("/orders/${framework}", { method: "POST" });`,
      );
    const name = "react-" + mode;
    texts[`/${name}.js`] = await react(folder, name, mode, await snippets(server, "react", mode));
    texts["/" + name] =
      `<!doctype html><html lang="en"><title>${name}</title><head></head><div id="root"></div><script type="module" src="/${name}.js"></script>`;
  }
  return texts;
}

// startSite makes and serves all pages. at returns the address of a page.
export async function startSite(server) {
  const folder = await mkdtemp(join(here, "install-")); // in this folder, so that snippets find the packages that they import
  const stops = [() => rm(folder, { recursive: true, force: true })];
  const stop = async () => {
    for (const one of stops.toReversed()) await one();
  };
  try {
    const behind = await programs(folder, server);
    stops.push(behind.stop);
    const texts = await textsOf(folder, server);
    const site = createServer(async (request, response) => {
      const order = request.method === "POST" && behind.order[request.url.replace("/orders/", "")];
      if (order) return response.writeHead(await order()).end();
      response
        .setHeader("content-type", request.url.endsWith(".js") ? "text/javascript" : "text/html")
        .end(texts[request.url] ?? "");
    });
    await new Promise((done) => site.listen(0, "127.0.0.1", done));
    stops.push(() => (site.closeAllConnections(), site.close()));
    const own = join(folder, "next");
    await nextjs(own, server);
    await run(process.execPath, [next, "build", own], { env: { ...process.env, NEXT_TELEMETRY_DISABLED: "1" } }).catch(
      (error) => {
        throw new Error("next build: " + error.stdout + error.stderr);
      },
    );
    const dsn = (
      await call(server, server.token, "POST", `${app}/keys`, {
        kind: "public",
        environment: "production",
        label: "next",
      })
    ).dsn;
    const rendered = await served("next start", (port) => [next, "start", own, "-p", String(port), "-H", "127.0.0.1"], {
      SVC_DSN: dsn,
    });
    stops.push(rendered.stop);
    return {
      at: (name) => (name.startsWith("nextjs") ? rendered.url : `http://127.0.0.1:${site.address().port}`) + "/" + name,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
