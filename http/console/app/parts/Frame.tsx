import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { call, type Schema } from "../api/client";
import { later } from "../core/later";
import { useHere } from "../core/me";
import { go, hashOf, newApplication, set, to, toggle } from "../core/place";
import { t } from "../core/texts";
import { setTheme, theme, type Theme } from "../core/theme";
import { typing } from "../core/keys";
import { label } from "./filter";
import { Palette, type Choice } from "./Palette";

const Panel = later(() => import("../assistant/Panel").then((part) => part.Panel));

interface Props {
  pages: string[];
  // prepare prefetches a page that the person is about to open.
  prepare: (page: string) => void;
  apps: Schema["Application"][];
  live?: Schema["LiveView"];
  signOut: () => void;
  // ranged is true if the page's numbers depend on a range.
  ranged: boolean;
  children: ComponentChildren;
}

// Frame surrounds every page.
export function Frame({ pages, prepare, apps, live, signOut, ranged, children }: Props) {
  const here = useHere();
  const { place, app, env, range, filters } = here;
  const [palette, show] = useState(false);
  const [talking, talk] = useState(false);
  const nav = useRef<HTMLElement>(null);
  const assisted = here.has("ai") && here.may("ai.use");
  useLayoutEffect(() => {
    const press = (event: KeyboardEvent) => {
      const asked =
        (event.key === "k" && (event.ctrlKey || event.metaKey)) || (event.key === "?" && !typing(event.target));
      if (!asked) return;
      event.preventDefault();
      show(true);
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
  // On a phone the pages are in a line that is wider than the window.
  useEffect(() => {
    const line = nav.current,
      current = line?.querySelector<HTMLElement>("[aria-current]");
    if (line && current) line.scrollLeft = current.offsetLeft - (line.clientWidth - current.offsetWidth) / 2;
  }, [place.page]);
  const other = (ref: string) => {
    const [org = "", slug = ""] = ref.split("/");
    return hashOf({
      ...place,
      org,
      app: slug,
      page: place.page === "settings" ? "settings" : place.page,
      rest: "",
      query: new URLSearchParams(),
    });
  };
  const choices: Choice[] = [
    ...pages.map((page) => ({ kind: t.palette.page, name: t.pages[page] ?? page, run: () => go(to(place, page)) })),
    ...apps.map((one) => ({
      kind: t.palette.app,
      name: one.organization.name + " / " + one.name,
      run: () => go(other(one.organization.slug + "/" + one.slug)),
    })),
    ...(ranged
      ? Object.entries(t.ranges).map(([key, name]) => ({
          kind: t.palette.range,
          name,
          run: () => go(set(place, "range", key)),
        }))
      : []),
    ...Object.entries(t.frame.themes).map(([key, name]) => ({
      kind: t.frame.theme,
      name,
      run: () => setTheme(key as Theme),
    })),
    ...(assisted ? [{ kind: t.palette.action, name: t.assistant.open, run: () => talk(true) }] : []),
    { kind: t.palette.action, name: t.frame.createApp, run: () => go(newApplication) },
    { kind: t.palette.action, name: t.frame.signOut, run: signOut },
  ];
  return (
    <div class={"frame" + (talking ? " beside" : "")}>
      <a
        class="skip"
        href="#content"
        onClick={(event) => {
          event.preventDefault();
          document.getElementById("content")?.focus();
        }}
      >
        {t.hints.skip}
      </a>
      <header class="bar">
        <a class="logo" href={to(place, "overview")} aria-label={t.pages["overview"]}>
          <svg viewBox="0 0 16 16" aria-hidden="true">
            <rect width="16" height="16" rx="4" />
            <path d="M3 11l3-4 3 2 4-5" />
          </svg>
        </a>
        <select
          class="app"
          aria-label={t.frame.app}
          value={place.org + "/" + place.app}
          onChange={(event) => go(other(event.currentTarget.value))}
        >
          {apps.map((one) => (
            <option key={one.id} value={one.organization.slug + "/" + one.slug}>
              {one.organization.name} / {one.name}
            </option>
          ))}
        </select>
        <select
          aria-label={t.frame.env}
          value={env}
          onChange={(event) => go(set(place, "env", event.currentTarget.value))}
        >
          {app.environments.map((one) => (
            <option key={one.slug} value={one.slug}>
              {one.name}
            </option>
          ))}
        </select>
        <span class="grow" />
        {live && (
          <span class="live" role="status">
            <i aria-hidden="true" />
            {t.frame.live(live.visitors)}
          </span>
        )}
        <button type="button" class="ask" onClick={() => show(true)} aria-keyshortcuts="Control+K">
          <span>{t.hints.search}</span>
          <kbd aria-hidden="true">Ctrl K</kbd>
        </button>
        {assisted && (
          <button type="button" aria-pressed={talking} onClick={() => talk(!talking)}>
            {t.assistant.title}
          </button>
        )}
        <Account signOut={signOut} user={here.me.user} />
      </header>
      <nav ref={nav} class="pages" aria-label={t.hints.navigation}>
        <ul>
          {pages.map((page) => (
            <li key={page}>
              <a
                href={to(place, page)}
                onPointerEnter={() => prepare(page)}
                onFocus={() => prepare(page)}
                aria-current={page === place.page ? "page" : undefined}
              >
                {t.pages[page]}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <main id="content" tabIndex={-1}>
        {ranged && (
          <div class="scope">
            <h1>{t.pages[place.page]}</h1>
            <span class="zone quiet">{t.frame.zone(app.timezone)}</span>
            <label class="hidden" for="range">
              {t.frame.range}
            </label>
            <select id="range" value={range} onChange={(event) => go(set(place, "range", event.currentTarget.value))}>
              {Object.entries(t.ranges).map(([key, name]) => (
                <option key={key} value={key}>
                  {name}
                </option>
              ))}
              {!(range in t.ranges) && (
                <option value={range}>{range.replace("custom:", "").replace("..", " – ")}</option>
              )}
            </select>
          </div>
        )}
        {ranged && filters.length > 0 && (
          <ul class="filters" aria-label={t.frame.filters}>
            {filters.map((filter) => (
              <li key={filter}>
                <a href={toggle(place, filter)} aria-label={t.frame.remove(label(filter))}>
                  {label(filter)} <b aria-hidden="true">×</b>
                </a>
              </li>
            ))}
            <li>
              <a class="quiet" href={set(place, "filter", "")}>
                {t.frame.clear}
              </a>
            </li>
          </ul>
        )}
        {children}
      </main>
      {talking && assisted && <Panel close={() => talk(false)} />}
      {palette && <Palette choices={choices} close={() => show(false)} />}
    </div>
  );
}

// Account is the menu of the signed-in person.
function Account({ user, signOut }: { user: Schema["Identity"]["user"]; signOut: () => void }) {
  const name = user?.name || user?.email || "?";
  return (
    <details
      class="account"
      onBlur={(event) =>
        !event.currentTarget.contains(event.relatedTarget as Node | null) && (event.currentTarget.open = false)
      }
    >
      <summary aria-label={t.hints.menu + ": " + name}>
        <span aria-hidden="true">{name.slice(0, 1).toUpperCase()}</span>
      </summary>
      <div class="menu">
        <p class="strong">{name}</p>
        {user && <p class="quiet">{user.email}</p>}
        <label class="field">
          <span>{t.frame.theme}</span>
          <select value={theme()} onChange={(event) => setTheme(event.currentTarget.value as Theme)}>
            {Object.entries(t.frame.themes).map(([key, text]) => (
              <option key={key} value={key}>
                {text}
              </option>
            ))}
          </select>
        </label>
        <a href={newApplication}>{t.frame.createApp}</a>
        <a href="/docs">{t.frame.docs}</a>
        <button type="button" onClick={signOut}>
          {t.frame.signOut}
        </button>
      </div>
    </details>
  );
}

export async function endSession(): Promise<void> {
  await call("delete", "/console/api/v1/sessions", {});
}
