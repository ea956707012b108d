import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { transform } from '@swc/core';
import { build } from 'esbuild';
import packLibraries from './packed-libraries.mjs';
import { PACKED, ROOT } from './packed-spec.mjs';
import { typescript } from './typescript.mjs';

/**
 * Packs each spec that is to run, and the sources it uses, into one file; Jest calls it before the unit
 * layer. Every spec loads its modules afresh: one file costs a fraction of a hundred.
 *
 * @param {{ testPathPatterns: { patterns: readonly string[] } }} global
 * @param {{ roots: readonly string[], testRegex: readonly string[] }} project
 */
export default async function packSpecs({ testPathPatterns }, { roots, testRegex }) {
  await packLibraries();
  const { patterns } = testPathPatterns;
  const fits = (path, forms) => forms.some((form) => new RegExp(form, 'i').test(path));
  await build({
    entryPoints: roots
      .flatMap((root) => filesIn(root))
      .filter((path) => fits(path, testRegex) && (patterns.length === 0 || fits(path, patterns))),
    outdir: PACKED,
    outbase: ROOT,
    absWorkingDir: ROOT,
    bundle: true,
    packages: 'external',
    format: 'esm',
    platform: 'node',
    target: 'es2022',
    keepNames: true,
    sourcemap: 'external',
    logLevel: 'error',
    plugins: [{ name: 'typescript', setup: readTypeScript }],
  });
}

/** @param {import('esbuild').PluginBuild} plugin */
function readTypeScript(plugin) {
  plugin.onLoad({ filter: /\.ts$/ }, async ({ path }) => {
    const { code } = await transform(readFileSync(path, 'utf8'), {
      ...typescript,
      filename: path,
      sourceFileName: path,
    });
    // Files find their neighbours by their own place, so each keeps the one it had.
    const own = JSON.stringify(pathToFileURL(path).href);
    return { contents: code.replaceAll('import.meta.url', own), loader: 'js' };
  });
}

/** @param {string} folder */
function filesIn(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
}
