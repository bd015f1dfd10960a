/** Whether the visitor lets the page report: `pending` keeps everything in memory until they have answered. */
export type Consent = "pending" | "granted" | "denied";

/**
 * What may outlive a page view: `persistent` keeps a random id of the browser in localStorage, `ephemeral`
 * keeps nothing on the device, so every page load is a new visitor, and waits for consent.
 */
export type PrivacyMode = "persistent" | "ephemeral";

export interface Options {
  /** A public key of the environment (`svc_pub_…`). */
  key: string;
  /** Where the service answers, for example `https://svc.example.com`. */
  host: string;
  privacyMode?: PrivacyMode;
  /** The answer before anybody asked: by default `granted` in persistent and `pending` in ephemeral mode. */
  consent?: Consent;
  /** Stay silent where the browser sends Do Not Track or Global Privacy Control; true by default. */
  respectSignals?: boolean;
  /** Send a page view at the start and at every change of the address; true by default. */
  pageViews?: boolean;
  /** Take a change of the part after `#` for a change of the page; false by default. */
  hash?: boolean;
  /** Send clicks on links to other hosts and to files, and sent forms (never their content); true by default. */
  interactions?: boolean;
  /** Send errors that nobody caught; true by default. */
  errors?: boolean;
  /** Send LCP, INP, CLS, FCP and TTFB; true by default. Loads a second script, 2 kB, when the page is idle. */
  vitals?: boolean;
  /** The version of the page, for errors and events. */
  release?: string;
}

/** A JSON object. */
export type Values = Record<string, unknown>;

/** What an event may carry besides its properties. */
export interface EventDetails {
  /** Makes the event idempotent: the same id of the same visitor counts once. */
  id?: string;
  /** The worth of the event, for goals, with its currency (`EUR`). */
  value?: number;
  currency?: string;
}

/** What a caught error may carry. */
export interface ErrorDetails {
  level?: "debug" | "info" | "warning" | "error" | "fatal";
  tags?: Record<string, string | number | boolean>;
  extra?: Values;
}

/** What one flag answers to the visitor. */
export interface Flag {
  enabled: boolean;
  /** The variant that is served; null for a boolean flag, and where the flag is off. */
  variant: string | null;
  /** The variant's value, else its key; true or false for a boolean flag. */
  value: unknown;
  reason: string;
}

/** The flags by their keys. One that does not exist is absent. */
export type Flags = Record<string, Flag | undefined>;
