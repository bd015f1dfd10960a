import { createEngagement } from "./engagement";
import { describe, watchErrors } from "./errors";
import { watchInteractions } from "./interactions";
import type { Consent, ErrorDetails, EventDetails, Flags, Options, Values } from "./options";
import { createQueue, type Item, type Store } from "./queue";
import { watchAddress } from "./views";
import { named } from "./id";

/** Reports to one environment. */
export interface Client {
  /** Sends an event. */
  track(name: string, properties?: Values, details?: EventDetails): void;
  /** Sends a page view. Needed only if `pageViews` is off. */
  page(properties?: Values): void;
  /** Identifies the visitor and sets traits. Until {@link Client.reset}, events carry this id. */
  identify(distinctId: string, traits?: Values, userHash?: string): void;
  /** Adds a second id to a person. */
  alias(distinctId: string, previousId?: string, userHash?: string, previousUserHash?: string): void;
  /** Sets the company of the visitor. */
  group(company: string): void;
  /** Sends a caught error. */
  captureError(error: unknown, details?: ErrorDetails): void;
  /**
   * Calls `changed` with the visitor's feature flags, and again whenever one of them or the visitor changes. `context`
   * contains the values that rules may read. Without the visitor's consent, there are no flags.
   */
  flags(changed: (flags: Flags) => void, context?: Values): void;
  /**
   * Sets the visitor's consent: `granted` sends the waiting items, `denied` deletes them and all data on the device.
   */
  consent(answer: Consent): void;
  /** Forgets the visitor's identity, for example when they sign out. */
  reset(): void;
}

const library = "svc-browser/1.0.0";
const idKey = "svc_id";
const userKey = "svc_user";
const consentKey = "svc_consent";

/** The time in which a new page must set its title. */
const titleMs = 50;

/** Random, and usable on pages without https, on which crypto.randomUUID is not available. */
const randomId = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

/** The browser's store, if the page may use it. */
function localStore(): Store {
  try {
    localStorage.setItem("svc_try", "1");
    localStorage.removeItem("svc_try");
    return localStorage;
  } catch {
    return undefined;
  }
}

/**
 * Parts that are loaded on demand: the measuring of web vitals, when the page is idle, and the evaluation of flags,
 * when the page requests them.
 */
export interface Parts {
  vitals(): Promise<typeof import("./vitals")>;
  flags(): Promise<typeof import("./flags")>;
}

/** Begins to report a page. */
export function report(options: Options, parts: Parts): Client {
  const lasting = options.privacyMode !== "ephemeral";
  const store = lasting ? localStore() : undefined;
  const signals = navigator as { doNotTrack?: string; globalPrivacyControl?: boolean };
  const silent = options.respectSignals !== false && (signals.globalPrivacyControl || signals.doNotTrack === "1");
  let answer: Consent =
    (store?.getItem(consentKey) as Consent | null) ??
    (silent ? "denied" : (options.consent ?? (lasting ? "granted" : "pending")));

  const queue = createQueue(`${options.host}/api/v1/batch?key=${encodeURIComponent(options.key)}`, store, () => ({
    context: { library, locale: navigator.language, screen: `${screen.width}x${screen.height}` },
  }));
  const engagement = createEngagement();
  /** The items that wait for the visitor's consent. */
  let held: Item[] = [];
  let url = location.href;
  let { referrer } = document;
  /** The timer of the view of a page that has just been opened. */
  let opening: ReturnType<typeof setTimeout> | undefined;
  let anonymousId: string | undefined;
  let distinctId: string | undefined;
  let userHash: string | undefined;

  let flagging: Promise<{ add(changed: (flags: Flags) => void, context?: Values): void; ask(): unknown }> | undefined;

  /** Stores a value on the device; an undefined value is removed. */
  const remember = (key: string, value: string | undefined) => {
    if (value === undefined) store?.removeItem(key);
    else store?.setItem(key, value);
  };

  function visitor() {
    anonymousId ??= store?.getItem(idKey) ?? randomId();
    distinctId ??= named(store?.getItem(userKey));
    if (answer === "granted") {
      remember(idKey, anonymousId);
      remember(userKey, distinctId);
    }
    return { anonymousId, distinctId };
  }

  function send(type: string, members: Values) {
    if (answer === "denied") return;
    const path = options.hash ? location.pathname + location.hash : undefined;
    const item: Item = {
      type,
      id: randomId(),
      ts: new Date().toISOString(),
      ...visitor(),
      url,
      path,
      referrer,
      title: document.title,
      release: options.release,
      ...members,
    };
    if (answer === "granted") queue.push(item);
    else if (held.push(item) > 100) held.shift();
  }

  const track = (name: string, properties?: Values, details?: EventDetails) =>
    send("event", { name, properties, engagedMs: engagement.take(), ...details });

  /** Sends the attention that no other event has carried. */
  function leavePage() {
    const engagedMs = engagement.take();
    const scrollDepth = engagement.depth();
    if (engagedMs > 999 || (scrollDepth && engagedMs))
      send("event", { name: "engagement", engagedMs, properties: { scrollDepth } });
  }

  function page(properties?: Values) {
    clearTimeout(opening);
    opening = undefined;
    send("page", { properties, engagedMs: engagement.take() });
  }

  function pageChanged() {
    leavePage();
    engagement.reset();
    if (location.href !== url) referrer = url;
    url = location.href;
    // Frameworks set the title after the address, and an address that redirects to the next is not a page.
    clearTimeout(opening);
    opening = setTimeout(page, titleMs);
  }

  /** Evaluates the flags for the present visitor. */
  const visitorChanged = () =>
    void flagging?.then(
      (watch) => watch.ask(),
      () => undefined,
    );

  function begin() {
    if (options.pageViews !== false) {
      watchAddress(!!options.hash, pageChanged);
      page();
    }
    if (options.interactions !== false) watchInteractions(track);
    if (options.vitals !== false) {
      const load = () =>
        void parts.vitals().then(
          ({ watchVitals }) => watchVitals((name, value) => send("vital", { name, value })),
          () => undefined,
        );
      (window.requestIdleCallback ?? setTimeout)(load);
    }
  }

  if (options.errors !== false) watchErrors((members) => send("error", members));
  const leave = () => {
    if (opening) page();
    leavePage();
    if (answer === "granted") queue.leave();
  };
  document.addEventListener("visibilitychange", () => document.visibilityState === "hidden" && leave());
  addEventListener("pagehide", leave);
  addEventListener("online", () => queue.retry());
  if (answer === "granted") queue.adopt();
  // A page that the browser prerenders may never be seen.
  if ((document as { prerendering?: boolean }).prerendering)
    document.addEventListener("prerenderingchange", begin, { once: true });
  else begin();

  return {
    track,
    page,
    identify(id, traits, hash) {
      if (!named(id)) return;
      distinctId = id;
      userHash = hash;
      send("identify", { traits, userHash });
      visitorChanged();
    },
    alias: (id, previousId = distinctId, hash = undefined, previousUserHash = userHash) =>
      send("alias", { distinctId: id, previousId, userHash: hash, previousUserHash }),
    group: (company) => send("identify", { traits: { company }, userHash }),
    captureError: (error, details) =>
      send("error", { ...describe(error), handled: true, mechanism: "generic", ...details }),
    flags(changed, context) {
      flagging ??= parts
        .flags()
        .then(({ watchFlags }) =>
          watchFlags(options.host, options.key, store, () => (answer === "granted" ? visitor() : undefined)),
        );
      void flagging.then(
        (watch) => watch.add(changed, context),
        () => changed({}),
      );
    },
    consent(given) {
      answer = given;
      if (given === "granted") {
        remember(consentKey, given);
        visitor();
        held.splice(0).forEach((item) => queue.push(item));
      } else if (given === "denied") {
        held = [];
        queue.clear();
        [idKey, userKey].forEach((key) => remember(key, undefined));
        remember(consentKey, given);
        anonymousId = distinctId = userHash = undefined;
      }
      visitorChanged();
    },
    reset() {
      [idKey, userKey].forEach((key) => remember(key, undefined));
      anonymousId = distinctId = userHash = undefined;
      visitorChanged();
    },
  };
}
