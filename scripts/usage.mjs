/** What each benchmark takes. */
const RUNS = '[--rounds N] [--seed TEXT] [--json FILE]';
/** @type {Readonly<Record<string, string>>} */
export const BENCHES = {
  access: RUNS,
  builds: `DIR | history [--only TEXT] [--node PROGRAM] [--node-options=OPTIONS] [--set NAME=VALUE] ${RUNS}`,
  channels: RUNS,
  cost: RUNS,
  deploy: '[DIR] [--rate N] [--seed TEXT] [--json FILE]',
  discovery: `[--entries N] [--requests N] [--settlements N] [--asks N] ${RUNS}`,
  history: `[--rows N] [--settlements N] [--requests N] ${RUNS}`,
  hub: '[REQUESTS]',
  ledger: `[SETTLEMENTS] [TOMBSTONES] ${RUNS}`,
  memory: `[--settlements N] [--pace N] [--minutes N] ${RUNS}`,
  profile: `[settle] [KIND] ${RUNS}`,
  queue: RUNS,
  report: 'FILE...',
  settle: `[--load N] [--warm N] [--beside NAME=COMMAND] ${RUNS}`,
  soak: `[MINUTES] ${RUNS}`,
  verify: `[--load N] [--beside NAME=COMMAND] ${RUNS}`,
};

/**
 * How each task of `scripts/run.mjs` is called. `--help` prints it, and an option that it does not name is refused.
 *
 * @type {Readonly<Record<string, string>>}
 */
export const USAGE = {
  sandbox: `npm start
  A facilitator, a local chain, a demo seller, a hub and a wallet on this machine. Ctrl-C ends all of them.`,
  pay: `npm run pay -- [report | permit2 | sponsored | approval | upto | smart-wallet | v1]
  Buys from the demo seller of the running sandbox, and prints what happened. Default: report.
npm run pay -- channel [CALLS]
  Opens a channel with a seller of calls, pays CALLS (1000) of them by vouchers, and claims them in one transaction.`,
  doctor: `npm run doctor -- URL [METHOD] [BODY]
  Reads the 402 answer of a seller and lists what a buyer would stumble over. Asks the facilitator of the running sandbox,
  or the one in FACILITATOR_URL (with FACILITATOR_API_KEY).`,
  grade: `npm run grade -- URL [METHOD] [BODY] [options]
  Is the facilitator of a seller for a minute, plays what can happen to payments, and lists the seller's faults.
  --port N        port to listen on as a facilitator (4402)
  --host H        address to listen on (127.0.0.1)
  --network N     CAIP-2 network to serve besides the known ones; may be repeated
  --patience N    seconds after which a buyer gives up (30)
  --wait N        seconds to wait for the seller to start (60)
  --junit FILE    write the result as JUnit, too
  Exit code: 0 no faults, 1 faults, 2 nothing could be played.`,
  agent: `npm run agent
  Runs an agent over MCP against the running sandbox: pays, stores and downloads files, and checks each claim it prints.`,
  mcp: `npm run --silent mcp -- [login]
  An MCP server on standard input and output, which passes tool calls to a wallet service.
  login           get a token: prints a link that the owner opens and approves
  Settings: X402_WALLET_URL, and X402_WALLET_TOKEN or X402_WALLET_TOKEN_FILE.`,
  test: `npm test                 units and the main end-to-end tests
npm run test:rest        the other end-to-end tests
npm run test:all         both
  Options of Jest may follow, such as -- --testPathPatterns purchase`,
  chaos: `npm run test:chaos -- [options]
  Random mixtures of crashes and faults on real servers; what must hold is checked after each run.
  --runs N        how many runs (200)
  --seed N        repeats a series; without it a new one is drawn
  --only RUN      one run of the series
  --restart       begin again, not where a series was stopped
  --keep-going    go on after a run that failed
  --jobs N        deployments side by side (2)
  --fault REGEXP  one fault a run, of the kinds that match
  --history --sentinel --cluster --queue-redis --treasury --slow-blocks --channels --wallet --sales
                  other deployments and their faults: see CONTRIBUTING.md`,
  official: `npm run test:official -- --harness DIR [options of the harness]
  Runs the official end-to-end harness of x402 against this build: see docs/conformance.md.
  --harness DIR   its folder e2e, built as its own README says
  --min --seed=N --versions=LIST --schemes=LIST --servers=LIST --clients=LIST --transport=LIST --endpoints=LIST
  --extensions=LIST --parallel --concurrency=N --verbose --log=FILE
                  passed on to it`,
  deploy: `npm run check:deploy
  Builds the image, runs it and docker-compose.yml, and checks the Helm chart.`,
  rust: `npm run test:rust
  Builds the example seller in Rust and buys from it.`,
  fuzz: `npm run test:fuzz -- [COUNT] [SEED]
  COUNT generated requests at each kind of door (10000).`,
  node: `npm run test:node -- MAJOR [PATTERN...]
  Units and the money path, or the specs whose path fits a pattern, on another version of Node.`,
  keys: `npm run keys:new -- ID [SCOPES] [PAYEES] [--file FILE]
  Makes an API key and prints it once, with its record for API_KEYS_FILE.
  ID              whose key it is: letters, digits, "_" and "-"
  SCOPES          separated by commas (verify,settle)
  PAYEES          addresses whose settlements the key may list with the scope history, separated by commas
  --file FILE     add the record to this file; it is made where it is missing`,
  migrate: `npm run migrate
  Brings the tables in DATABASE_URL up to date.`,
  reconcile: `npm run reconcile -- [--from TIME] [--to TIME] [--network eip155:N]
  Compares settlements and gas with the chain. Times are UTC: 2026-11-21 or 2026-11-21T12:00:00Z. Default: the last 24 hours.
  Exit code: 0 no differences, 1 differences, 2 not everything could be checked, 3 not run.`,
  docs: `npm run docs:states      writes docs/settlement-states.md
npm run docs:errors      writes the reasons of docs/errors.md
npm run docs:counts      prints lines of code and of tests
npm run docs:walk        prints the files that one request goes through
npm run docs:messages    prints the texts that users read; -- FOLDER instead of src
npm run screenshots      writes docs/images with a browser`,
  bench: `npm run bench:NAME -- [options]
${Object.entries(BENCHES)
  .map(([name, options]) => `  ${name.padEnd(12)}${options}`)
  .join('\n')}`,
  lint: `npm run lint
  Checks eslint, Lua, the words, the rules of the rooms and the format.`,
  check: `npm run check
  Types, lint and unit tests: before every commit.`,
  format: `npm run format
  Writes the format of every file.`,
};

/** Jest reads the options of this one. */
const PASSES_ON = 'test';

/**
 * @param {string} task
 * @param {readonly string[]} args
 * @returns {string | undefined} the first option that this task does not have.
 */
export function unknownOption(task, args) {
  if (task === PASSES_ON) return undefined;
  const usage = task === 'bench' ? BENCHES[args[0] ?? ''] : USAGE[task];
  const known = new Set(usage?.match(/--[a-z-]+/g) ?? []);
  return args.find((one) => one.startsWith('-') && !known.has(one.split('=')[0] ?? ''));
}
