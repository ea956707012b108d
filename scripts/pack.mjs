/**
 * Second step of `npm run build`: packs `dist/main.js` and the packages it imports into a few files below `dist/packed`.
 * A process that reads a few files in place of 4,000 is ready in half of the processor time, and keeps less source text.
 *
 * What a process loads by `import()` stays in files of its own. Packages that bring native code, start threads or are
 * loaded by few processes stay in `node_modules`.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import ts from 'typescript';

const DIST = fileURLToPath(new URL('../dist/', import.meta.url));
const PACKED = join(DIST, 'packed');

const LEFT_OUT = [
  // With native code, found by the place of its own files.
  'fs-native-extensions',
  'msgpackr-extract',
  'secp256k1',
  // Starts threads from its own files.
  'pino',
  'thread-stream',
  // Loaded only where a setting asks for it.
  '@aws-sdk/*',
  '@google-cloud/*',
  '@privy-io/*',
  '@simplewebauthn/*',
  'google-auth-library',
  'oidc-provider',
  // Not installed: Nest and others look whether it is there.
  '@fastify/static',
  '@grpc/*',
  '@nestjs/microservices',
  '@nestjs/websockets',
  '@valkey/valkey-glide',
  'bufferutil',
  'class-transformer/storage',
  'pg-native',
  'swagger-ui-dist',
  'utf-8-validate',
];

const NOT_ASCII = /[^\0-\x7f]/g;

/** What CommonJS modules find in every file. */
const COMMONJS = `const require = process.getBuiltinModule('node:module').createRequire(import.meta.url);
const { filename: __filename, dirname: __dirname } = import.meta;`;

rmSync(PACKED, { recursive: true, force: true });
const { outputFiles } = await build({
  entryPoints: [join(DIST, 'main.js')],
  outdir: PACKED,
  write: false,
  bundle: true,
  splitting: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  banner: { js: COMMONJS },
  external: LEFT_OUT,
  // Node keeps the source text of what it runs: without comments and blanks it is a third smaller. Stack traces still
  // name functions, and lines stay short enough to read.
  legalComments: 'none',
  minifyWhitespace: true,
  lineLimit: 160,
  // Nest, logs and the API description know classes by name.
  keepNames: true,
  logLevel: 'error',
  plugins: [{ name: 'places', setup: keepPlaces }],
});
mkdirSync(PACKED);
for (const { path, text } of outputFiles) writeFileSync(path, finish(text));

/** A module finds its neighbours from where it was before. */
function keepPlaces(plugin) {
  plugin.onLoad({ filter: /\.m?js$/ }, ({ path }) => {
    const text = readFileSync(path, 'utf8');
    const isOwn = !relative(DIST, path).startsWith('..');
    const place = `new URL(${JSON.stringify(relative(PACKED, path))}, import.meta.url).href`;
    return {
      loader: 'js',
      contents: isOwn
        ? text.replaceAll('import.meta.url', place)
        : // What a package requires by a function of its own is packed, too.
          text.replace(/^const require = createRequire\(import\.meta\.url\);$/m, ''),
    };
  });
}

function isNaming(node) {
  return ts.isIdentifier(node) && ts.idText(node) === '__name';
}

/**
 * esbuild names each function again whenever it is made, and requests make many. They keep the names of their places; only
 * classes, which are made once, are named again.
 *
 * esbuild escapes letters beyond ASCII in strings, not in regular expressions. One letter beyond Latin-1 makes Node keep two
 * bytes for each letter of the file.
 */
function finish(text) {
  const edits = [];
  const visit = (node) => {
    if (ts.isCallExpression(node) && isNaming(node.expression)) {
      const [named] = node.arguments;
      if (named.kind !== ts.SyntaxKind.ThisKeyword) {
        edits.push(
          [node.expression.getStart(source), node.expression.end, ''],
          [named.end, node.end - 1, ''],
        );
      }
    }
    if (ts.isRegularExpressionLiteral(node) && node.text.search(NOT_ASCII) >= 0) {
      if (/\\[^\0-\x7f]/.test(node.text)) throw new Error(`Cannot escape ${node.text}.`);
      edits.push([node.getStart(source), node.end, node.text.replace(NOT_ASCII, escapeUnit)]);
    }
    ts.forEachChild(node, visit);
  };
  const source = ts.createSourceFile('packed.js', text, ts.ScriptTarget.ESNext);
  visit(source);
  let finished = '';
  let end = 0;
  for (const [from, to, by] of edits.sort(([one], [other]) => one - other)) {
    finished += text.slice(end, from) + by;
    end = to;
  }
  finished += text.slice(end);
  if (finished.search(NOT_ASCII) >= 0) throw new Error('A packed file has letters beyond ASCII.');
  return finished;
}

function escapeUnit(unit) {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
