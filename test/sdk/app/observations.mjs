// The durations that the process of meter.mjs observes, the same on every run: a logarithmic normal distribution around
// 50 ms.
export const bounds = [1, 2, 5, 10, 20, 30, 40, 50, 75, 100, 150, 200, 300, 500, 1000];

let seed = 20261120;
function random() {
  seed = (seed + 0x6d2b79f5) | 0;
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
}

export const observations = Array.from({ length: 2000 }, () => {
  const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  return 50 * Math.exp(0.6 * normal);
});
