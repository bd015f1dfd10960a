// The pages, in the order of the navigation. A page is not shown if its module is off or the person may not read it.
// The code of a page is loaded when the page is first opened.
import type { ComponentType } from "preact";
import { later } from "../core/later";
import type { Here } from "../core/me";

export interface Page {
  name: string;
  // ranged is true if its numbers depend on a range and on filters.
  ranged: boolean;
  shown: (here: Here) => boolean;
  // View is usually made by later; its fetch is called when the person is about to open the page.
  View: ComponentType<{ live?: string }> & { fetch?: () => Promise<unknown> };
}

export const pages: Page[] = [
  {
    name: "overview",
    ranged: true,
    shown: (here) => here.has("analytics") && here.may("analytics.read"),
    View: later(() => import("./overview/Overview").then((part) => part.Overview)),
  },
  {
    name: "events",
    ranged: false,
    shown: (here) => here.has("analytics") && here.may("events.read"),
    View: later(() => import("./events/Events").then((part) => part.Events)),
  },
  {
    name: "goals",
    ranged: true,
    shown: (here) => here.has("analytics") && here.may("analytics.read"),
    View: later(() => import("./goals/Goals").then((part) => part.Goals)),
  },
  {
    name: "funnels",
    ranged: true,
    shown: (here) => here.has("analytics") && here.may("analytics.read"),
    View: later(() => import("./funnels/Funnels").then((part) => part.Funnels)),
  },
  {
    name: "retention",
    ranged: true,
    shown: (here) => here.has("analytics") && here.may("analytics.read"),
    View: later(() => import("./retention/Retention").then((part) => part.Retention)),
  },
  {
    name: "journeys",
    ranged: true,
    shown: (here) => here.has("analytics") && here.may("analytics.read"),
    View: later(() => import("./journeys/Journeys").then((part) => part.Journeys)),
  },
  {
    name: "vitals",
    ranged: true,
    shown: (here) => here.has("metrics") && here.may("metrics.read"),
    View: later(() => import("./vitals/Vitals").then((part) => part.Vitals)),
  },
  {
    name: "people",
    ranged: false,
    shown: (here) => here.has("people") && here.may("people.read"),
    View: later(() => import("./people/PeoplePage").then((part) => part.PeoplePage)),
  },
  {
    name: "segments",
    ranged: false,
    shown: (here) => here.has("people") && here.may("people.read"),
    View: later(() => import("./segments/SegmentsPage").then((part) => part.SegmentsPage)),
  },
  {
    name: "companies",
    ranged: false,
    shown: (here) => here.has("people") && here.may("people.read"),
    View: later(() => import("./companies/Companies").then((part) => part.Companies)),
  },
  {
    name: "errors",
    ranged: false,
    shown: (here) => here.has("errors") && here.may("errors.read"),
    View: later(() => import("./errors/ErrorsPage").then((part) => part.ErrorsPage)),
  },
  {
    name: "releases",
    ranged: false,
    shown: (here) => here.has("errors") && here.may("errors.read"),
    View: later(() => import("./releases/Releases").then((part) => part.ReleasesPage)),
  },
  {
    name: "metrics",
    ranged: false,
    shown: (here) => here.has("metrics") && here.may("metrics.read"),
    View: later(() => import("./metrics/Metrics").then((part) => part.Metrics)),
  },
  {
    name: "monitors",
    ranged: false,
    shown: (here) => here.has("metrics") && here.may("metrics.read"),
    View: later(() => import("./monitors/MonitorsPage").then((part) => part.MonitorsPage)),
  },
  {
    name: "incidents",
    ranged: false,
    shown: (here) => here.has("metrics") && here.may("metrics.read"),
    View: later(() => import("./incidents/IncidentsPage").then((part) => part.IncidentsPage)),
  },
  {
    name: "alerts",
    ranged: false,
    shown: (here) => here.has("metrics") && here.may("metrics.read"),
    View: later(() => import("./alerts/Alerts").then((part) => part.Alerts)),
  },
  {
    name: "flags",
    ranged: false,
    shown: (here) => here.has("flags") && here.may("flags.read"),
    View: later(() => import("./flags/FlagsPage").then((part) => part.FlagsPage)),
  },
  {
    name: "campaigns",
    ranged: false,
    shown: (here) => here.has("communications") && here.may("communications.read"),
    View: later(() => import("./campaigns/CampaignsPage").then((part) => part.CampaignsPage)),
  },
  {
    name: "revenue",
    ranged: true,
    shown: (here) => here.has("revenue") && here.may("revenue.read"),
    View: later(() => import("./revenue/RevenuePage").then((part) => part.RevenuePage)),
  },
  {
    name: "destinations",
    ranged: false,
    shown: (here) => here.has("destinations") && here.may("destinations.read"),
    View: later(() => import("./destinations/DestinationsPage").then((part) => part.DestinationsPage)),
  },
  {
    name: "approvals",
    ranged: false,
    shown: (here) => here.may("ai.use"),
    View: later(() => import("./approvals/Approvals").then((part) => part.Approvals)),
  },
  {
    name: "settings",
    ranged: false,
    shown: () => true,
    View: later(() => import("./settings/Settings").then((part) => part.Settings)),
  },
];
