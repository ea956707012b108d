import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const FOLDER = fileURLToPath(new URL('../../node_modules/.cache/packed', import.meta.url));
const INSTALLED = new URL('../../node_modules/viem/package.json', import.meta.url);
const LIBRARIES = { viem: 'viem', accounts: 'viem/accounts' };

/**
 * What `moduleNameMapper` needs to find the packed libraries. Every spec loads its modules afresh, and
 * viem is some six hundred of them: packed into a few files it costs a tenth of the time.
 */
export const packedLibraries = Object.fromEntries(
  Object.entries(LIBRARIES).map(([file, name]) => [`^${name}$`, `${FOLDER}/${file}.js`]),
);

/** Packs them where that is not done yet; Jest calls it before the unit layer. */
export default async function packLibraries() {
  const { version } = JSON.parse(readFileSync(INSTALLED, 'utf8'));
  const stamp = `${FOLDER}/package.json`;
  if (existsSync(stamp) && JSON.parse(readFileSync(stamp, 'utf8')).version === version) return;
  const draft = `${FOLDER}.${process.pid}`;
  mkdirSync(draft, { recursive: true });
  await build({
    entryPoints: Object.entries(LIBRARIES).map(([out, name]) => ({ in: name, out })),
    absWorkingDir: fileURLToPath(new URL('../..', import.meta.url)),
    outdir: draft,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    logLevel: 'error',
  });
  writeFileSync(`${draft}/package.json`, JSON.stringify({ type: 'module', version }));
  rmSync(FOLDER, { recursive: true, force: true });
  renameSync(draft, FOLDER);
}
