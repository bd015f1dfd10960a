// A conversation as the panel shows it: questions, texts, calls and proposals, in order.
import type { Schema } from "../api/client";
import type { Frame } from "./stream";

export type Proposed = Pick<Schema["Action"], "id" | "tool" | "effect" | "preview" | "expiresAt"> & { status: string };
export type Entry =
  | { kind: "question" | "text" | "note" | "failure"; text: string }
  | { kind: "tool"; id: string; name: string; input: unknown; ok?: boolean; summary?: string }
  | { kind: "action"; action: Proposed; summary?: string }
  | { kind: "reveal"; values: Record<string, string> };

export interface Talk {
  id: string;
  title: string;
  entries: Entry[];
}

export const silent: Talk = { id: "", title: "", entries: [] };

// add returns the talk with one more entry; it joins fragments of a text.
export function add(talk: Talk, entry: Entry): Talk {
  const last = talk.entries[talk.entries.length - 1];
  if (entry.kind === "text" && last?.kind === "text")
    return { ...talk, entries: [...talk.entries.slice(0, -1), { kind: "text", text: last.text + entry.text }] };
  return { ...talk, entries: [...talk.entries, entry] };
}

// change returns the talk with an action or a call changed.
export function change(talk: Talk, id: string, to: { status?: string; summary?: string; ok?: boolean }): Talk {
  return {
    ...talk,
    entries: talk.entries.map((entry) => {
      if (entry.kind === "tool" && entry.id === id) return { ...entry, ok: to.ok, summary: to.summary };
      if (entry.kind === "action" && entry.action.id === id)
        return { ...entry, action: { ...entry.action, status: to.status ?? entry.action.status }, summary: to.summary };
      return entry;
    }),
  };
}

// hear folds a frame of the stream into the talk. A stream that begins again repeats the whole answer.
export function hear(talk: Talk, { event, data }: Frame): Talk {
  const word = (name: string) => String(data[name] ?? "");
  switch (event) {
    case "start": {
      const asked = talk.entries.findLastIndex((entry) => entry.kind === "question");
      return { id: word("conversationId"), title: word("title"), entries: talk.entries.slice(0, asked + 1) };
    }
    case "text":
      return add(talk, { kind: "text", text: word("text") });
    case "tool_call":
      return add(talk, { kind: "tool", id: word("id"), name: word("name"), input: data["input"] });
    case "tool_result":
      return change(talk, word("id"), { ok: data["ok"] === true, summary: word("summary") });
    case "approval_required":
      return (data["actions"] as Omit<Proposed, "status">[]).reduce(
        (all, action) => add(all, { kind: "action", action: { ...action, status: "proposed" } }),
        talk,
      );
    case "action":
      return change(talk, word("id"), { status: word("status"), summary: word("summary") });
    case "reveal":
      return add(talk, { kind: "reveal", values: (data["values"] ?? {}) as Record<string, string> });
    case "error":
      return add(talk, { kind: "failure", text: word("message") });
  }
  return talk;
}

// recall returns the talk of a stored conversation.
export function recall(kept: Schema["WholeConversation"]): Talk {
  let talk: Talk = { id: kept.id, title: kept.title, entries: [] };
  for (const message of kept.messages) {
    if (message.text && message.role !== "tool")
      talk = add(talk, {
        kind: message.role === "user" ? "question" : message.role === "note" ? "note" : "text",
        text: message.text,
      });
    for (const one of message.calls ?? [])
      talk = add(talk, { kind: "tool", id: one.id, name: one.name, input: one.input });
    for (const one of message.results ?? []) talk = change(talk, one.id, { ok: one.ok });
  }
  for (const action of kept.actions) talk = add(talk, { kind: "action", action, summary: action.result?.summary });
  return talk;
}
