/**
 * Who may know whom. `protocol` is pure, `platform` holds the tools of every room; `settlement` stands on
 * both; `facilitator`, `history`, `discovery`, `hub` and `wallet` stand beside each other on the ports of `settlement`; `operations`
 * sees all and is known by nobody.
 *
 * @type {import('dependency-cruiser').IConfiguration}
 */
const TESTED = '\\.spec\\.ts$';

/** A room knows only these paths of ours. */
const knowsOnly = (name, room, paths, comment) => ({
  name,
  ...(comment !== undefined && { comment }),
  severity: 'error',
  from: { path: `^src/${room}/`, pathNot: TESTED },
  to: { path: '^src/', pathNot: `^src/(${paths})` },
});

export default {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },

    {
      name: 'the-product-knows-no-test',
      severity: 'error',
      from: { path: '^src/', pathNot: TESTED },
      to: { path: '^test/' },
    },

    // ---------------------------------------------------------------- rooms
    {
      name: 'protocol-is-pure',
      comment: 'the protocol knows no framework, no Redis, no RPC, no HTTP and no other room',
      severity: 'error',
      from: { path: '^src/protocol/', pathNot: TESTED },
      to: { pathNot: '^src/protocol/|^node_modules/(viem|hash-wasm)/|^(node:)?crypto$' },
    },
    {
      name: 'schemes-are-asked-through-the-registry',
      comment:
        'what differs from scheme to scheme is behind one interface; nobody imports a scheme',
      severity: 'error',
      from: { path: '^src/', pathNot: `^src/protocol/schemes/|${TESTED}` },
      to: { path: '^src/protocol/schemes/[^/]+/' },
    },
    knowsOnly('platform-knows-nobody-above', 'platform', 'platform/|protocol/'),
    knowsOnly('settlement-stands-on-both', 'settlement', 'settlement/|platform/|protocol/'),
    knowsOnly('facilitator', 'facilitator', 'facilitator/|settlement/|platform/|protocol/'),
    knowsOnly('history', 'history', 'history/|settlement/|platform/|protocol/'),
    knowsOnly(
      'discovery',
      'discovery',
      'discovery/|settlement/|platform/|protocol/|history/(archive|history-tables(?:\\.module)?|postgres/(bytea|database(?:\\.module)?|tables))\\.ts$',
      'the catalogue is in the database of the history, and is written from its rows',
    ),
    knowsOnly('hub-stands-alone', 'hub', 'hub/|platform/|protocol/'),
    knowsOnly(
      'wallet-stands-alone',
      'wallet',
      'wallet/|platform/|protocol/',
      'it pays over HTTP like any buyer, our own facilitator or another',
    ),
    {
      name: 'nobody-knows-operations',
      comment: 'operations implement the observers of other rooms, which know nothing of them',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(operations/|(app\\.module|[^/]+\\.spec)\\.ts$)' },
      to: { path: '^src/operations/|^node_modules/prom-client/' },
    },

    // ---------------------------------------------------------------- in the platform
    knowsOnly(
      'config-knows-only-protocol',
      'platform/config',
      'platform/(config|concurrency/clock|http/(ipv6|urls))|protocol/',
    ),
    knowsOnly(
      'chain-is-an-adapter',
      'platform/chain',
      'platform/(chain|config|concurrency|observability/fan-out)|protocol/',
    ),
    knowsOnly(
      'redis-is-an-adapter',
      'platform/redis',
      'platform/(redis|config|concurrency)/|protocol/',
    ),
    knowsOnly(
      'lifecycle-knows-no-part',
      'platform/lifecycle',
      'platform/(lifecycle|config|concurrency)/',
      'parts name their step; the order is one table',
    ),
    knowsOnly(
      'database-is-an-adapter',
      'platform/database',
      'platform/(database|config)/|protocol/',
    ),
    knowsOnly(
      'rate-limit-is-below-every-door',
      'platform/rate-limit',
      'platform/(rate-limit|redis|http)/|protocol/',
    ),
    knowsOnly(
      'fetch-is-below-every-room',
      'platform/fetch',
      'platform/(fetch/|http/(ipv6|urls))|protocol/errors',
      'one guard for whoever fetches what strangers name',
    ),
    knowsOnly(
      'openapi-knows-no-feature',
      'platform/openapi',
      'platform/(openapi|config|http)/',
      'each module describes itself; the module of the application puts the parts together',
    ),

    // ---------------------------------------------------------------- in the engine
    knowsOnly('model-is-pure', 'settlement/model', 'settlement/model/|protocol/'),
    knowsOnly(
      'ledger-is-an-adapter',
      'settlement/ledger',
      'settlement/(ledger|model)/|platform/(redis|config|concurrency)/|platform/lifecycle/at-shutdown|protocol/',
    ),
    {
      name: 'requesters-do-not-reach-into-lanes',
      comment: 'the ledger and the queue are all that the asking and the settling side share',
      severity: 'error',
      from: { path: '^src/(facilitator|history|discovery)/|^src/settlement/admission' },
      to: { path: '^src/settlement/lanes/' },
    },

    // ---------------------------------------------------------------- in wallet and hub
    {
      name: 'wallet-rules-are-pure',
      severity: 'error',
      from: { path: '^src/wallet/rules/', pathNot: '\\.spec\\.ts$' },
      to: { pathNot: '^src/(wallet/rules|platform/config|protocol)/|^node_modules/(viem|zod)/' },
    },
    {
      name: 'storage-knows-no-edge',
      severity: 'error',
      from: { path: '^src/hub/storage/' },
      to: { path: '^src/hub/', pathNot: '^src/hub/(storage/|errors)' },
    },

    // ---------------------------------------------------------------- in operations
    knowsOnly(
      'access-knows-no-feature',
      'operations/access',
      'operations/access/|platform/|protocol/',
      'keys and limits are the same for every route; routes say what they need by decorators',
    ),
    {
      name: 'nobody-knows-admin',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/operations/admin/|^src/app\\.module\\.ts$' },
      to: { path: '^src/operations/admin/' },
    },
    {
      name: 'operations-only-read',
      comment:
        'they see lanes in the ledger and stop them there; metrics implement their observers; answers of the history have one shape for sellers and operators',
      severity: 'error',
      from: { path: '^src/operations/' },
      to: {
        path: '^src/(settlement/lanes|settlement/queue|facilitator|history|hub|wallet)/',
        pathNot:
          '^src/facilitator/status/|^src/history/operators/|^src/history/sellers/(dto/|history-problems\\.ts$)|-observer\\.ts$|hub-(stats|health\\.service)\\.ts$|(wallet|history|webhook|reconciliation)-health\\.ts$',
      },
    },

    // ---------------------------------------------------------------- the framework
    {
      name: 'nest-not-in-the-domain',
      comment: 'the protocol, the model and the rules are plain functions and values',
      severity: 'error',
      from: { path: '^src/(protocol|settlement/model|[^/]+/rules)/' },
      to: { path: '^node_modules/(@nestjs|nestjs-pino)/' },
    },
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default'],
    },
  },
};
