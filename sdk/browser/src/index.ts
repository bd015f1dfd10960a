import { report, type Client } from "./client";
import type { Options } from "./options";

export type { Client } from "./client";
export type { Consent, ErrorDetails, EventDetails, Flag, Flags, Options, PrivacyMode, Values } from "./options";

/** Begins to report the page. Call it once, in the browser. */
export const start = (options: Options): Client =>
  report(options, { vitals: () => import("./vitals"), flags: () => import("./flags") });
