// daysAtLeast returns the range for revenue. Its shortest step is a day, so a range of a few days becomes a week.
export function daysAtLeast(range: string): string {
  return ["today", "yesterday", "24h", "14d"].includes(range) ? "7d" : range;
}
