/** The visitor's consent to report: `pending` holds all items in memory until they have answered. */
export type Consent = "pending" | "granted" | "denied";

/**
 * The data that may outlive a page view: `persistent` stores a random id of the browser in localStorage. `ephemeral`
 * stores nothing on the device, so every page load is a new visitor, and waits for consent.
 */
export type PrivacyMode = "persistent" | "ephemeral";

export interface Options {
  /** A public key of the environment (`svc_pub_…`). */
  key: string;
  /** The address of the service, for example `https://svc.example.com`. */
  host: string;
  privacyMode?: PrivacyMode;
  /**
   * The consent before the visitor has answered: by default `granted` in persistent and `pending` in ephemeral mode.
   */
  consent?: Consent;
  /** Stay silent if the browser sends Do Not Track or Global Privacy Control; true by default. */
  respectSignals?: boolean;
  /** Send a page view at the start and at every change of the address; true by default. */
  pageViews?: boolean;
  /** Take a change of the part after `#` for a change of the page; false by default. */
  hash?: boolean;
  /** Send clicks on links to other hosts and to files, and sent forms (never their content); true by default. */
  interactions?: boolean;
  /** Send uncaught errors; true by default. */
  errors?: boolean;
  /** Send LCP, INP, CLS, FCP and TTFB; true by default. Loads a second script, 2 kB, when the page is idle. */
  vitals?: boolean;
  /** The version of the page, for errors and events. */
  release?: string;
}

/** A JSON object. */
export type Values = Record<string, unknown>;

/** Optional members of an event in addition to its properties. */
export interface EventDetails {
  /** Makes the event idempotent: the same id of the same visitor counts once. */
  id?: string;
  /** The worth of the event, for goals, with its currency (`EUR`). */
  value?: number;
  currency?: string;
}

/** Optional members of a caught error. */
export interface ErrorDetails {
  level?: "debug" | "info" | "warning" | "error" | "fatal";
  tags?: Record<string, string | number | boolean>;
  extra?: Values;
}

/** The answer of one flag for the visitor. */
export interface Flag {
  enabled: boolean;
  /** The served variant; null for a boolean flag, and if the flag is off. */
  variant: string | null;
  /** The variant's value, else its key; true or false for a boolean flag. */
  value: unknown;
  reason: string;
}

/** The flags by their keys. A flag that does not exist is absent. */
export type Flags = Record<string, Flag | undefined>;
