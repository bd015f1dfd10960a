// The parts of a segment's condition, and its form for the service.
export interface Word {
  field: string;
  key: string;
  op: string;
  value: string;
}

interface FieldKind {
  type: "text" | "number" | "time" | "did";
  // key is true if the field requires a key: the name of a trait, for example.
  key?: boolean;
  choices?: string[];
}

const stages = ["visitor", "lead", "signup", "activated", "paying", "churned"];
export const fields: Record<string, FieldKind> = {
  stage: { type: "text", choices: stages },
  tag: { type: "text" },
  trait: { type: "text", key: true },
  property: { type: "text", key: true },
  did_event: { type: "did", key: true },
  not_did_event: { type: "did", key: true },
  first_source: { type: "text" },
  country: { type: "text" },
  device: { type: "text" },
  last_seen_at: { type: "time" },
  first_seen_at: { type: "time" },
  sessions: { type: "number" },
  events: { type: "number" },
  "revenue.status": { type: "text", choices: ["none", "trialing", "active", "past_due", "canceled"] },
};

const versions = ["semver_eq", "semver_neq", "semver_gt", "semver_gte", "semver_lt", "semver_lte"];

export function opsOf(field: string): string[] {
  if (field === "stage" || field === "revenue.status") return ["eq", "neq", "in", "exists"];
  switch (fields[field]?.type) {
    case "number":
      return ["gte", "lte", "gt", "lt", "eq", "neq"];
    case "time":
      return ["within_days", "not_within_days", "gt", "lt"];
    case "did":
      return ["within_days", "exists"];
  }
  return fields[field]?.key
    ? ["eq", "neq", "contains", "in", "gt", "lt", "gte", "lte", ...versions, "exists"]
    : ["eq", "neq", "contains", "in", "exists"];
}

export function fresh(field = "stage"): Word {
  const kind = fields[field]!;
  return {
    field,
    key: "",
    op: opsOf(field)[0]!,
    value: kind.choices?.[2] ?? (kind.type === "time" || kind.type === "did" ? "30" : ""),
  };
}

const numeric = (word: Word) =>
  fields[word.field]?.type === "number" ||
  word.op.endsWith("days") ||
  (["gt", "lt", "gte", "lte"].includes(word.op) && word.value.trim() !== "" && !Number.isNaN(Number(word.value)));

// wordsOf returns a condition in the service's form, undefined while a part is missing.
export function wordsOf(word: Word): Record<string, unknown> | undefined {
  const kind = fields[word.field];
  if (!kind || (kind.key && word.key.trim() === "") || (word.op !== "exists" && word.value.trim() === ""))
    return undefined;
  const value =
    word.op === "exists"
      ? undefined
      : word.op === "in"
        ? word.value
            .split(",")
            .map((one) => one.trim())
            .filter(Boolean)
        : kind.type === "time" && !word.op.endsWith("days")
          ? word.value + "T00:00:00Z"
          : numeric(word)
            ? Number(word.value)
            : word.value;
  const said = { op: word.op, ...(value === undefined ? {} : { value }) };
  if (kind.type === "did") return { field: word.field, ...said, event: { name: word.key.trim(), count: 1 } };
  return { field: kind.key ? word.field + "." + word.key.trim() : word.field, ...said };
}

export function definitionOf(match: "all" | "any", words: Word[]): Record<string, unknown> {
  return { [match]: words.map(wordsOf).filter(Boolean) };
}

// readable converts a definition back into words, undefined if it has groups within groups.
export function readable(definition: {
  all?: unknown[];
  any?: unknown[];
}): { match: "all" | "any"; words: Word[] } | undefined {
  if (definition.all?.length && definition.any?.length) return undefined;
  const match = definition.any?.length ? "any" : "all",
    words: Word[] = [];
  for (const node of (definition[match] ?? []) as Record<string, unknown>[]) {
    const full = node["field"] as string | undefined,
      event = node["event"] as { name: string; count: number } | undefined;
    if (!full || (event && event.count > 1)) return undefined;
    const [prefix = "", ...rest] = full.split("."),
      keyed = prefix === "trait" || prefix === "property";
    const field = keyed ? prefix : full,
      value = node["value"];
    if (!fields[field]) return undefined;
    words.push({
      field,
      key: event?.name ?? (keyed ? rest.join(".") : ""),
      op: String(node["op"]),
      value: Array.isArray(value)
        ? value.join(", ")
        : value === undefined || value === null
          ? ""
          : fields[field].type === "time" && typeof value === "string"
            ? value.slice(0, 10)
            : String(value),
    });
  }
  return words.length ? { match, words } : undefined;
}
