import * as Sentry from "@sentry/browser";
import { checkout } from "./pay";

const given = new URLSearchParams(location.search);
Sentry.init({ dsn: given.get("dsn") ?? "", release: "page@1.0.0" });
Sentry.setUser({ id: "visitor-7" });
document.body.addEventListener("click", () => checkout([1, -5]));
