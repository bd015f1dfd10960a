// What the console asks before it shows anything. All of it follows from the address, so all is asked at once, while the parts that
// need the answers are still being fetched.
import { ahead, answer, foresee, question } from "../api/client";
import { course, dimensions, headline, marks, metricAt, panel } from "../pages/overview/questions";
import { countedAt, type Counted, type Place } from "./place";

export const whoIsSignedIn = () => question("/api/v1/me");

export const applications = (org: string) => question("/api/v1/orgs/{org}/apps", { path: { org }, query: { limit: 200 } });

const newest = (of: Counted) => question("/api/v1/apps/{org}/{app}/events", { path: of.at, query: { env: of.env, limit: 1 } });

// isNew finds out whether nothing has arrived in an environment yet. The headline, which is needed anyway, says so where somebody came
// in its range; the events are asked only where it does not.
export async function isNew(of: Counted): Promise<boolean> {
  try {
    if ((await foresee(headline(of))).visitors > 0) return false;
  } catch {} // the page says what the matter is
  return (await answer(newest(of))).data.length === 0;
}

// askEarly asks what an address needs.
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
