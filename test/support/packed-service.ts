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
import { isBuiltin } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build, type PluginBuild } from 'esbuild';
import { SIGNER } from '../../sandbox/accounts.js';
import { startAnvil } from '../../sandbox/anvil.js';
import { freePort } from '../../sandbox/processes.js';
import { startRedis } from '../../sandbox/redis.js';
import { startService } from '../../sandbox/service.js';

const DIST = fileURLToPath(new URL('../../dist', import.meta.url));
/** The built service, as an operator starts it. */
const MAIN = join(DIST, 'main.js');
const FOLDER = fileURLToPath(new URL('../../node_modules/.cache/packed-service/', import.meta.url));
const PACKED = join(FOLDER, 'service.mjs');

/** What finds its own files, and what Nest and the loggers load only if it is there. */
const OUTSIDE = [
  '@nestjs/microservices',
  '@nestjs/websockets',
  '@grpc/',
  'class-transformer/storage',
  'pino',
  'thread-stream',
  'secp256k1',
  'swagger-ui-dist',
  '@fastify/static',
  // Loaded by those whose keys a service keeps.
  '@aws-sdk/client-kms',
  '@google-cloud/kms',
];

/** Runs the packed code with what V8 has compiled of it, or leaves that behind when it ends. */
const launcher = (code: string): string => `import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Script } from 'node:vm';
const filename = ${JSON.stringify(code)};
const compiles = process.env.COMPILES === '1';
const cachedData = compiles ? undefined : readFileSync(filename + '.compiled');
const script = new Script(readFileSync(filename, 'latin1'), { filename, cachedData });
if (compiles) process.on('exit', () => writeFileSync(filename + '.compiled', script.createCachedData()));
await script.runInThisContext()(createRequire(${JSON.stringify(MAIN)}));
`;

/**
 * The built service and the packages it uses in one file, compiled. The code is the same; a process that loads one file
 * instead of thousands is there in a quarter of the time, and tests start hundreds of processes.
 *
 * @returns the file.
 */
export async function packService(): Promise<string> {
  if (existsSync(PACKED) && statSync(PACKED).mtimeMs > newestIn(DIST)) return PACKED;
  mkdirSync(FOLDER, { recursive: true });
  const { outputFiles } = await build({
    entryPoints: [MAIN],
    bundle: true,
    write: false,
    platform: 'node',
    // Some modules await something before they are there, so it is no CommonJS.
    format: 'esm',
    target: 'node20',
    keepNames: true,
    logLevel: 'error',
    legalComments: 'none',
    plugins: [
      { name: 'outside', setup: leaveOutside },
      { name: 'own-place', setup: keepPlaces },
    ],
  });
  const code = outputFiles[0]?.text ?? '';
  // One byte a character is read in no time; the rest is in strings and patterns.
  const plain = code.replaceAll(
    /[^\0-\x7f]/g,
    (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  const own = join(FOLDER, `${process.pid}`);
  writeFileSync(`${own}.js`, `(async (require) => {\n${plain}\n})`);
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

/** A package of Node or one that stays outside is required as it is. */
function leaveOutside(plugin: PluginBuild): void {
  const isOutside = (path: string): boolean =>
    isBuiltin(path) ||
    path.endsWith('.node') ||
    OUTSIDE.some((one) => path === one || path.startsWith(`${one}/`));
  plugin.onResolve({ filter: /^[@a-z]/ }, ({ path, namespace }) => {
    if (!isOutside(path)) return undefined;
    return namespace === 'outside' ? { path, external: true } : { path, namespace: 'outside' };
  });
  plugin.onLoad({ filter: /./, namespace: 'outside' }, ({ path }) => ({
    contents: `module.exports = require(${JSON.stringify(path)});`,
  }));
}

/**
 * Files find their neighbours by their own place, so each keeps the one it had. What a file requires by a function of its
 * own is packed too: `@nestjs/terminus` would load half of Nest a second time.
 */
function keepPlaces(plugin: PluginBuild): void {
  plugin.onLoad({ filter: /\.[cm]?js$/ }, ({ path }) => ({
    contents: readFileSync(path, 'utf8')
      .replaceAll(/^const require = createRequire\(import\.meta\.url\);$/gm, '')
      .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href))
      .replaceAll('import.meta.dirname', JSON.stringify(dirname(path)))
      .replaceAll('import.meta.resolve', 'require.resolve')
      .replaceAll(/\b__dirname\b/g, JSON.stringify(dirname(path)))
      .replaceAll(/\b__filename\b/g, JSON.stringify(path)),
    loader: 'js',
  }));
}

function newestIn(folder: string): number {
  return Math.max(
    0,
    ...readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => statSync(join(parentPath, name)).mtimeMs),
  );
}
