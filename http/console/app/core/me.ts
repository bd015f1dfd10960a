// The signed-in person, and their permissions in the shown application.
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Schema } from "../api/client";
import type { Counted, Place } from "./place";

export type Permission = Schema["Identity"]["permissions"][number];
export interface Here extends Counted {
  me: Schema["Identity"];
  app: Schema["Application"];
  place: Place;
  org: Schema["Reached"];
  may: (permission: Permission) => boolean;
  // administers reports whether the person is an administrator or an owner.
  administers: boolean;
  has: (module: Schema["Application"]["modules"][number]) => boolean;
}

export const HereContext = createContext<Here | null>(null);

export function useHere(): Here {
  const here = useContext(HereContext);
  if (!here) throw new Error("no application is shown");
  return here;
}
