// Numbers and times as people read them.

// once creates a value at its first use: the first format of a page takes the browser some ten milliseconds, in which
// requests can already be sent.
function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}

const whole = once(() => new Intl.NumberFormat("en"));
const short = once(() => new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 }));
const percent = once(() => new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 1 }));

export const count = (n: number): string => whole().format(n);
export const brief = (n: number): string => (Math.abs(n) < 10_000 ? whole() : short()).format(n);
export const share = (ratio: number): string => percent().format(ratio);

// duration writes a length of time in its two largest units, without the second if it is zero.
export function duration(ms: number): string {
  const seconds = Math.round(ms / 1000);
  const of = (unit: number, name: string, part: number, partName: string) =>
    Math.floor(seconds / unit) +
    name +
    (seconds % unit >= part ? " " + Math.floor((seconds % unit) / part) + partName : "");
  if (seconds < 60) return seconds + "s";
  if (seconds < 3600) return of(60, "m", 1, "s");
  return seconds < 48 * 3600 ? of(3600, "h", 60, "m") : of(86_400, "d", 3600, "h");
}

// delta writes a change in percent, with its sign.
export function delta(value: number): string {
  const rounded = Math.abs(value) >= 100 ? Math.round(value) : Math.round(value * 10) / 10;
  return (rounded > 0 ? "+" : rounded < 0 ? "−" : "±") + Math.abs(rounded) + "%";
}

// The formats of times are cached: creating one takes longer than using it, and a list needs some for every row.
const formats = new Map<string, Intl.DateTimeFormat>();
function format(zone: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = zone + JSON.stringify(options);
  let kept = formats.get(key);
  if (!kept) formats.set(key, (kept = new Intl.DateTimeFormat("en-GB", { ...options, timeZone: zone })));
  return kept;
}

export function when(iso: string, zone: string): string {
  return format(zone, { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" }).format(
    new Date(iso),
  );
}

// moment is the time of a day, with the day if it is not today.
export function moment(iso: string, zone: string): string {
  const date = format(zone, { day: "2-digit", month: "2-digit", year: "numeric" });
  const at = new Date(iso),
    today = date.format(at) === date.format(new Date());
  return format(zone, {
    ...(today ? {} : { day: "numeric", month: "short" }),
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
  }).format(at);
}

// dayAt writes the day of a time.
export const dayAt = (iso: string, zone: string): string =>
  format(zone, { day: "numeric", month: "short", year: "numeric" }).format(new Date(iso));

// day writes a day that has the form 2026-11-24.
export const day = (date: string): string => dayAt(date, "UTC");

export function clock(iso: string, zone: string): string {
  return format(zone, { hour: "2-digit", minute: "2-digit", second: "2-digit" }).format(new Date(iso));
}

// tick writes a time at an axis.
export function tick(seconds: number, zone: string, options: Intl.DateTimeFormatOptions): string {
  return format(zone, options).format(new Date(seconds * 1000));
}

export function bucket(iso: string, interval: string, zone: string): string {
  const options: Intl.DateTimeFormatOptions =
    interval === "hour"
      ? { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" }
      : interval === "month"
        ? { month: "long", year: "numeric" }
        : { weekday: "short", day: "numeric", month: "short", year: "numeric" };
  return format(zone, options).format(new Date(iso));
}

const relative = once(() => new Intl.RelativeTimeFormat("en", { numeric: "auto" }));
export function ago(iso: string, now = Date.now()): string {
  const seconds = Math.round((new Date(iso).getTime() - now) / 1000);
  for (const [unit, size] of [
    ["day", 86_400],
    ["hour", 3600],
    ["minute", 60],
  ] as const) {
    if (Math.abs(seconds) >= size) return relative().format(Math.trunc(seconds / size), unit);
  }
  return seconds > -5 ? "just now" : relative().format(seconds, "second");
}

const regions = once(() => new Intl.DisplayNames(["en"], { type: "region" }));
export function country(code: string): string {
  try {
    return /^[A-Z]{2}$/.test(code) ? (regions().of(code) ?? code) : code;
  } catch {
    return code;
  }
}

// local writes a time in a zone in the form of inputs for a date and a time.
export function local(iso: string, zone: string): string {
  return format(zone, { year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit" })
    .formatToParts(new Date(iso))
    .reduce((text, part) => text.replace(part.type, part.value), "year-month-dayThour:minute");
}

// instant returns the time of such an input.
export function instant(written: string, zone: string): string {
  const wanted = Date.parse(written + "Z");
  let at = wanted;
  // The offset of the zone is the one at the time itself, which the first guess may miss by a change of clocks.
  for (let n = 0; n < 2; n++) at += wanted - Date.parse(local(new Date(at).toISOString(), zone) + "Z");
  return new Date(at).toISOString();
}

export function bytes(n: number): string {
  return n < 1024 ? n + " B" : n < 1024 ** 2 ? (n / 1024).toFixed(1) + " KiB" : (n / 1024 ** 2).toFixed(1) + " MiB";
}
