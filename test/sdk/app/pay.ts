// A small shop whose builds the tests report errors of.
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
