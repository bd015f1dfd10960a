// The questions of the overview.
import { question } from "../../api/client";
import type { Counted, Place } from "../../core/place";

// dimensions are the dimensions of each panel; the first is the default.
export const dimensions = {
  pages: ["path", "entry_path", "exit_path"],
  sources: ["source", "referrer_domain", "medium", "utm_campaign"],
  places: ["country", "region", "city"],
  devices: ["device", "browser", "os"],
  events: ["event"],
} as const;

// few is the initial number of rows in a panel.
export const few = 8;

const metrics = ["visitors", "pageviews", "sessions", "conversions"] as const;
export type Metric = (typeof metrics)[number];

// metricAt returns the metric of the chart in an address.
export function metricAt(place: Place): Metric {
  const asked = place.query.get("metric") as Metric | null;
  return asked && metrics.includes(asked) ? asked : "visitors";
}

const of = ({ env, range, filters }: Counted) => ({ env, range, filter: filters });

export const headline = (counted: Counted) =>
  question("/api/v1/apps/{org}/{app}/analytics/overview", { path: counted.at, query: of(counted) });

export const course = (counted: Counted, metric: Metric) =>
  question("/api/v1/apps/{org}/{app}/analytics/timeseries", { path: counted.at, query: { ...of(counted), metric } });

export const marks = (counted: Counted) =>
  question("/api/v1/apps/{org}/{app}/annotations", {
    path: counted.at,
    query: { env: counted.env, range: counted.range, limit: 200 },
  });

export const panel = (counted: Counted, dimension: string, limit = few) =>
  question("/api/v1/apps/{org}/{app}/analytics/breakdown", {
    path: counted.at,
    query: { ...of(counted), dimension, limit },
  });
