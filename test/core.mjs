/**
 * The end-to-end specs of `npm test`, beside all units: what the product promises to its users, in ten minutes on two
 * cores. `npm run test:all` plays the others too. Paths below `test/`, without `.e2e-spec.ts`.
 */
export const CORE = [
  // A payment, on both versions and by all methods, verified and settled once.
  'facilitator/purchase',
  'facilitator/upto',
  'facilitator/two-ways',
  'facilitator/waiting',
  'facilitator/approval',
  'facilitator/smart-wallets',
  'facilitator/payment-identifier',
  'facilitator/bad-input',
  'settlement/settle-once',
  'settlement/outcomes',
  'settlement/lane',
  'settlement/lying-node',
  'settlement/ledger/lane-store',
  'settlement/ledger/sale',
  'settlement/ledger/settlement-store',
  // A crash, and who takes over.
  'settlement/retry',
  'operations/sigterm',
  'wallet/crash-steps',
  // The history, for sellers and operators.
  'history/first-start',
  'history/archive',
  'history/hot-and-cold',
  'history/lists',
  'history/webhooks',
  // Operators.
  'operations/start',
  'operations/health',
  'operations/metrics',
  'operations/access/admin',
  'operations/access/api-keys',
  // The hub.
  'hub/public-hub',
  'hub/private-hub',
  'hub/sales',
  'hub/shared-links',
  // The wallet, and how agents and owners sign in.
  'wallet/sign-in',
  'wallet/paying',
  'wallet/budget',
  'wallet/mcp',
  'wallet/asks',
  'wallet/oauth',
  // What is found.
  'discovery/catalogue',
  // Each stock client buys; the documents and the clients that are made from them.
  'examples/examples',
  'facilitator/openapi',
  'clients/generated-clients',
];
