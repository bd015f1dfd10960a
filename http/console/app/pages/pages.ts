// The pages, in the order of the navigation. A page whose module is off, or that the person may not read, is
// not shown.
import type { ComponentType } from "preact";
import type { Here } from "../core/me";
import { Alerts } from "./alerts/Alerts";
import { Approvals } from "./approvals/Approvals";
import { ErrorsPage } from "./errors/ErrorsPage";
import { Events } from "./events/Events";
import { Funnels } from "./funnels/Funnels";
import { Goals } from "./goals/Goals";
import { Incidents } from "./incidents/Incidents";
import { Metrics } from "./metrics/Metrics";
import { Monitors } from "./monitors/Monitors";
import { Overview } from "./overview/Overview";
import { PeoplePage } from "./people/PeoplePage";
import { Retention } from "./retention/Retention";
import { Settings } from "./settings/Settings";

export interface Page {
  name: string;
  // ranged says that its numbers are of a range and of filters.
  ranged: boolean;
  shown: (here: Here) => boolean;
  View: ComponentType<{ live?: string }>;
}

export const pages: Page[] = [
  { name: "overview", ranged: true, shown: (here) => here.has("analytics") && here.may("analytics.read"), View: Overview },
  { name: "events", ranged: false, shown: (here) => here.has("analytics") && here.may("events.read"), View: Events },
  { name: "goals", ranged: true, shown: (here) => here.has("analytics") && here.may("analytics.read"), View: Goals },
  { name: "funnels", ranged: true, shown: (here) => here.has("analytics") && here.may("analytics.read"), View: Funnels },
  { name: "retention", ranged: true, shown: (here) => here.has("analytics") && here.may("analytics.read"), View: Retention },
  { name: "people", ranged: false, shown: (here) => here.has("people") && here.may("people.read"), View: PeoplePage },
  { name: "errors", ranged: false, shown: (here) => here.has("errors") && here.may("errors.read"), View: ErrorsPage },
  { name: "metrics", ranged: false, shown: (here) => here.has("metrics") && here.may("metrics.read"), View: Metrics },
  { name: "monitors", ranged: false, shown: (here) => here.has("metrics") && here.may("metrics.read"), View: Monitors },
  { name: "incidents", ranged: false, shown: (here) => here.has("metrics") && here.may("metrics.read"), View: Incidents },
  { name: "alerts", ranged: false, shown: (here) => here.has("metrics") && here.may("metrics.read"), View: Alerts },
  { name: "approvals", ranged: false, shown: (here) => here.may("ai.use"), View: Approvals },
  { name: "settings", ranged: false, shown: () => true, View: Settings },
];
