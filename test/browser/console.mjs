// The console in a browser, with its own server. Each test chooses the person that is signed in.
import { launch } from "./page.mjs";
import { call, freePort, start } from "./server.mjs";

// A headless browser says so in its user agent, and overviews do not count robots. The tests therefore use the user
// agent of a normal browser.
const userAgent =
  "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36";

// settled waits until the page has its answers. After a change of the address, the page shows the new one two frames
// later.
export async function settled(on) {
  await on.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  await on.locator("#content").waitFor();
  await on.waitForFunction(() => !document.querySelector("[aria-busy=true]") && !document.querySelector(".hold"));
}

// startConsole starts the server and the browser, and returns functions that open pages. complaints collects the errors
// and warnings of the browser for all pages.
export async function startConsole(settings = {}) {
  const port = await freePort(); // the server must know the origin of passkeys before it starts
  const base = `http://localhost:${port}`;
  const browser = await launch();
  const server = await start({ SVC_HTTP_ADDR: `127.0.0.1:${port}`, SVC_PUBLIC_URL: base, ...settings }).catch(
    async (error) => {
      await browser.close();
      throw error;
    },
  );
  const complaints = [];

  // as opens the console for a person; the operator signs the person in.
  async function as(email, options = {}) {
    const session = await server.admin("login", "--email", email);
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, userAgent, ...options });
    const page = await context.newPage();
    const devtools = await context.newCDPSession(page);
    await devtools.send("WebAuthn.enable");
    await devtools.send("WebAuthn.addVirtualAuthenticator", {
      options: {
        protocol: "ctap2",
        transport: "internal",
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    });
    page.on(
      "console",
      (message) =>
        ["error", "warning"].includes(message.type()) &&
        !/status of 40\d/.test(message.text()) &&
        complaints.push(message.text()),
    );
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on(
      "request",
      (request) =>
        request.url().startsWith(base) || request.url().startsWith("data:") || complaints.push("asks " + request.url()),
    );
    page.on("dialog", (dialog) => dialog.accept());
    await context.addCookies([
      { name: "svc_session", value: session.match(/svc_con_\w+/)[0], url: base, httpOnly: true, sameSite: "Lax" },
    ]);
    return page;
  }
  const at = (app, path) => `${base}/console#/apps/acme/${app}/${path}`;
  async function visit(on, path, app = "demo") {
    await on.goto(at(app, path));
    await settled(on);
  }
  const api = (path, app = "demo") => call({ url: base }, server.token, "GET", `/api/v1/apps/acme/${app}${path}`);
  const write = (method, path, body, app = "demo") =>
    call({ url: base }, server.token, method, `/api/v1/apps/acme/${app}${path}`, body);
  async function stop() {
    await browser.close();
    await server.stop();
  }
  return { server, browser, base, complaints, as, settled, at, visit, api, write, stop };
}

// whole formats a number like the pages do.
export const whole = (n) => n.toLocaleString("en");
