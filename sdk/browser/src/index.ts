import { report, type Client } from "./client";
import type { Options } from "./options";

export type { Client } from "./client";
export type { Consent, ErrorDetails, EventDetails, Options, PrivacyMode, Values } from "./options";

/** Begins to report the page. Call it once, in the browser. */
export const start = (options: Options): Client => report(options, () => import("./vitals"));
