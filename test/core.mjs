/**
 * The end-to-end specs of `npm test`, beside all units: what the product promises to its users, in ten minutes on two
 * cores. `npm run test:all` plays the others too. Paths below `test/`, without `.e2e-spec.ts`, with the seconds that each takes:
 * the longest begin first.
 */
export const CORE = {
  // A payment, on both versions and by all methods, verified and settled once.
  'facilitator/purchase': 12,
  'facilitator/upto': 66,
  'facilitator/two-ways': 10,
  'facilitator/waiting': 18,
  'facilitator/approval': 105,
  'facilitator/smart-wallets': 34,
  'facilitator/payment-identifier': 9,
  'facilitator/bad-input': 37,
  'settlement/settle-once': 12,
  'settlement/outcomes': 58,
  'settlement/lane': 58,
  'settlement/lying-node': 84,
  'settlement/ledger/lane-store': 7,
  'settlement/ledger/sale': 21,
  'settlement/ledger/settlement-store': 20,
  // A crash, and who takes over.
  'settlement/retry': 19,
  'operations/sigterm': 31,
  'wallet/crash-steps': 157,
  // The history, for sellers and operators.
  'history/archive': 97,
  'history/hot-and-cold': 42,
  'history/lists': 18,
  'history/webhooks': 145,
  // Operators.
  'operations/start': 58,
  'operations/health': 64,
  'operations/metrics': 22,
  'operations/access/admin': 42,
  'operations/access/api-keys': 20,
  // The hub.
  'hub/public-hub': 9,
  'hub/private-hub': 10,
  'hub/sales': 32,
  'hub/shared-links': 12,
  // The wallet, and how agents and owners sign in.
  'wallet/sign-in': 20,
  'wallet/paying': 18,
  'wallet/budget': 13,
  'wallet/mcp': 37,
  'wallet/asks': 31,
  'wallet/oauth': 49,
  // What is found.
  'discovery/catalogue': 48,
  // The stock clients buy; the documents are true.
  'examples/examples': 162,
  'facilitator/openapi': 16,
};
