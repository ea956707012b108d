import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build, type PluginBuild } from 'esbuild';
import { SIGNER } from '../../sandbox/accounts.js';
import { startAnvil } from '../../sandbox/anvil.js';
import { freePort } from '../../sandbox/processes.js';
import { startRedis } from '../../sandbox/redis.js';
import { productionMain, startService } from '../../sandbox/service.js';

const DIST = fileURLToPath(new URL('../../dist', import.meta.url));
/** The packed service, as an operator starts it. */
const MAIN = productionMain();
const PACKER = fileURLToPath(new URL('../../scripts/pack.mjs', import.meta.url));
const OWN_FILE = fileURLToPath(import.meta.url);
const FOLDER = fileURLToPath(new URL('../../node_modules/.cache/packed-service/', import.meta.url));
const PACKED = join(FOLDER, 'service.mjs');

/** Runs the packed code with what V8 has compiled of it, or leaves that behind when it ends. */
const launcher = (code: string): string => `import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Script } from 'node:vm';
const filename = ${JSON.stringify(code)};
const compiles = process.env.COMPILES === '1';
const cachedData = compiles ? undefined : readFileSync(filename + '.compiled');
const script = new Script(readFileSync(filename, 'latin1'), { filename, cachedData });
if (compiles) process.on('exit', () => writeFileSync(filename + '.compiled', script.createCachedData()));
await script.runInThisContext()(createRequire(${JSON.stringify(MAIN)}), (name) => import(name));
`;

/**
 * The packed service in one file, compiled. The code is that of `npm run start:prod`, except that packages which the
 * packer left outside are loaded by `require`. Node 22 and newer could keep what
 * it has compiled by itself; Node 20 cannot, and tests start hundreds of processes.
 *
 * @returns the file.
 */
export async function packService(): Promise<string> {
  if (!isNewer(MAIN, DIST, PACKER)) execFileSync(process.execPath, [PACKER]);
  if (isNewer(PACKED, dirname(MAIN), OWN_FILE)) return PACKED;
  mkdirSync(FOLDER, { recursive: true });
  const { outputFiles } = await build({
    entryPoints: [MAIN],
    bundle: true,
    write: false,
    platform: 'node',
    // Some modules await something before they are there, so it is no CommonJS.
    format: 'esm',
    target: 'node20',
    minifyWhitespace: true,
    lineLimit: 160,
    logLevel: 'error',
    plugins: [
      { name: 'outside', setup: leaveOutside },
      { name: 'own-place', setup: keepPlaces },
    ],
  });
  const code = outputFiles[0]?.text ?? '';
  const own = join(FOLDER, `${process.pid}`);
  writeFileSync(`${own}.js`, `(async (require, importOutside) => {\n${code}\n})`);
  writeFileSync(`${own}.mjs`, launcher(`${own}.js`));
  await compile(`${own}.mjs`);
  renameSync(`${own}.mjs`, PACKED);
  const kept = [PACKED, `${own}.js`, `${own}.js.compiled`];
  for (const file of readdirSync(FOLDER).map((name) => join(FOLDER, name))) {
    if (!kept.includes(file)) rmSync(file);
  }
  return PACKED;
}

/** Starts it once: what a start needs is compiled then. */
async function compile(main: string): Promise<void> {
  const chainId = 31_337;
  const redis = await startRedis(await freePort());
  const anvil = await startAnvil({ port: await freePort(), chainId });
  try {
    const settings = {
      COMPILES: '1',
      REDIS_URL: redis.url,
      NETWORKS: `eip155:${chainId}`,
      [`RPC_URLS_${chainId}`]: anvil.url,
      SIGNER_KEYS: SIGNER.key,
    };
    const service = await startService(await freePort(), settings, [], main);
    await service.stop();
  } finally {
    await Promise.all([redis.stop('SIGKILL'), anvil.stop('SIGKILL')]);
  }
}

/** What the packer has left outside is required as it is. */
function leaveOutside(plugin: PluginBuild): void {
  plugin.onResolve({ filter: /^[@a-z]/ }, ({ path, namespace }) =>
    namespace === 'outside' ? { path, external: true } : { path, namespace: 'outside' },
  );
  plugin.onLoad({ filter: /./, namespace: 'outside' }, ({ path }) => ({
    contents: `module.exports = require(${JSON.stringify(path)});`,
  }));
}

/**
 * Files find their neighbours by their own place, so each keeps the one it had. A script with compiled code cannot
 * import by itself: its launcher does it.
 */
function keepPlaces(plugin: PluginBuild): void {
  plugin.onLoad({ filter: /\.js$/, namespace: 'file' }, ({ path }) => {
    const place = { url: pathToFileURL(path).href, filename: path, dirname: dirname(path) };
    const text = readFileSync(path, 'utf8')
      .replaceAll('import.meta', 'ownPlace')
      .replaceAll(/\bimport\((?="[@a-z])/g, 'importOutside(');
    const own = `{ ...${JSON.stringify(place)}, resolve: (name) => require.resolve(name) }`;
    return { contents: `const ownPlace = ${own};\n${text}`, loader: 'js' };
  });
}

/**
 * Whether a file is there, and newer than its maker and those of a folder and what is below it. The packed service is no part
 * of the folder.
 */
function isNewer(file: string, folder: string, maker: string): boolean {
  return (
    existsSync(file) &&
    statSync(maker).mtimeMs < statSync(file).mtimeMs &&
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && (folder !== DIST || entry.parentPath !== dirname(MAIN)))
      .every(
        ({ parentPath, name }) => statSync(join(parentPath, name)).mtimeMs < statSync(file).mtimeMs,
      )
  );
}
