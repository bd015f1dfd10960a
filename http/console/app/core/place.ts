// The state of the console: the page, the application, and the environment, range and filters of the numbers. The part
// of the address after the # contains all of it, so a link shows its reader the same.
import { useLayoutEffect, useState } from "preact/hooks";

export interface Place {
  org: string;
  app: string;
  page: string;
  // rest is the part after the page: the id of an issue, for example.
  rest: string;
  query: URLSearchParams;
}

export function placeOf(hash: string): Place {
  const [path = "", query = ""] = hash.replace(/^#/, "").split("?", 2);
  const [, kind, org = "", app = "", page = "", ...rest] = path.split("/").map(decodeURIComponent);
  const known = kind === "apps";
  return {
    org: known ? org : "",
    app: known ? app : "",
    page: known ? page || "overview" : "",
    rest: rest.join("/"),
    query: new URLSearchParams(query),
  };
}

// Counted is the scope of a page's numbers.
export interface Counted {
  // at is the path of the application, for calls.
  at: { org: string; app: string };
  env: string;
  range: string;
  filters: string[];
}

// countedAt returns the scope in an address. Every application has an environment production.
export function countedAt({ org, app, query }: Place): Counted {
  return {
    at: { org, app },
    env: query.get("env") ?? "production",
    range: query.get("range") ?? "7d",
    filters: query.getAll("filter"),
  };
}

// newApplication is the link to the form of a new application; creating reports whether it is the address.
export const newApplication = "#/new";
export const creating = (): boolean => location.hash === newApplication;

export function hashOf(place: Place): string {
  const parts = ["apps", place.org, place.app, place.page, ...(place.rest ? [place.rest] : [])].map(encodeURIComponent);
  const query = place.query.toString();
  return "#/" + parts.join("/") + (query ? "?" + query : "");
}

// The parameters that stay when the page changes.
const kept = ["env", "range", "filter"];

// to returns the link to another page with the same scope.
export function to(place: Place, page: string, rest = "", query: Record<string, string> = {}): string {
  const next = new URLSearchParams();
  for (const name of kept) for (const value of place.query.getAll(name)) next.append(name, value);
  for (const [name, value] of Object.entries(query)) next.set(name, value);
  return hashOf({ ...place, page, rest, query: next });
}

// set returns the link to the same page with a changed parameter; an empty value removes it.
export function set(place: Place, name: string, value: string): string {
  const query = new URLSearchParams(place.query);
  if (value === "") query.delete(name);
  else query.set(name, value);
  return hashOf({ ...place, query });
}

// toggle returns the link to the same page with a filter added, or removed if it is present.
export function toggle(place: Place, filter: string): string {
  const query = new URLSearchParams(place.query);
  const filters = query.getAll("filter");
  query.delete("filter");
  for (const one of filters.includes(filter) ? filters.filter((f) => f !== filter) : [...filters, filter])
    query.append("filter", one);
  return hashOf({ ...place, query });
}

export function go(hash: string): void {
  location.hash = hash;
}

// leave opens the next page after an action is complete, unless the person has left the place in the meantime.
export function leave(place: Place, hash: string): void {
  if (hashOf(placeOf(location.hash)) === hashOf(place)) go(hash);
}

export function usePlace(): Place {
  const [place, change] = useState(() => placeOf(location.hash));
  useLayoutEffect(() => {
    const follow = () => change(placeOf(location.hash));
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  return place;
}
