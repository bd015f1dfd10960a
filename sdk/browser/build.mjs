// Builds what a server serves (http/script/assets) and what the npm package holds (dist).
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const shared = {
  bundle: true,
  minify: true,
  target: "es2020",
  legalComments: "none",
  logLevel: "warning",
  mangleProps: /_$/,
};

await build({
  ...shared,
  entryPoints: [at("src/script.ts")],
  format: "iife",
  outfile: at("../../http/script/assets/svc.js"),
});
await build({
  ...shared,
  entryPoints: [at("src/vitals.ts")],
  format: "esm",
  outfile: at("../../http/script/assets/svc-vitals.js"),
});
await build({
  ...shared,
  entryPoints: [at("src/flags.ts")],
  format: "esm",
  outfile: at("../../http/script/assets/svc-flags.js"),
});
await build({
  ...shared,
  entryPoints: [at("src/index.ts"), at("src/vitals.ts"), at("src/flags.ts")],
  format: "esm",
  minify: false,
  splitting: true,
  outdir: at("dist"),
});
