// A small shop. The tests build it and report errors from the builds.
function chargeCard(amount: number): number {
  if (amount < 0) {
    throw new TypeError(`negative amount ${amount}`);
  }
  return amount;
}

export function checkout(items: number[]): number {
  let sum = 0;
  for (const item of items) {
    sum += chargeCard(item);
  }
  return sum;
}
