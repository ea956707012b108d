/**
 * Who may know whom. `core` is pure; adapters (`chain`, `ledger`, `crypto`, `redis`) know it and not
 * each other's users; the HTTP edge is known by nobody.
 *
 * @type {import('dependency-cruiser').IConfiguration}
 */
export default {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'core-is-pure',
      comment: 'core knows no framework, no Redis, no RPC and no other folder of ours',
      severity: 'error',
      from: { path: '^src/core/', pathNot: '\\.spec\\.ts$' },
      to: {
        pathNot: '^src/core/|^node_modules/(viem|hash-wasm)/|^(node:)?crypto$',
      },
    },
    {
      name: 'config-knows-only-core',
      severity: 'error',
      from: { path: '^src/config/' },
      to: { path: '^src/', pathNot: '^src/(config|core)/' },
    },
    {
      name: 'chain-is-an-adapter',
      severity: 'error',
      from: { path: '^src/chain/' },
      to: {
        path: '^src/',
        pathNot: '^src/(chain|config|core|concurrency)/|^src/observability/fan-out',
      },
    },
    {
      name: 'ledger-is-an-adapter',
      severity: 'error',
      from: { path: '^src/(ledger|redis)/' },
      to: { path: '^src/', pathNot: '^src/(ledger|redis|config|core|concurrency)/' },
    },
    {
      name: 'verification-knows-no-edge',
      severity: 'error',
      from: { path: '^src/verification/' },
      to: { path: '^src/(settlement|lanes|facilitator|http|health)/' },
    },
    {
      name: 'lanes-and-settlement-know-no-edge',
      severity: 'error',
      from: { path: '^src/(lanes|settlement)/' },
      to: { path: '^src/(facilitator|http|health)/' },
    },
    {
      name: 'askers-do-not-reach-into-lanes',
      comment: 'the ledger and the queue are all that the asking and the settling side share',
      severity: 'error',
      from: { path: '^src/(settlement|facilitator|verification)/' },
      to: { path: '^src/lanes/' },
    },
    {
      name: 'access-knows-no-feature',
      comment:
        'keys and limits are the same for every route; routes say what they need by decorators',
      severity: 'error',
      from: { path: '^src/access/' },
      to: {
        path: '^src/',
        pathNot: '^src/(access|config|core|redis|rate-limit|http)/|^src/health/health-indicators',
      },
    },
    {
      name: 'rate-limit-is-below-every-door',
      severity: 'error',
      from: { path: '^src/rate-limit/' },
      to: { path: '^src/', pathNot: '^src/(rate-limit|redis|core)/' },
    },
    {
      name: 'nobody-knows-access',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(access|admin)/|^src/app\\.module\\.ts$' },
      to: { path: '^src/access/' },
    },
    {
      name: 'openapi-knows-no-feature',
      comment:
        'each module describes itself; the module of the application puts the parts together',
      severity: 'error',
      from: { path: '^src/openapi/' },
      to: { path: '^src/', pathNot: '^src/(openapi|config|http)/' },
    },
    {
      name: 'nobody-knows-admin',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/admin/|^src/app\\.module\\.ts$' },
      to: { path: '^src/admin/' },
    },
    {
      name: 'admin-does-not-reach-into-lanes',
      comment: 'it sees them in the ledger and stops them there',
      severity: 'error',
      from: { path: '^src/admin/' },
      to: { path: '^src/(lanes|facilitator|verification|health|openapi)/' },
    },
    {
      name: 'wallet-knows-no-feature',
      comment: 'it pays over HTTP like any buyer, our own facilitator or another',
      severity: 'error',
      from: { path: '^src/wallet/' },
      to: {
        path: '^src/',
        pathNot:
          '^src/(wallet|config|core|crypto|redis|rate-limit|http|concurrency|chain)/|^src/health/health-indicators\\.ts$',
      },
    },
    {
      name: 'wallet-rules-are-pure',
      severity: 'error',
      from: { path: '^src/wallet/rules/', pathNot: '\\.spec\\.ts$' },
      to: {
        pathNot: '^src/(wallet/rules|config|core)/|^node_modules/(viem|zod)/',
      },
    },
    {
      name: 'nobody-knows-the-wallet',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/wallet/|^src/app\\.module\\.ts$' },
      to: { path: '^src/wallet/', pathNot: '^src/wallet/wallet-(health|observer)\\.ts$' },
    },
    {
      name: 'health-only-reads',
      severity: 'error',
      from: { path: '^src/health/' },
      to: { path: '^src/(verification|settlement|lanes|facilitator|metrics)/' },
    },
    {
      name: 'metrics-are-told',
      comment: 'metrics implement the observers of other modules, which know nothing of metrics',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(metrics/|app\\.module\\.ts$)' },
      to: { path: '^src/metrics/|^node_modules/prom-client/' },
    },
    {
      name: 'metrics-know-observers-and-reports',
      severity: 'error',
      from: { path: '^src/metrics/' },
      to: {
        path: '^src/',
        pathNot:
          '^src/(metrics|core|config|ledger|redis|processes|health|observability)/|-observer\\.ts$|rpc-outcome\\.ts$|^src/hub/hub-(stats|health\\.service)\\.ts$|^src/wallet/wallet-health\\.ts$|^src/http/ops\\.ts$',
      },
    },
    {
      name: 'hub-knows-no-other-feature',
      severity: 'error',
      from: { path: '^src/hub/' },
      to: {
        path: '^src/',
        pathNot:
          '^src/(hub|config|core|crypto|redis|rate-limit|http|concurrency|observability)/|^src/health/health-indicators\\.ts$',
      },
    },
    {
      name: 'hub-is-known-by-no-feature',
      comment: 'metrics look at its counts',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(hub|metrics)/|^src/app\\.module\\.ts$' },
      to: { path: '^src/hub/' },
    },
    {
      name: 'storage-knows-no-edge',
      severity: 'error',
      from: { path: '^src/hub/storage/' },
      to: { path: '^src/hub/', pathNot: '^src/hub/(storage/|errors)' },
    },
    {
      name: 'nest-only-at-the-edge',
      comment:
        'modules, controllers and the services they inject know Nest; what they wire does not',
      severity: 'error',
      from: {
        path: '^src/',
        pathNot:
          '\\.(module|controller|service|filter|guard|interceptor|dto)\\.ts$|^src/(main|start|bootstrap|drain)\\.ts$|^src/(facilitator|http|observability|health)/|-log\\.ts$',
      },
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
