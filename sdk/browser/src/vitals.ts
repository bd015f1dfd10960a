import { onCLS, onFCP, onINP, onLCP, onTTFB, type Metric } from "web-vitals";

/** Calls `report` with the name and the value of every web vital of this page, when it is final. */
export function watchVitals(report: (name: string, value: number) => void) {
  const tell = (metric: Metric) => report(metric.name, metric.value);
  [onCLS, onFCP, onINP, onLCP, onTTFB].forEach((watch) => watch(tell));
}
