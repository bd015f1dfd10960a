import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { answer, whenSignedOut, type Schema } from "./api/client";
import { useAsk } from "./core/ask";
import { applications, isNew, whoIsSignedIn } from "./core/early";
import { later } from "./core/later";
import { useLive } from "./core/live";
import { HereContext, type Here } from "./core/me";
import { countedAt, creating, go, hashOf, newApplication, usePlace, type Place } from "./core/place";
import { t } from "./core/texts";
import { Empty } from "./parts/Empty";
import { Failure } from "./parts/Failure";
import { endSession, Frame } from "./parts/Frame";
import { pages } from "./pages/pages";
import { Door } from "./pages/signin/Door";

const SignIn = later(() => import("./pages/signin/SignIn").then((part) => part.SignIn));
const Create = later(() => import("./pages/create/Create").then((part) => part.Create));
const Start = later(() => import("./pages/start/Start").then((part) => part.Start));

interface World {
  me: Schema["Identity"];
  apps: Schema["Application"][];
}

async function load(): Promise<World | null> {
  const me = await answer(whoIsSignedIn());
  const lists = await Promise.all(me.organizations.map((org) => answer(applications(org.slug))));
  return { me, apps: lists.flatMap((list) => list.data) };
}

// linkOf returns the part of the address that is a sign-in or invitation link.
function linkOf(): string {
  return /^#(setup|invitation)=[A-Za-z0-9_]+$/.test(location.hash) ? location.hash.slice(1) : "";
}

// App reads the signed-in person, and shows the page of the address or the sign-in.
export function App() {
  const [link, open] = useState(linkOf);
  const [out, leave] = useState(link !== "");
  const [turn, next] = useState(0);
  const world = useAsk("world" + turn, () => (out ? Promise.resolve(null) : load()));
  useEffect(() => whenSignedOut(() => leave(true)), []);
  useEffect(() => {
    const follow = () => {
      if (!linkOf()) return;
      open(linkOf());
      leave(true);
    };
    const changed = () => next((n) => n + 1);
    addEventListener("hashchange", follow);
    addEventListener("application", changed);
    return () => {
      removeEventListener("hashchange", follow);
      removeEventListener("application", changed);
    };
  }, []);
  // made is the address of a newly created application; it is shown when the list of applications contains it.
  const made = useRef("");
  useEffect(() => {
    if (!made.current || !world.data) return;
    location.replace(made.current);
    made.current = "";
  }, [world.data]);
  const created = (hash: string) => {
    made.current = hash;
    next((n) => n + 1);
  };
  const enter = useCallback(() => {
    open("");
    leave(false);
    next((n) => n + 1);
  }, []);
  if (out) return <SignIn key={link} link={link} done={enter} />;
  if (world.data) return <Shown world={world.data} created={created} left={() => leave(true)} />;
  if (world.error)
    return (
      <Door title={t.product}>
        <Failure error={world.error} again={world.again} />
      </Door>
    );
  return (
    <p class="hidden" role="status">
      {t.hints.loading}
    </p>
  );
}

const last = "svc-console-app";

// Shown finds the application of the address. An address without one leads to the last shown application.
function Shown({ world, created, left }: { world: World; created: (hash: string) => void; left: () => void }) {
  const place = usePlace(),
    makes = creating();
  const app = world.apps.find((one) => one.organization.slug === place.org && one.slug === place.app);
  useEffect(() => {
    if (app) return localStorage.setItem(last, app.organization.slug + "/" + app.slug);
    const before =
      world.apps.find((one) => one.organization.slug + "/" + one.slug === localStorage.getItem(last)) ?? world.apps[0];
    if (before && !makes)
      location.replace(
        hashOf({
          org: before.organization.slug,
          app: before.slug,
          page: "overview",
          rest: "",
          query: new URLSearchParams(),
        }),
      );
  }, [app, makes]);
  const signOut = () =>
    void endSession()
      .catch(() => {})
      .then(left);
  if (makes) return <Create me={world.me} created={created} back={world.apps.length > 0 ? "#" : undefined} />;
  if (world.apps.length === 0)
    return (
      <Door title={t.frame.noApp}>
        <Empty title="" hint={t.frame.noAppHint} />
        <button type="button" class="primary" onClick={() => go(newApplication)}>
          {t.frame.createApp}
        </button>
        <button type="button" onClick={signOut}>
          {t.frame.signOut}
        </button>
      </Door>
    );
  const org = world.me.organizations.find((one) => one.slug === place.org);
  if (!app || !org) return null;
  return <Application key={app.id} world={world} app={app} org={org} place={place} signOut={signOut} />;
}

interface Props {
  world: World;
  app: Schema["Application"];
  org: Schema["Reached"];
  place: Place;
  signOut: () => void;
}

function Application({ world, app, org, place, signOut }: Props) {
  const counted = countedAt(place),
    { env } = counted;
  const here: Here = {
    ...counted,
    me: world.me,
    app,
    org,
    place,
    may: (permission) => org.permissions.includes(permission),
    administers: org.role === "owner" || org.role === "admin",
    has: (module) => app.modules.includes(module),
  };
  const shown = pages.filter((page) => page.shown(here));
  const page = shown.find((one) => one.name === place.page) ?? shown[0];
  const live = useLive(here.at, env, here.has("analytics") && here.may("analytics.read"));
  const overview = page?.name === "overview";
  // known stores whether an environment is still empty; only the overview needs it.
  const [known, know] = useState<{ env: string; empty: boolean }>();
  const empty = known?.env === env ? known.empty : undefined;
  useEffect(() => {
    if (!overview || empty !== undefined) return;
    if (!here.may("events.read") || !here.has("analytics")) return know({ env, empty: false });
    let left = false;
    isNew(counted)
      .catch(() => false)
      .then((empty) => left || know({ env, empty }));
    return () => {
      left = true;
    };
  }, [env, overview, empty]);
  useEffect(() => {
    document.title = (page ? t.pages[page.name] + " – " : "") + app.name;
  }, [page?.name, app.name]);
  useEffect(() => {
    if (page && page.name !== place.page) go(hashOf({ ...place, page: page.name, rest: "" }));
  }, [page?.name, place.page]);
  if (!page)
    return (
      <Door title={app.name}>
        <p>{t.failures.forbidden}</p>
        <button type="button" onClick={signOut}>
          {t.frame.signOut}
        </button>
      </Door>
    );
  const begin = overview && empty === true,
    unknown = overview && empty === undefined;
  return (
    <HereContext.Provider value={here}>
      <Frame
        pages={shown.map((one) => one.name)}
        prepare={(name) =>
          void shown
            .find((one) => one.name === name)
            ?.View.fetch?.()
            .catch(() => {})
        }
        apps={world.apps}
        live={live}
        signOut={signOut}
        ranged={page.ranged && !begin}
      >
        {unknown ? (
          <p class="hidden" role="status" aria-busy="true">
            {t.hints.loading}
          </p>
        ) : begin ? (
          <Start arrived={() => know({ env, empty: false })} />
        ) : (
          <page.View live={live?.asOf} />
        )}
      </Frame>
    </HereContext.Provider>
  );
}
