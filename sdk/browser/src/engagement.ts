/**
 * Measures attention: the time for which the page was visible and had the focus since the last call, and how far down
 * the page the visitor has seen.
 */
export function createEngagement() {
  let since = 0;
  let spent = 0;
  let deepest = 0;
  let told = 0;

  function look() {
    const now = performance.now();
    if (since) spent += now - since;
    since = document.visibilityState === "visible" && document.hasFocus() ? now : 0;
  }

  function scrolled() {
    const { scrollHeight } = document.documentElement;
    deepest = Math.max(deepest, Math.min(100, Math.round(((scrollY + innerHeight) / scrollHeight) * 100)));
  }

  ["focus", "blur", "pageshow"].forEach((name) => addEventListener(name, look));
  document.addEventListener("visibilitychange", look);
  addEventListener("scroll", scrolled, { passive: true });
  look();

  return {
    /** Returns the milliseconds of attention since the last call. */
    take(): number {
      look();
      const ms = Math.round(spent);
      spent = 0;
      return ms;
    },
    /** Returns the deepest seen part, in percent of the page's height, if it has grown since the last call. */
    depth(): number | undefined {
      scrolled();
      if (deepest <= told) return undefined;
      return (told = deepest);
    },
    /** Begins a new page. */
    reset() {
      deepest = told = 0;
    },
  };
}
