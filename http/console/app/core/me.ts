// Who is signed in, and what they may do in the application that is shown.
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Schema } from "../api/client";
import type { Place } from "./place";

export type Permission = Schema["Identity"]["permissions"][number];
export interface Here {
  me: Schema["Identity"];
  app: Schema["Application"];
  place: Place;
  org: Schema["Reached"];
  env: string;
  range: string;
  filters: string[];
  may: (permission: Permission) => boolean;
  // administers reports whether the person is an administrator or an owner.
  administers: boolean;
  has: (module: Schema["Application"]["modules"][number]) => boolean;
  // at is the path of the application, for calls.
  at: { org: string; app: string };
}

export const HereContext = createContext<Here | null>(null);

export function useHere(): Here {
  const here = useContext(HereContext);
  if (!here) throw new Error("no application is shown");
  return here;
}
