// Calls of the API. Paths, parameters, bodies and answers have the types of its description, so a changed route breaks
// the build.
import type { components, paths } from "./schema";

export type Schema = components["schemas"];
type Method = "get" | "post" | "put" | "patch" | "delete";
type Json<R> = R extends { content: { "application/json": infer Body } } ? Body : undefined;
type Good<R> = R extends { 200: infer A } ? Json<A> : R extends { 201: infer A } ? Json<A> : undefined;
type Operation<P extends keyof paths, M extends Method> = Exclude<paths[P][M], undefined>;
type QueryOf<O> = O extends { parameters: { query?: infer Q } } ? Q : never;
type PathOf<O> = O extends { parameters: { path: infer V } } ? V : Record<string, never>;
type BodyOf<O> = O extends { requestBody?: { content: { "application/json": infer B } } } ? B : never;

export type Answer<P extends keyof paths, M extends Method> =
  Operation<P, M> extends { responses: infer R } ? Good<R> : never;
export interface Request<O> {
  path?: PathOf<O>;
  query?: QueryOf<O>;
  body?: BodyOf<O>;
  // revision is the revision that the caller has read; the change is refused if another one is present.
  revision?: number;
  signal?: AbortSignal;
}

// Refusal is the error of a failed call, with the service's text.
export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly problem: Partial<Schema["Problem"]>,
  ) {
    super(problem.detail ?? "The service answered " + status + ".");
  }
  get code(): string {
    return this.problem.code ?? "";
  }
  get reason(): string {
    return this.problem.reason ?? "";
  }
}

let leave = () => {};
// whenSignedOut sets the function to call when the session has ended.
export function whenSignedOut(then: () => void): void {
  leave = then;
}

type Readable = { [P in keyof paths]: paths[P] extends { get: unknown } ? P : never }[keyof paths];

// Question is a read of the API. A prefetch and the component that needs the answer use the same value.
export interface Question<P extends Readable> {
  path: P;
  request: Request<Operation<P, "get">>;
}

export function question<P extends Readable>(path: P, request: Question<P>["request"] = {}): Question<P> {
  return { path, request };
}

export function answer<P extends Readable>(of: Question<P>, signal?: AbortSignal): Promise<Answer<P, "get">> {
  return call("get", of.path as P & keyof paths, { ...of.request, signal } as never) as Promise<Answer<P, "get">>;
}

// begun contains the prefetched answers with their texts, by address.
const begun = new Map<string, Promise<[Response, string]>>();

// aheadTime is the time, in milliseconds, for which a prefetched answer is cached.
const aheadTime = 10_000;

// ahead prefetches an answer before the part of the console that needs it is loaded. The first call with the same
// question gets the answer.
export function ahead<P extends Readable>(of: Question<P>): void {
  const address = addressOf(of.path, of.request);
  const asked = ask(address, "GET", { accept: "application/json" });
  asked.catch(() => {}); // the caller that needs the answer gets the error
  begun.set(address, asked);
  setTimeout(() => begun.delete(address), aheadTime);
}

// foresee returns a prefetched answer and leaves it in the cache. It prefetches the answer if necessary.
export async function foresee<P extends Readable>(of: Question<P>): Promise<Answer<P, "get">> {
  const address = addressOf(of.path, of.request);
  if (!begun.has(address)) ahead(of);
  return read(...(await begun.get(address)!)) as Answer<P, "get">;
}

// read returns the value of an answer; it throws a refusal.
function read(response: Response, text: string): unknown {
  let value: unknown = undefined;
  try {
    value = text === "" ? undefined : JSON.parse(text);
  } catch {
    throw new Refusal(response.status, {});
  }
  if (response.ok) return value;
  throw new Refusal(response.status, (value ?? {}) as Partial<Schema["Problem"]>);
}

async function ask(
  address: string,
  method: string,
  headers: Record<string, string>,
  body?: string,
  signal?: AbortSignal,
): Promise<[Response, string]> {
  const response = await fetch(address, { method, headers, body, signal });
  return [response, await response.text()];
}

// addressOf returns the address of a question.
export function addressOf(path: string, request: { path?: unknown; query?: unknown }): string {
  const values = (request.path ?? {}) as Record<string, string>;
  const url = new URL(
    path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? "")),
    location.origin,
  );
  for (const [name, value] of Object.entries((request.query ?? {}) as Record<string, unknown>)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== "") url.searchParams.append(name, String(one));
    }
  }
  return url.href;
}

export async function call<P extends keyof paths, M extends Method & keyof paths[P]>(
  method: M,
  path: P,
  request: Request<Operation<P, M>> = {},
): Promise<Answer<P, M>> {
  const address = addressOf(String(path), request);
  const headers: Record<string, string> = { accept: "application/json" };
  if (request.body !== undefined) headers["content-type"] = "application/json";
  if (request.revision !== undefined) headers["if-match"] = `"${request.revision}"`;
  const early = method === "get" ? begun.get(address) : undefined;
  if (method === "get") begun.delete(address);
  else begun.clear(); // a change invalidates the cache
  let response: Response, text: string;
  try {
    [response, text] = await (early ??
      ask(
        address,
        method.toUpperCase(),
        headers,
        request.body === undefined ? undefined : JSON.stringify(request.body),
        request.signal,
      ));
  } catch (error) {
    if (request.signal?.aborted) throw error;
    throw new Refusal(0, { detail: "The service does not answer.", code: undefined });
  }
  try {
    return read(response, text) as Answer<P, M>;
  } catch (refusal) {
    if (response.status === 401 && !String(path).startsWith("/console/api/v1/sessions")) leave();
    throw refusal;
  }
}
