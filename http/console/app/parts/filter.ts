import { country } from "../core/format";
import { t } from "../core/texts";

// value shows a value of a dimension.
export function value(dimension: string, text: string): string {
  if (text === "") return t.overview.unknown;
  return dimension === "country" ? country(text) : text;
}

// label shows a filter, which is <dimension>:<value>.
export function label(filter: string): string {
  const at = filter.indexOf(":");
  const dimension = filter.slice(0, at);
  return (t.overview.dimensions[dimension] ?? dimension) + ": " + value(dimension, filter.slice(at + 1));
}
