import { call, type Schema } from "../../api/client";
import { useAsk } from "../../core/ask";
import { ago, bucket, count } from "../../core/format";
import { useHere } from "../../core/me";
import { headline, money, units } from "../../core/money";
import { to } from "../../core/place";
import { t } from "../../core/texts";
import { Chart } from "../../parts/Chart";
import { Delta } from "../../parts/Delta";
import { Empty } from "../../parts/Empty";
import { Failure } from "../../parts/Failure";
import { Stack } from "../../parts/Stack";
import { Movements } from "./Movements";
import { daysAtLeast } from "./range";

const day = 86_400_000;

// intervalOf names the step of a series by its first two points.
function intervalOf(points: { t: string }[]): string {
  const [first, second] = points;
  const step = first && second ? Date.parse(second.t) - Date.parse(first.t) : day;
  return step > 8 * day ? "month" : step > 2 * day ? "week" : "day";
}

// RevenuePage shows the monthly revenue of subscriptions, its changes, and the customers behind them.
export function RevenuePage() {
  const { at, env, range, place } = useHere();
  const query = { env, range: daysAtLeast(range) };
  const overview = useAsk(JSON.stringify([at, query, "revenue"]), (signal) =>
    call("get", "/api/v1/apps/{org}/{app}/revenue/overview", { path: at, query, signal }),
  );
  const data = overview.data;
  return (
    <>
      {query.range !== range && <p class="quiet">{t.revenue.days}</p>}
      {data && <Coverage of={data} />}
      <section
        class={"card overview" + (overview.loading ? " busy" : "")}
        aria-label={t.pages["revenue"]}
        aria-busy={overview.loading}
      >
        {overview.error ? (
          <Failure error={overview.error} again={overview.again} />
        ) : !data ? (
          <div class="holdplot" role="status">
            <span class="hidden">{t.hints.loading}</span>
          </div>
        ) : !data.hasConnectors ? (
          <Empty
            title={data.coverage.complete ? t.revenue.none : t.revenue.unknown}
            hint={data.coverage.complete ? t.revenue.noneHint : t.revenue.unknownHint}
          >
            <p>
              <a href={to(place, "settings", "billing")}>{t.revenue.connect}</a>
            </p>
          </Empty>
        ) : (
          <Figures data={data} />
        )}
      </section>
      {data?.hasConnectors && (
        <>
          <Parts data={data} />
          <Movements currency={data.currency} />
        </>
      )}
    </>
  );
}

// Coverage shows which billing data is missing.
function Coverage({ of }: { of: Schema["RevenueOverview"] }) {
  const { place } = useHere();
  const failing = of.coverage.connectors.filter((one) => one.state === "failing"),
    missing = of.otherCurrencies.filter((one) => !one.converted);
  if (of.coverage.complete && missing.length === 0) return null;
  return (
    <section class="card pad" role="status" aria-label={t.revenue.coverage}>
      {of.coverage.state === "syncing" && <p>{t.revenue.syncing}</p>}
      {failing.map((one) => (
        <p key={one.id}>
          <span class="level error">{t.billing.states[one.state]}</span>{" "}
          {t.revenue.failing(
            one.id,
            (one.lastError && t.billing.problems[one.lastError]) || t.billing.problems["stale"]!,
            one.lastSyncAt ? ago(one.lastSyncAt) : "",
          )}
        </p>
      ))}
      {missing.length > 0 && <p>{t.revenue.missing(missing.map((one) => one.currency).join(", "), of.currency)}</p>}
      {!of.coverage.complete && (
        <p>
          <a href={to(place, "settings", "billing")}>{t.settings.tabs["billing"]}</a>
        </p>
      )}
    </section>
  );
}

function Figures({ data }: { data: Schema["RevenueOverview"] }) {
  const { app } = useHere();
  const { totals, deltas, currency } = data;
  // Each figure has its exact value as well, if the large letters round it.
  const worth = (cents: number): [string, string?] => [headline(cents, currency), money(cents, currency)];
  const shown: [string, [string, string?], number | null, boolean][] = [
    [t.revenue.mrr, worth(totals.mrrCents), deltas.mrr, true],
    [t.revenue.net, worth(totals.netNewMrrCents), deltas.netNewMrr, true],
    [t.revenue.active, [count(totals.activeSubscriptions)], deltas.activeSubscriptions, true],
    [t.revenue.arpa, worth(totals.arpaCents), deltas.arpa, true],
    [t.revenue.payments, worth(totals.paymentsCents), deltas.payments, true],
    [t.revenue.churn, worth(totals.churnCents), deltas.churn, false],
  ];
  const interval = intervalOf(data.series.mrr);
  const kinds = t.revenue.kinds;
  return (
    <>
      <ul class="metrics">
        {shown.map(([label, [value, exact], change, upIsGood]) => (
          <li key={label}>
            <div class="metric">
              <span class="label">{label}</span>
              <span class="value" title={exact}>
                {value}
              </span>
              <span class="change">
                <Delta value={change} upIsGood={upIsGood} />
              </span>
            </div>
          </li>
        ))}
      </ul>
      <div class="course">
        <Chart
          label={t.overview.chart(t.revenue.mrr)}
          unit={currency}
          interval={interval}
          zone={app.timezone}
          points={data.series.mrr.map((one) => ({ t: one.t, value: units(one.value, currency) }))}
        />
        <Stack
          label={t.revenue.movements}
          names={kinds}
          days={data.series.movements.map((one) => ({
            name: bucket(one.t, interval, app.timezone),
            parts: {
              new: units(one.newCents, currency),
              expansion: units(one.expansionCents, currency),
              contraction: units(one.contractionCents, currency),
              churn: units(one.churnCents, currency),
            },
          }))}
        />
      </div>
    </>
  );
}

// Parts shows plans, and the amounts in other currencies.
function Parts({ data }: { data: Schema["RevenueOverview"] }) {
  return (
    <div class="panels">
      <section class="card list" aria-label={t.revenue.plans}>
        <table class="rows">
          <thead>
            <tr>
              <th scope="col">{t.revenue.plans}</th>
              <th scope="col" class="number money">
                {t.revenue.mrr}
              </th>
              <th scope="col" class="number">
                {t.revenue.active}
              </th>
            </tr>
          </thead>
          <tbody>
            {data.topPlans.map((one) => (
              <tr key={one.label}>
                <td class="text">{one.label || t.overview.unknown}</td>
                <td class="number money">{money(one.value, data.currency)}</td>
                <td class="number">{count(one.secondary)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {data.otherCurrencies.length > 0 && (
        <section class="card list" aria-label={t.revenue.others}>
          <table class="rows">
            <thead>
              <tr>
                <th scope="col">{t.revenue.others}</th>
                <th scope="col" class="number money">
                  {t.revenue.mrr}
                </th>
                <th scope="col" class="number money">
                  {t.revenue.payments}
                </th>
              </tr>
            </thead>
            <tbody>
              {data.otherCurrencies.map((one) => (
                <tr key={one.currency}>
                  <td class="text">
                    {one.currency}
                    {!one.converted && <small class="text">{t.revenue.notConverted}</small>}
                  </td>
                  <td class="number money">{money(one.mrrCents, one.currency)}</td>
                  <td class="number money">{money(one.paymentsCents, one.currency)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
    </div>
  );
}
