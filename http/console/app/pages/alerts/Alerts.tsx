import { useHere } from "../../core/me";
import { to } from "../../core/place";
import { t } from "../../core/texts";
import { Channels } from "./Channels";
import { Rules } from "./Rules";
import { Silences } from "./Silences";

// Alerts contains the rules that open incidents, the notified channels, and the silences.
export function Alerts() {
  const { place, app } = useHere();
  const tab = place.rest in t.alerts.tabs ? place.rest : "rules";
  return (
    <>
      <div class="scope">
        <h1>{t.pages["alerts"]}</h1>
        <span class="zone quiet">{t.frame.zone(app.timezone)}</span>
      </div>
      <nav class="tabs large" aria-label={t.pages["alerts"]}>
        {Object.entries(t.alerts.tabs).map(([name, text]) => (
          <a
            key={name}
            href={to(place, "alerts", name === "rules" ? "" : name)}
            aria-current={name === tab ? "page" : undefined}
          >
            {text}
          </a>
        ))}
      </nav>
      {tab === "channels" ? <Channels /> : tab === "silences" ? <Silences /> : <Rules />}
    </>
  );
}
