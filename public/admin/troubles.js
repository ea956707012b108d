/** What is wrong, in words, and what to do. */

import { duration, number, short } from '../components/format.js';

/** What to make of a lane's trouble, for somebody who was asleep a minute ago. */
export const TROUBLES = {
  silent: 'No process holds this lane. Start a worker that has this key.',
  paused: 'Paused by an operator. It sends nothing new and follows what it has sent.',
  signer_unavailable: 'The key service does not sign. The lane goes on by itself when it does.',
  no_gas: 'Out of gas. Send native coins to its address; it goes on by itself.',
  budget_exhausted:
    'The gas budget of today is spent. It goes on at midnight UTC, or raise GAS_BUDGET_DAILY_<chainId>.',
  gas_price_cap: 'The gas price of the chain is above MAX_GAS_PRICE_GWEI_<chainId>.',
  chain_unavailable: 'No RPC endpoint of this chain answers.',
  head_stale: 'The newest block is too old: the chain or its endpoints stand still.',
  resyncing: 'It reads from the chain where it stands. Wait.',
  nonce_gap: 'Account nonces are missing below those in flight. It fills them by itself.',
};

const LOW_SETTLEMENTS = 100;
const LATE_MS = 30_000;

const isSettling = ({ treasury }) => treasury === undefined;

function ofLane(network, lane) {
  const name = `${network}: lane ${short(lane.signer)}`;
  const found = [];
  if (lane.trouble !== null && lane.trouble !== 'paused') {
    const what = isSettling(lane) ? 'is stopped' : 'refills no lane';
    found.push(`${name} ${what} (${lane.trouble}). ${TROUBLES[lane.trouble] ?? ''}`);
  } else if (isSettling(lane) && lane.settlementsLeft < LOW_SETTLEMENTS) {
    found.push(`${name} has gas for ${number(lane.settlementsLeft)} more settlements.`);
  }
  if (lane.isShort === true) found.push(`${name} has too little gas for its next transaction.`);
  if (lane.inFlight > 0 && lane.oldestInFlightMs > LATE_MS) {
    const since = duration(lane.oldestInFlightMs);
    const transaction = lane.attempts?.[0]?.transactions.at(-1);
    found.push(
      `${name}: transaction ${transaction === undefined ? `of nonce ${lane.oldestNonce}` : short(transaction)} is pending for ${since}.`,
    );
  }
  return found.map((text) => ({ text, page: 'lanes' }));
}

function ofNetwork({ network, lanes, endpoints, unclaimed }) {
  const found = [];
  if (unclaimed !== undefined && unclaimed.count > 0) {
    const many =
      unclaimed.count === 1 ? '1 payment was' : `${number(unclaimed.count)} payments were`;
    found.push({
      text: `${network}: ${many} made and not delivered, the oldest ${duration(unclaimed.oldestMs)} ago.`,
      page: 'settlements',
      fields: { sale: 'unclaimed', network },
    });
  }
  if (endpoints.reachable === 0) {
    found.push({ text: `${network}: no RPC endpoint answers.`, page: 'lanes' });
  }
  const settling = lanes.filter(isSettling);
  if (settling.length > 0 && settling.every(({ trouble }) => trouble !== null)) {
    found.push({ text: `${network}: no lane takes work. Nothing is settled.`, page: 'lanes' });
  }
  return [...found, ...lanes.flatMap((lane) => ofLane(network, lane))];
}

/** @returns `{ text, page?, fields? }` each: what, and where there is more of it. Empty when all is well. */
export function troublesOf({ networks, processes, apiKeys }) {
  const found = networks.flatMap(ofNetwork);
  if (!processes.some(({ roles }) => roles.includes('worker'))) {
    found.unshift({ text: 'No worker process runs: nothing is settled.' });
  }
  if (apiKeys.code !== undefined) {
    found.push({ text: 'The API key file cannot be used; the keys read before stay in use.' });
  }
  return found;
}
