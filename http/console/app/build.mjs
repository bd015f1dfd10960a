// Builds the files that the binary embeds into ../dist: types from the API's description, a check of all types against
// it, a script, a part for each page, and one style sheet. Their names change with their content.
import { execFileSync } from "node:child_process";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import esbuild from "esbuild";
import openapiTS, { astToString } from "openapi-typescript";

const here = dirname(fileURLToPath(import.meta.url));
const dist = join(here, "..", "dist");
const description = new URL("../../api/testdata/openapi.golden.json", import.meta.url);

const types = astToString(await openapiTS(description, { alphabetize: true }));
await writeFile(join(here, "api", "schema.d.ts"), "// Generated from the API's description; do not edit.\n" + types);
execFileSync(process.execPath, [join(here, "node_modules", "typescript", "bin", "tsc"), "--project", here], {
  stdio: "inherit",
});

const built = await esbuild.build({
  absWorkingDir: here,
  entryPoints: { console: "main.tsx" },
  bundle: true,
  splitting: true,
  minify: true,
  write: false,
  metafile: true,
  outdir: "out",
  format: "esm",
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  target: ["chrome109", "firefox115", "safari16.4"],
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  charset: "utf8",
});
await rm(dist, { recursive: true, force: true });
await mkdir(dist, { recursive: true });
for (const file of built.outputFiles) await writeFile(join(dist, basename(file.path)), file.contents);
const [script, entry] = Object.entries(built.metafile.outputs).find(([, output]) => output.entryPoint === "main.tsx");
// The browser preloads the imports of the script and the overview, which most people open, in parallel with the script.
const [overview, opened] = Object.entries(built.metafile.outputs).find(
  ([, output]) => output.entryPoint === "pages/overview/Overview.tsx",
);
const importsOf = (output) => output.imports.filter((one) => one.kind === "import-statement").map((one) => one.path);
const shared = [...new Set([...importsOf(entry), ...importsOf(opened), overview])]
  .filter((path) => path !== script)
  .map((path) => `<link rel="modulepreload" href="/console/assets/${basename(path)}">\n`)
  .join("");
const page = (await readFile(join(here, "index.html"), "utf8"))
  .replace("{{script}}", basename(script))
  .replace("{{style}}", basename(entry.cssBundle))
  .replace("{{shared}}", shared);
await writeFile(join(dist, "index.html"), page);
