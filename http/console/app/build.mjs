// Builds what the binary embeds into ../dist: types from the API's description, a check of all types against
// it, and one script and one style sheet whose names change with their content.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import esbuild from "esbuild";
import openapiTS, { astToString } from "openapi-typescript";

const here = dirname(fileURLToPath(import.meta.url));
const dist = join(here, "..", "dist");
const description = new URL("../../api/testdata/openapi.golden.json", import.meta.url);

const types = astToString(await openapiTS(description, { alphabetize: true }));
await writeFile(join(here, "api", "schema.d.ts"), "// Generated from the API's description; do not edit.\n" + types);
execFileSync(process.execPath, [join(here, "node_modules", "typescript", "bin", "tsc"), "--project", here], { stdio: "inherit" });

const built = await esbuild.build({
  absWorkingDir: here, entryPoints: ["main.tsx"], bundle: true, minify: true, write: false, outdir: "out", format: "esm",
  target: ["chrome109", "firefox115", "safari16.4"], jsx: "automatic", jsxImportSource: "preact", legalComments: "none", charset: "utf8",
});
await rm(dist, { recursive: true, force: true });
await mkdir(dist, { recursive: true });
const names = {};
for (const file of built.outputFiles) {
  const kind = file.path.endsWith(".css") ? "css" : "js";
  names[kind] = `console-${createHash("sha256").update(file.contents).digest("hex").slice(0, 12)}.${kind}`;
  await writeFile(join(dist, names[kind]), file.contents);
}
const page = (await readFile(join(here, "index.html"), "utf8")).replace("{{script}}", names.js).replace("{{style}}", names.css);
await writeFile(join(dist, "index.html"), page);
