import type { ComponentType } from "preact";
import { useHere } from "../../core/me";
import { to } from "../../core/place";
import { t } from "../../core/texts";
import { Application } from "./Application";
import { Assistant } from "./Assistant";
import { Billing } from "./Billing";
import { Connector } from "./Connector";
import { Delete } from "./Delete";
import { Erasures } from "./Erasures";
import { Exclusions } from "./Exclusions";
import { Exports } from "./Exports";
import { Keys } from "./Keys";
import { Ledger } from "./Ledger";
import { Passkeys } from "./Passkeys";
import { Reports } from "./Reports";
import { Sessions } from "./Sessions";
import { Share } from "./Share";
import { Team } from "./Team";
import { Telemetry } from "./Telemetry";
import { Tokens } from "./Tokens";

const tabs: Record<string, ComponentType> = {
  application: Application,
  keys: Keys,
  share: Share,
  reports: Reports,
  team: Team,
  tokens: Tokens,
  passkeys: Passkeys,
  sessions: Sessions,
  assistant: Assistant,
  connector: Connector,
  telemetry: Telemetry,
  billing: Billing,
  exclusions: Exclusions,
  exports: Exports,
  erasures: Erasures,
  ledger: Ledger,
};

// Settings has a part for each group of settings.
export function Settings() {
  const { place } = useHere();
  const chosen = place.rest in tabs ? place.rest : "application";
  const Tab = tabs[chosen]!;
  return (
    <>
      <div class="scope">
        <h1>{t.pages["settings"]}</h1>
      </div>
      <nav class="tabs large" aria-label={t.pages["settings"]}>
        {Object.keys(tabs).map((name) => (
          <a key={name} href={to(place, "settings", name)} aria-current={name === chosen ? "page" : undefined}>
            {t.settings.tabs[name]}
          </a>
        ))}
      </nav>
      <Tab />
      {chosen === "application" && <Delete />}
    </>
  );
}
