// A process that measures with OpenTelemetry's SDK, exports over HTTP and then ends. It prints the exporter's warnings
// as one line of JSON.
import { diag, DiagLogLevel } from "@opentelemetry/api";
import {
  AggregationTemporalityPreference,
  OTLPMetricExporter as JSONExporter,
} from "@opentelemetry/exporter-metrics-otlp-http";
import { OTLPMetricExporter as ProtobufExporter } from "@opentelemetry/exporter-metrics-otlp-proto";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { AggregationType, MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import { bounds, observations } from "./observations.mjs";

const {
  URL: url,
  KEY: key,
  EXPORTER: encoding,
  TEMPORALITY: temporality,
  PREFIX: prefix,
  OBSERVE: observe,
  OVERFLOW: overflow,
} = process.env;
const warnings = [];
const warn = (...words) =>
  warnings.push(words.map((word) => (typeof word === "string" ? word : JSON.stringify(word))).join(" "));
diag.setLogger({ error: warn, warn, info() {}, debug() {}, verbose() {} }, DiagLogLevel.WARN);

const Exporter = { json: JSONExporter, protobuf: ProtobufExporter }[encoding];
const exporter = new Exporter({
  url: url + "/v1/metrics",
  headers: { authorization: "Bearer " + key },
  compression: "gzip",
  temporalityPreference: {
    cumulative: AggregationTemporalityPreference.CUMULATIVE,
    delta: AggregationTemporalityPreference.DELTA,
  }[temporality],
});
const provider = new MeterProvider({
  resource: resourceFromAttributes({ "service.name": "shop", "process.pid": process.pid }),
  readers: [new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 })],
  views: [
    {
      instrumentName: prefix + ".exponential",
      aggregation: { type: AggregationType.EXPONENTIAL_HISTOGRAM, options: { maxSize: 160, recordMinMax: true } },
    },
  ],
});
const meter = provider.getMeter("shop", "1.0.0");
const raised = meter.createCounter(prefix + ".raised", { unit: "1" });
const open = meter.createUpDownCounter(prefix + ".open");
const level = meter.createGauge(prefix + ".level");
const explicit = meter.createHistogram(prefix + ".explicit", {
  unit: "ms",
  advice: { explicitBucketBoundaries: bounds },
});
const exponential = meter.createHistogram(prefix + ".exponential", { unit: "ms" });

for (const half of [0, 1]) {
  raised.add(3, { plan: "pro" });
  open.add(half === 0 ? 5 : -2);
  level.record(half === 0 ? 7.5 : 2.5);
  if (observe) {
    for (const value of observations.slice((half * observations.length) / 2, ((half + 1) * observations.length) / 2)) {
      explicit.record(value);
      exponential.record(value);
    }
  }
  if (overflow && half === 1)
    raised.add(1, Object.fromEntries(Array.from({ length: 20 }, (_, n) => ["label" + n, "x"])));
  await (half === 0 ? provider.forceFlush() : provider.shutdown()); // both export
}
console.log(JSON.stringify(warnings));
