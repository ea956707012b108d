/**
 * The end-to-end specs of `npm test`, beside all units: what the product promises to its users, in ten minutes on two
 * cores. `npm run test:all` plays the others too. Paths below `test/`, without `.e2e-spec.ts`, with the seconds that each takes:
 * the longest begin first.
 */
export const CORE = {
  // A payment, on both versions and by all methods, verified and settled once.
  'facilitator/purchase': 20,
  'facilitator/upto': 30,
  'facilitator/channels': 40,
  'facilitator/two-ways': 30,
  'facilitator/waiting': 18,
  'facilitator/approval': 13,
  'facilitator/smart-wallets': 26,
  'facilitator/payment-identifier': 13,
  'facilitator/bad-input': 55,
  'settlement/settle-once': 14,
  'settlement/outcomes': 22,
  'settlement/lane': 27,
  'settlement/lying-node': 16,
  'settlement/ledger/lane-store': 6,
  'settlement/ledger/sale': 31,
  'settlement/ledger/settlement-store': 18,
  // A crash, and who takes over.
  'settlement/retry': 14,
  'operations/sigterm': 29,
  'wallet/crash-steps': 64,
  // The history, for sellers and operators.
  'history/archive': 36,
  'history/hot-and-cold': 29,
  'history/lists': 31,
  'history/webhooks': 25,
  // Operators.
  'operations/start': 30,
  'operations/packed': 20,
  'operations/health': 87,
  'operations/metrics': 39,
  'operations/access/admin': 44,
  'operations/access/api-keys': 27,
  // The hub.
  'hub/public-hub': 25,
  'hub/private-hub': 20,
  'hub/sales': 26,
  'hub/shared-links': 16,
  // The wallet, and how agents and owners sign in.
  'wallet/sign-in': 34,
  'wallet/paying': 38,
  'wallet/budget': 26,
  'wallet/mcp': 120,
  'wallet/asks': 29,
  'wallet/oauth': 50,
  // The findings.
  'discovery/catalogue': 34,
  // The stock clients buy; the documents are true.
  'examples/examples': 50,
  'facilitator/openapi': 21,
};
