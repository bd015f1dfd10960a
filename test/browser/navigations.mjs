// Opens the overview of a running server several times, each time in a browser context without stored data. It prints
// the time from the navigation to the last number, as a JSON list of milliseconds. bench/console runs it.
//
//   node navigations.mjs URL SESSION ORG/APP QUERY TIMES
import { launch } from "./page.mjs";

const [url, session, app, query, times] = process.argv.slice(2);
const userAgent =
  "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36";

// watch runs in the page and records the time when the last number was drawn. At that time no panel waits for an
// answer, no placeholder is shown, and the chart and the live number are there.
function watch() {
  const complete = () =>
    document.querySelectorAll(".metrics .value").length === 6 &&
    document.querySelectorAll(".panels .panel tbody tr").length > 0 &&
    document.querySelector(".live") &&
    document.querySelector(".plot canvas") &&
    !document.querySelector("[aria-busy=true]") &&
    !document.querySelector(".hold");
  const look = new MutationObserver(() => {
    if (!complete()) return;
    // The numbers are on the screen when the second frame from now begins.
    requestAnimationFrame(() => requestAnimationFrame(() => complete() && (globalThis.drawn ??= performance.now())));
  });
  look.observe(document, { childList: true, subtree: true, attributes: true, characterData: true });
}

async function once(browser) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, userAgent });
  await context.addCookies([{ name: "svc_session", value: session, url, httpOnly: true, sameSite: "Lax" }]);
  const page = await context.newPage();
  await page.addInitScript(watch);
  await page.goto(`${url}/console#/apps/${app}/overview?${query}`);
  await page.waitForFunction(() => globalThis.drawn);
  const took = await page.evaluate(() => globalThis.drawn);
  await context.close();
  return took;
}

const browser = await launch();
try {
  const took = [];
  for (let n = 0; n < Number(times); n++) took.push(await once(browser));
  console.log(JSON.stringify(took));
} finally {
  await browser.close();
}
