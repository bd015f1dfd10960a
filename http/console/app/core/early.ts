// Requests of the console before it shows anything. They all follow from the address, so they are sent at once, while
// the parts that need the answers are still loading.
import { ahead, answer, foresee, question } from "../api/client";
import { course, dimensions, headline, marks, metricAt, panel } from "../pages/overview/questions";
import { countedAt, type Counted, type Place } from "./place";

export const whoIsSignedIn = () => question("/api/v1/me");

export const applications = (org: string) =>
  question("/api/v1/orgs/{org}/apps", { path: { org }, query: { limit: 200 } });

const newest = (of: Counted) =>
  question("/api/v1/apps/{org}/{app}/events", { path: of.at, query: { env: of.env, limit: 1 } });

// isNew reports whether an environment is still empty. The headline, which is needed anyway, shows visitors in its
// range; the events are read only if it shows none.
export async function isNew(of: Counted): Promise<boolean> {
  try {
    if ((await foresee(headline(of))).visitors > 0) return false;
  } catch {} // the page shows the error
  return (await answer(newest(of))).data.length === 0;
}

// askEarly prefetches the answers for an address.
export function askEarly(place: Place): void {
  if (!place.app) return;
  const of = countedAt(place);
  ahead(whoIsSignedIn());
  ahead(applications(place.org));
  if (place.page !== "overview") return;
  ahead(headline(of));
  ahead(course(of, metricAt(place)));
  for (const [first] of Object.values(dimensions)) ahead(panel(of, first));
  ahead(marks(of));
}
