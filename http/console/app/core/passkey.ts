// Ceremonies of passkeys. Options and answers pass as JSON between the service and the browser.
import { call, Refusal, type Answer, type Schema } from "../api/client";

interface Parsers {
  parseCreationOptionsFromJSON(options: unknown): PublicKeyCredentialCreationOptions;
  parseRequestOptionsFromJSON(options: unknown): PublicKeyCredentialRequestOptions;
}

export const supported = (): boolean =>
  "PublicKeyCredential" in window && "parseCreationOptionsFromJSON" in PublicKeyCredential;
const parsers = () => PublicKeyCredential as unknown as Parsers;
const answered = (credential: Credential | null) =>
  (credential as unknown as { toJSON(): Record<string, unknown> }).toJSON();

async function create(options: unknown) {
  return answered(await navigator.credentials.create({ publicKey: parsers().parseCreationOptionsFromJSON(options) }));
}

async function get(options: unknown) {
  return answered(await navigator.credentials.get({ publicKey: parsers().parseRequestOptionsFromJSON(options) }));
}

export async function signIn(): Promise<void> {
  const asked = await call("post", "/console/api/v1/sessions/challenge", {});
  await call("post", "/console/api/v1/sessions", {
    body: { ceremony: asked.ceremony, credential: await get(asked.options) },
  });
}

export type Invited = Answer<"/console/api/v1/sessions/challenge", "post">;

export function invited(link: string): Promise<Invited> {
  return call("post", "/console/api/v1/sessions/challenge", { body: { link } });
}

export async function join(link: string, asked: Invited, name: string): Promise<void> {
  await call("post", "/console/api/v1/sessions", {
    body: { link, name, ceremony: asked.ceremony, credential: await create(asked.options) },
  });
}

export async function register(name: string): Promise<Schema["PasskeyRow"]> {
  const asked = await call("post", "/console/api/v1/me/passkeys/challenge", {});
  return call("post", "/console/api/v1/me/passkeys", {
    body: { name, ceremony: asked.ceremony, credential: await create(asked.options) },
  });
}

// confirm approves an action of the assistant with a reason and a passkey.
export async function confirm(
  path: { org: string; app: string; id: string },
  reason: string,
): Promise<Schema["Approved"]> {
  const asked = await call("post", "/console/api/v1/apps/{org}/{app}/ai/actions/{id}/challenge", { path });
  return call("post", "/console/api/v1/apps/{org}/{app}/ai/actions/{id}/approve", {
    path,
    body: { reason, ceremony: asked.ceremony, credential: await get(asked.options) },
  });
}

// confirmed makes a call that requires a fresh passkey: if the session is too old, the person signs in again first.
export async function confirmed(act: () => Promise<unknown>): Promise<void> {
  try {
    await act();
  } catch (error) {
    if (!(error instanceof Refusal && error.code === "passkey_required")) throw error;
    await signIn();
    await act();
  }
}

// deviceName guesses the owner's name for this device.
export function deviceName(agent = navigator.userAgent): string {
  const found = [
    ["iPhone", "iPhone"],
    ["iPad", "iPad"],
    ["Android", "Android phone"],
    ["Mac OS", "Mac"],
    ["Windows", "Windows computer"],
    ["Linux", "Linux computer"],
  ] as const;
  return found.find(([mark]) => agent.includes(mark))?.[1] ?? "This device";
}
