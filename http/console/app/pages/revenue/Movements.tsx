import { call } from "../../api/client";
import { when } from "../../core/format";
import { useCursor } from "../../core/keys";
import { useHere } from "../../core/me";
import { money } from "../../core/money";
import { usePages } from "../../core/pages";
import { go, set, to } from "../../core/place";
import { t } from "../../core/texts";
import { Empty } from "../../parts/Empty";
import { Failure } from "../../parts/Failure";
import { More } from "../../parts/More";
import { daysAtLeast } from "./range";

const kinds = ["new", "expansion", "contraction", "churn"] as const;
type Kind = (typeof kinds)[number];

// Movements lists every change of the MRR with its subscription, the newest first.
export function Movements({ currency }: { currency: string }) {
  const { at, env, range, place, app, has, may } = useHere();
  const asked = place.query.get("kind") as Kind | null;
  const kind = asked && kinds.includes(asked) ? asked : undefined;
  const query = { env, range: daysAtLeast(range), kind, limit: 50 } as const;
  const { rows, first, cursor, more } = usePages(JSON.stringify([at, query]), (after, signal) =>
    call("get", "/api/v1/apps/{org}/{app}/revenue/movements", { path: at, query: { ...query, cursor: after }, signal }),
  );
  const person = (id: string) => to(place, "people", "", { q: id });
  const row = useCursor(rows.length, (i) => rows[i]?.customerId && go(person(rows[i]!.customerId!)));
  const links = has("people") && may("people.read");
  return (
    <section
      class={"card list" + (first.loading ? " busy" : "")}
      aria-label={t.revenue.movements}
      aria-busy={first.loading}
    >
      <div class="head">
        <nav class="tabs" aria-label={t.revenue.movements}>
          {["", ...kinds].map((one) => (
            <a key={one} href={set(place, "kind", one)} aria-current={one === (kind ?? "") ? "true" : undefined}>
              {one ? t.revenue.kinds[one] : t.revenue.all}
            </a>
          ))}
        </nav>
      </div>
      {first.error ? (
        <Failure error={first.error} again={first.again} />
      ) : rows.length === 0 && !first.loading ? (
        <Empty title={t.revenue.still} />
      ) : (
        <table class="rows">
          <thead>
            <tr>
              <th scope="col">{t.revenue.customer}</th>
              <th scope="col">{t.revenue.movement}</th>
              <th scope="col" class="number money">
                {t.revenue.change}
              </th>
              <th scope="col" class="wide">
                {t.revenue.plan}
              </th>
              <th scope="col" class="wide">
                {t.overview.time}
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map((one, i) => (
              <tr key={one.ts + one.subscriptionId + one.kind} data-row={i} class={i === row ? "at" : ""}>
                <td class="title">
                  {one.customerId === null ? (
                    one.subscriptionId
                  ) : links ? (
                    <a href={person(one.customerId)}>{one.customerId}</a>
                  ) : (
                    one.customerId
                  )}
                </td>
                <td>{t.revenue.kinds[one.kind]}</td>
                <td class="number money">
                  {one.cents === null ? money(one.original.cents, one.original.currency) : money(one.cents, currency)}
                  {one.cents === null ? (
                    <small class="text">{t.revenue.notConverted}</small>
                  ) : (
                    one.original.currency !== currency && (
                      <small class="text">{money(one.original.cents, one.original.currency)}</small>
                    )
                  )}
                </td>
                <td class="wide text">{one.plan ?? t.hints.none}</td>
                <td class="wide time">{when(one.ts, app.timezone)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {cursor && <More more={more} />}
    </section>
  );
}
