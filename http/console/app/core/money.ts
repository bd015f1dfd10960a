// Amounts of money as people read them.
const formats = new Map<string, Intl.NumberFormat>();

// decimals is how many decimals the amounts of a currency have.
export function decimals(currency: string): number {
  return formatOf(currency).resolvedOptions().maximumFractionDigits ?? 2;
}

function formatOf(currency: string): Intl.NumberFormat {
  let kept = formats.get(currency);
  if (!kept) {
    try {
      kept = new Intl.NumberFormat("en", { style: "currency", currency });
    } catch {
      kept = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
    }
    formats.set(currency, kept);
  }
  return kept;
}

// units returns an amount of the smallest units of a currency in whole ones.
export const units = (cents: number, currency: string): number => cents / 10 ** decimals(currency);

// money writes an amount of the smallest units of a currency.
export const money = (cents: number, currency: string): string => formatOf(currency).format(units(cents, currency));
