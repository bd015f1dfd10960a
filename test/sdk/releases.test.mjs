// The published sentry-cli announces releases to a real server.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { call, start } from "../browser/server.mjs";

const run = promisify(execFile);
const binary = join(
  fileURLToPath(new URL(".", import.meta.url)),
  "node_modules",
  "@sentry",
  "cli-linux-x64",
  "bin",
  "sentry-cli",
);
const releases = "/api/0/organizations/acme/releases/";
let server, folder;

before(async () => {
  server = await start();
  folder = await mkdtemp(join(tmpdir(), "svc-releases-"));
  await git("init", "-q");
  await git("remote", "add", "origin", "https://example.com/acme/shop.git");
});

after(async () => {
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
});

async function git(...args) {
  const identity = ["-c", "user.name=Ada", "-c", "user.email=ada@acme.example"];
  return (await run("git", [...identity, ...args], { cwd: folder })).stdout.trim();
}

// commit makes a commit and returns its hash.
async function commit(message) {
  await writeFile(join(folder, "file"), message);
  await git("add", "file");
  await git("commit", "-qm", message);
  return git("rev-parse", "HEAD");
}

// cli runs sentry-cli in the repository and returns its output.
async function cli(...args) {
  const env = {
    ...process.env,
    SENTRY_URL: server.url,
    SENTRY_AUTH_TOKEN: server.token,
    SENTRY_ORG: "acme",
    SENTRY_PROJECT: "web",
  };
  const { stdout, stderr } = await run(binary, args, { env, cwd: folder });
  return stdout + stderr;
}

const read = (path) => call(server, server.token, "GET", releases + path);

test("sentry-cli announces, finalizes and lists releases", async () => {
  assert.match(
    await cli("releases", "new", "shop@1.0.0", "--url", "https://acme.example/1"),
    /Created release shop@1\.0\.0/,
  );
  const created = await read("shop@1.0.0/");
  assert.equal(created.dateReleased, null);
  assert.equal(created.url, "https://acme.example/1");
  assert.deepEqual(
    created.projects.map((project) => project.slug),
    ["web"],
  );

  await cli("releases", "new", "shop@1.0.0");
  assert.equal((await read("shop@1.0.0/")).dateCreated, created.dateCreated);
  assert.match(await cli("releases", "list"), /\(unreleased\)\s*\|\s*shop@1\.0\.0\s/);

  assert.match(await cli("releases", "finalize", "shop@1.0.0"), /Finalized release shop@1\.0\.0/);
  await cli("releases", "new", "shop@1.1.0+7", "--finalize");
  const listed = await cli("releases", "list");
  assert.doesNotMatch(listed, /unreleased/);
  assert.match(listed, /shop@1\.1\.0\+7[^]*shop@1\.0\.0/);
  assert.equal((await cli("releases", "list", "--raw")).trim(), "shop@1.1.0+7\nshop@1.0.0");
  assert.match(await cli("releases", "info", "shop@1.1.0+7", "--show-projects"), /shop@1\.1\.0\+7\s*\|.*\|\s*web\s/);

  await assert.rejects(cli("releases", "finalize", "shop@9"), /release/i);
  await assert.rejects(cli("releases", "new", "-p", "moon", "shop@1.0.0"), /moon|application|not found/i);
});

test("sentry-cli sets the commits since the release before", async () => {
  const first = [await commit("one"), await commit("two")].reverse();
  await cli("releases", "set-commits", "lib@1", "--local");
  assert.deepEqual(
    (await read("lib@1/commits/")).map((one) => one.id),
    first,
  );
  const [newest] = await read("lib@1/commits/");
  assert.equal(newest.message, "two");
  assert.deepEqual(newest.author, { name: "Ada", email: "ada@acme.example" });

  const third = await commit("three");
  await cli("releases", "set-commits", "lib@2", "--local");
  assert.deepEqual(
    (await read("lib@2/commits/")).map((one) => one.id),
    [third],
  );
  assert.match(await cli("releases", "info", "lib@2", "--show-commits"), new RegExp(third.slice(0, 7)));

  // Without connected repositories sentry-cli uses the commits of the local repository, and prints a message about it.
  const fourth = await commit("four");
  assert.match(
    await cli("releases", "set-commits", "lib@3", "--auto"),
    /Could not determine any commits to be associated with a repo-based integration/,
  );
  assert.deepEqual(
    (await read("lib@3/commits/")).map((one) => one.id),
    [fourth],
  );
  const fifth = await commit("five");
  await cli("releases", "set-commits", "lib@4", "--commit", `acme/shop@${fifth}`);
  assert.deepEqual(
    (await read("lib@4/commits/")).map((one) => one.id),
    [fifth],
  );
});

test("sentry-cli notes deploys, by its present and its earlier command", async () => {
  await cli("releases", "new", "app@1");
  assert.match(
    await cli(
      "deploys",
      "new",
      "--release",
      "app@1",
      "-e",
      "production",
      "-n",
      "first",
      "--started",
      "1700000000",
      "--finished",
      "1700000100",
    ),
    /Created new deploy/,
  );
  assert.match(await cli("releases", "deploys", "app@1", "new", "-e", "staging"), /Created new deploy/);
  const deploys = await read("app@1/deploys/");
  assert.deepEqual(
    deploys.map((one) => one.environment),
    ["staging", "production"],
  );
  assert.equal(deploys[1].name, "first");
  assert.equal(deploys[1].dateStarted, "2023-11-14T22:13:20.000Z");
  assert.equal(deploys[1].dateFinished, "2023-11-14T22:15:00.000Z");
  assert.match(await cli("deploys", "list", "--release", "app@1"), /production/);
  await assert.rejects(cli("deploys", "new", "--release", "app@9", "-e", "production"), /release/i);
});
