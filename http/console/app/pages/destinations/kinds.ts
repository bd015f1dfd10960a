// The settings of each kind of destination.
import type { Schema } from "../../api/client";

export type Kind = Schema["NewDestination"]["kind"];
export type Config = Schema["DestinationConfig"];
type Key = Exclude<keyof Config, "personFields">;

interface Shape {
  // needed and optional are the settings, credential the parts of the credential.
  needed: Key[];
  optional: Key[];
  credential: string[];
  // persons are the choices of the personal data that is sent.
  persons: ("hashed" | "plain" | "none")[];
}

export const kinds: Record<Kind, Shape> = {
  webhook: { needed: ["url"], optional: [], credential: ["secret"], persons: ["hashed", "plain", "none"] },
  slack: { needed: [], optional: [], credential: ["address"], persons: [] },
  meta_capi: { needed: ["pixelId"], optional: ["testEventCode"], credential: ["token"], persons: ["hashed", "none"] },
  google_ads: {
    needed: ["customerId", "conversionActionId"],
    optional: ["loginCustomerId"],
    credential: ["developerToken", "clientId", "clientSecret", "refreshToken"],
    persons: ["hashed", "none"],
  },
  tiktok_events: {
    needed: ["pixelId"],
    optional: ["testEventCode"],
    credential: ["token"],
    persons: ["hashed", "none"],
  },
  linkedin_capi: { needed: ["conversionActionId"], optional: [], credential: ["token"], persons: ["hashed", "none"] },
};

// textOf is a credential as it is sent: the one part, or all parts as JSON; undefined if none is entered.
export function textOf(kind: Kind, parts: Record<string, string>): string | undefined {
  const names = kinds[kind].credential;
  if (!names.some((name) => parts[name])) return undefined;
  return names.length === 1
    ? parts[names[0]!]
    : JSON.stringify(Object.fromEntries(names.map((name) => [name, parts[name] ?? ""])));
}
