import { useEffect, useState } from "preact/hooks";
import { call, type Refusal } from "../../api/client";
import { refusalOf } from "../../core/ask";
import * as passkey from "../../core/passkey";
import { t } from "../../core/texts";
import { advice } from "../../parts/Failure";
import { Door } from "./Door";
import { Join } from "./Join";
import { Offer } from "./Offer";

interface Props {
  // link is setup=<secret> or invitation=<secret>, empty without a link.
  link: string;
  done: () => void;
}

// SignIn is the page for people that are not signed in, and the target of links.
export function SignIn({ link, done }: Props) {
  const [kind = "", secret = ""] = link.split("=");
  const links = { setup: kind === "setup" ? secret : "", invitation: kind === "invitation" ? secret : "" };
  const [step, go] = useState<"door" | "setup" | "offer" | "join">(
    links.setup ? "setup" : links.invitation ? "join" : "door",
  );
  const [error, fail] = useState<Refusal>();
  const [busy, wait] = useState(false);
  useEffect(() => {
    // A secret must not stay in the address, which people copy and browsers remember.
    if (link) history.replaceState(null, "", location.pathname);
    if (!links.setup) return;
    call("post", "/console/api/v1/sessions", { body: { link: links.setup } }).then(
      (session) =>
        session.passkeys === 0 && passkey.supported() && !/^[\d.:[\]]+$/.test(location.hostname) ? go("offer") : done(),
      (refused: unknown) => {
        fail(refusalOf(refused));
        go("door");
      },
    );
  }, []);
  const signIn = async () => {
    wait(true);
    fail(undefined);
    try {
      await passkey.signIn();
      if (links.invitation) await accept(links.invitation);
      done();
    } catch (refused) {
      fail(refusalOf(refused));
    }
    wait(false);
  };
  switch (step) {
    case "setup":
      return (
        <Door title={t.signin.title}>
          <p role="status" class="pulse">
            {t.signin.setup}
          </p>
        </Door>
      );
    case "offer":
      return <Offer done={done} />;
    case "join":
      return <Join link={links.invitation} done={done} known={() => go("door")} />;
  }
  const cancelled =
    error !== undefined && error.status === 0 && error.code === "" && error.message !== "The service does not answer.";
  return (
    <Door title={t.signin.title}>
      <p class="quiet">{links.invitation ? t.signin.known : t.signin.lead}</p>
      {passkey.supported() ? (
        <button type="button" class="primary" disabled={busy} onClick={() => void signIn()}>
          {busy ? t.signin.waiting : t.signin.passkey}
        </button>
      ) : (
        <p>{t.signin.unsupported}</p>
      )}
      {error && (
        <p class="failure" role="alert">
          {cancelled ? t.signin.cancelled : error.code === "not_available" ? t.signin.insecure : advice(error)}
        </p>
      )}
      <div class="lost">
        <p class="quiet">
          {t.signin.lost} {t.signin.ask}
        </p>
        <code>svc admin link --email you@example.com</code>
      </div>
    </Door>
  );
}

// accept accepts the invitation of a link for the person that has just signed in.
async function accept(link: string): Promise<void> {
  const { data } = await call("get", "/console/api/v1/me/invitations", {});
  let refused: unknown;
  for (const offer of data) {
    try {
      await call("post", "/console/api/v1/me/invitations/{slug}/accept", {
        path: { slug: offer.organization.slug },
        body: { link },
      });
      return;
    } catch (error) {
      refused = error;
    }
  }
  if (refused) throw refused;
}
