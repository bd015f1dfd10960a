// Amounts of money as people read them.

// Format writes the amounts of a currency; round omits fractions of a unit.
interface Format {
  exact: Intl.NumberFormat;
  round: Intl.NumberFormat;
  decimals: number;
}

// Creating a format takes longer than using it, so formats are cached.
const formats = new Map<string, Format>();

function formatOf(currency: string): Format {
  let kept = formats.get(currency);
  if (!kept) {
    const options = /^[A-Z]{3}$/i.test(currency)
      ? { style: "currency" as const, currency }
      : { minimumFractionDigits: 2, maximumFractionDigits: 2 };
    const exact = new Intl.NumberFormat("en", options);
    kept = {
      exact,
      round: new Intl.NumberFormat("en", { ...options, minimumFractionDigits: 0, maximumFractionDigits: 0 }),
      decimals: exact.resolvedOptions().maximumFractionDigits ?? 2,
    };
    formats.set(currency, kept);
  }
  return kept;
}

// decimals is the number of decimals of a currency's amounts.
export const decimals = (currency: string): number => formatOf(currency).decimals;

// units converts an amount in the smallest units of a currency into whole units.
export const units = (cents: number, currency: string): number => cents / 10 ** decimals(currency);

// money writes an amount of the smallest units of a currency.
export const money = (cents: number, currency: string): string =>
  formatOf(currency).exact.format(units(cents, currency));

// headline writes an amount in large letters: in whole units from ten thousand on.
export function headline(cents: number, currency: string): string {
  const amount = units(cents, currency);
  return Math.abs(amount) < 10_000 ? money(cents, currency) : formatOf(currency).round.format(amount);
}
