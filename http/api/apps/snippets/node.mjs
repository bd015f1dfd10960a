import { track } from "./svc.mjs";

await track("order_placed", "user-42", { total: 19.9 });
