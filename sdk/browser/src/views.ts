/**
 * Calls `changed` whenever the address names another page: by the history API, by the back button, by the part after
 * `#` if that counts, and when the browser shows a cached page again (bfcache).
 */
export function watchAddress(withHash: boolean, changed: () => void) {
  const page = () => location.pathname + (withHash ? location.hash : "");
  let shown = page();

  const look = () => {
    if (page() !== shown) {
      shown = page();
      changed();
    }
  };
  for (const name of ["pushState", "replaceState"] as const) {
    const original = history[name];
    history[name] = function (this: History, ...args) {
      original.apply(this, args);
      look();
    };
  }
  addEventListener("popstate", look);
  if (withHash) addEventListener("hashchange", look);
  addEventListener("pageshow", (event) => {
    if (event.persisted) changed();
  });
}
