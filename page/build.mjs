// Builds the page into the Python package: one script, one style sheet, one document.
// Both are minified and named as they are, so that a fresh build equals the committed one byte for byte.
import { build } from "esbuild";
import { copyFileSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, "..", "src", "stepscope", "web", "static");
/** What a browser has to load and parse before it shows anything. */
const MOST_BYTES = 290_000;
const LANGUAGES = ["zh"];

mkdirSync(out, { recursive: true });
const result = await build({
  entryPoints: { app: join(here, "src", "main.tsx") },
  absWorkingDir: here,
  outdir: out,
  bundle: true,
  minify: true,
  format: "iife",
  target: ["es2022"],
  charset: "utf8",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  metafile: true,
});
copyFileSync(join(here, "src", "index.html"), join(out, "index.html"));
// Catalogues of other languages, each a script that only documents in its language load.
for (const language of LANGUAGES) {
  const texts = readFileSync(join(here, "src", "language", `${language}.json`), "utf8");
  writeFileSync(join(out, `${language}.js`), `globalThis.stepscopeTexts=${JSON.stringify(JSON.parse(texts))};\n`);
}

const packages = new Set();
for (const input of Object.keys(result.metafile.inputs)) {
  const found = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
  if (found) packages.add(found[1]);
}
const licences = [...packages].sort().map((name) => {
  const folder = join(here, "node_modules", name);
  const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  return `${name} ${version} (${license})\n\n${readFileSync(join(folder, "LICENSE"), "utf8").trim()}\n`;
});
writeFileSync(join(out, "LICENSES.txt"), licences.join("\n" + "-".repeat(80) + "\n\n"));

const size = statSync(join(out, "app.js")).size;
if (size > MOST_BYTES) throw new Error(`app.js has ${size} bytes, more than ${MOST_BYTES}`);
console.log(`app.js ${size} bytes, app.css ${statSync(join(out, "app.css")).size} bytes`);
