import type { Schema } from "../../api/client";
import { ago, bytes, count } from "../../core/format";
import { t } from "../../core/texts";
import { Facts } from "../../parts/Facts";

// speed writes bytes a second; null means no bound.
const speed = (n: number | null) => (n === null ? t.fairness.unbounded : t.fairness.speed(bytes(n)));

// Fairness shows the present bounds of the application and its busiest address, and the throttled senders.
export function Fairness({ of }: { of: Schema["TelemetryAnswer"]["fairness"] }) {
  const { addresses } = of;
  return (
    <section class="card list" aria-labelledby="fairness">
      <div class="pad">
        <h2 id="fairness">{t.fairness.title}</h2>
        <p class="quiet">{t.fairness.lead}</p>
        <Facts
          of={{
            [t.fairness.sends]: speed(of.bytesPerSecond),
            [t.fairness.may]: speed(of.boundBytesPerSecond),
            [t.fairness.addresses]: count(addresses.sending),
            [t.fairness.addressSends]: addresses.sending > 0 ? speed(addresses.bytesPerSecond) : null,
            [t.fairness.addressMay]: addresses.sending > 0 ? speed(addresses.boundBytesPerSecond) : null,
            [t.fairness.errors]: of.errorsPerMinute === 0 ? t.fairness.unbounded : count(of.errorsPerMinute),
          }}
        />
      </div>
      {of.met.length === 0 ? (
        <p class="quiet pad">{t.fairness.nobody}</p>
      ) : (
        <table class="rows">
          <caption class="hidden">{t.fairness.met}</caption>
          <thead>
            <tr>
              <th scope="col">{t.fairness.sender}</th>
              <th scope="col" class="number">
                {t.fairness.delayed}
              </th>
              <th scope="col" class="number">
                {t.fairness.byAddress}
              </th>
              <th scope="col" class="number wide">
                {t.fairness.refused}
              </th>
              <th scope="col" class="number wide">
                {t.fairness.rateLimited}
              </th>
              <th scope="col" class="wide">
                {t.fairness.last}
              </th>
            </tr>
          </thead>
          <tbody>
            {of.met.map((one) => (
              <tr key={one.keyId + one.network}>
                <td class="text" title={one.keyId}>
                  {one.keyId}
                  {one.network && <small class="text">{one.network}</small>}
                </td>
                <td class="number">{count(one.delayed)}</td>
                <td class="number">{count(one.byAddress)}</td>
                <td class="number wide">{count(one.refused)}</td>
                <td class="number wide">{count(one.rateLimited)}</td>
                <td class="wide time">{ago(one.lastAt)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
