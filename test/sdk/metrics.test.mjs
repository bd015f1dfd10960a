// The published metric exporters of OpenTelemetry for JavaScript report to a real server.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { call, start, until } from "../browser/server.mjs";
import { bounds, observations } from "./app/observations.mjs";

const run = promisify(execFile);
const meter = fileURLToPath(new URL("app/meter.mjs", import.meta.url));
// The error of a percentile of rollups, relative to the sender's own counts.
const sketchAccuracy = 0.01;
// The most buckets that an exponential histogram of the SDK may have.
const maxBuckets = 160;
let server;

before(async () => (server = await start()));
after(() => server?.stop());

// report runs a process that measures, and returns the warnings of its exporter.
async function report(environment) {
  const { stdout } = await run(process.execPath, [meter], {
    env: { ...process.env, URL: server.url, KEY: server.secret, ...environment },
  });
  return JSON.parse(stdout);
}

function series(name, agg, more = "&range=1h") {
  return call(server, server.token, "GET", `/api/v1/apps/acme/web/metrics/series?name=${name}&agg=${agg}${more}`);
}

// summaryOf waits until a metric has a number of observations.
async function summaryOf(name, count) {
  return until(`${name} has ${count} observations`, async () => {
    const { summary } = await series(name, "sum");
    return summary.count === count ? summary : undefined;
  });
}

// bucketOf returns the borders of the bucket in which the SDK counted a value.
function bucketOf(kind, value) {
  if (kind === "explicit") {
    const at = bounds.findIndex((bound) => value <= bound);
    return [bounds[at - 1], bounds[at]];
  }
  const place = (x, scale) => Math.ceil(Math.log2(x) * 2 ** scale) - 1;
  const low = Math.min(...observations),
    high = Math.max(...observations);
  let scale = 20;
  while (place(high, scale) - place(low, scale) >= maxBuckets) scale--;
  const at = place(value, scale);
  return [2 ** (at / 2 ** scale), 2 ** ((at + 1) / 2 ** scale)];
}

// percentile returns the percentile of the whole range. It is the value of the group of all series, because no series
// has the label.
async function percentile(name, agg, span, source) {
  const answer = await series(name, agg, span + "&groupBy=nothing");
  assert.equal(answer.source, source);
  return answer.groups[0].value;
}

const sorted = observations.toSorted((a, b) => a - b);

for (const encoding of ["json", "protobuf"]) {
  for (const temporality of ["cumulative", "delta"]) {
    const prefix = `${encoding}.${temporality}`;
    const environment = { EXPORTER: encoding, TEMPORALITY: temporality, PREFIX: prefix };

    test(`${prefix}: a counter raised by 3 twice reads 6, and a restart adds to it`, async () => {
      assert.deepEqual(await report({ ...environment, OBSERVE: "1" }), []);
      await summaryOf(prefix + ".explicit", observations.length);
      assert.equal((await summaryOf(prefix + ".raised", 2)).sum, 6);
      // Up-down counters are cumulative with both preferences: they count the open ones.
      const open = await summaryOf(prefix + ".open", 2);
      assert.deepEqual([open.min, open.max], [3, 5]);
      const level = await summaryOf(prefix + ".level", 2);
      assert.deepEqual([level.min, level.max], [2.5, 7.5]);

      assert.deepEqual(await report(environment), []);
      const raised = await summaryOf(prefix + ".raised", 4);
      assert.equal(raised.sum, 12);
      assert.equal(raised.min, 3);
      const answer = await series(prefix + ".raised", "sum", "&range=1h&label.plan=pro&label.service.name=shop");
      assert.equal(answer.summary.sum, 12);
    });

    test(`${prefix}: percentiles are within the bucket of the exact one, and 1 % of it over rollups`, async () => {
      for (const kind of ["explicit", "exponential"]) {
        const { count, sum } = await summaryOf(`${prefix}.${kind}`, observations.length);
        const exact = observations.reduce((total, value) => total + value, 0);
        assert.equal(count, observations.length);
        assert.ok(Math.abs(sum - exact) < 1e-6 * exact, `the sum is ${sum} instead of ${exact}`);
        for (const [agg, q] of [
          ["p50", 0.5],
          ["p95", 0.95],
          ["p99", 0.99],
        ]) {
          const [low, high] = bucketOf(kind, sorted[Math.ceil(q * sorted.length) - 1]);
          for (const [span, source, slack] of [
            ["&range=1h", "points", 0],
            ["&range=7d&interval=1d", "rollups", sketchAccuracy],
          ]) {
            const value = await percentile(`${prefix}.${kind}`, agg, span, source);
            assert.ok(
              value >= low * (1 - slack) - 1e-9 && value <= high * (1 + slack) + 1e-9,
              `${agg} of ${kind} by ${source} is ${value}, not within ${low} and ${high}`,
            );
          }
        }
      }
    });
  }

  test(`${encoding}: the exporter learns of rejected points, and the others are kept`, async () => {
    const prefix = encoding + ".overflow";
    const warnings = await report({ EXPORTER: encoding, TEMPORALITY: "cumulative", PREFIX: prefix, OVERFLOW: "1" });
    assert.equal(warnings.length, 1);
    assert.match(warnings[0], /rejectedDataPoints":\s*"?1\b/);
    assert.match(warnings[0], /too_many_labels/);
    assert.equal((await summaryOf(prefix + ".raised", 2)).sum, 6);
  });

  test(`${encoding}: a wrong key is an error of the exporter`, async () => {
    const warnings = await report({
      EXPORTER: encoding,
      TEMPORALITY: "delta",
      PREFIX: encoding + ".stranger",
      KEY: "svc_sec_prod_nobody",
    });
    assert.ok(warnings.length > 0);
    assert.match(warnings.join("\n"), /401|Unauthorized/);
  });
}
