import { Pool } from 'undici';
import { hashTypedData, type Hex, recoverAddress } from 'viem';
import { EXACT_PROXY } from '../../sandbox/deploy.js';
import {
  loadSignerRecovery,
  recoverSignerWithNoble,
} from '../../src/platform/crypto/recover-signer.js';
import {
  asEip3009Authorization,
  asPermit2Authorization,
} from '../../src/protocol/evm/authorization.js';
import { settlementCall } from '../../src/protocol/evm/calls.js';
import { withNormalizedV } from '../../src/protocol/evm/signature.js';
import { eip3009Digest, permit2Digest } from '../../src/protocol/evm/typed-data.js';
import { parsePayment, readEnvelope } from '../../src/protocol/payment/parse-payment.js';
import type { Eip3009Claim, Payment, Permit2Claim } from '../../src/protocol/payment/payment.js';

/** What one part of the work takes when nothing else is done, in operations a second. */
export interface Baseline {
  readonly name: string;
  readonly perSecond: number;
}

const SECONDS = 1;

/** As many rounds as fit into the time. */
async function rateOf(
  name: string,
  perRound: number,
  round: (index: number) => unknown,
  seconds = SECONDS,
): Promise<Baseline> {
  const begun = performance.now();
  let rounds = 0;
  while (performance.now() - begun < seconds * 1000) {
    await round(rounds);
    rounds += 1;
  }
  return { name, perSecond: (rounds * perRound * 1000) / (performance.now() - begun) };
}

function paymentOf(body: string): Payment {
  const envelope = readEnvelope(JSON.parse(body));
  const parsed = envelope && parsePayment(envelope, [1, 2], () => true);
  if (parsed?.ok !== true) throw new Error('the factory made no payment');
  return parsed.payment;
}

/** The settlement's call with its digest, as the verify path makes them. */
function prepared(body: string): {
  readonly digest: Hex;
  readonly signature: Hex;
  readonly call: object;
} {
  const { claim, requirements } = paymentOf(body);
  const { asset, chainId, tokenName, tokenVersion } = requirements;
  const signature = withNormalizedV(claim.signature ?? '0x');
  if (claim.method === 'eip3009') {
    const authorization = asEip3009Authorization(claim as Eip3009Claim, signature);
    if (authorization === undefined) throw new Error('the factory made no authorization');
    const name = String(tokenName);
    const digest = eip3009Digest(authorization, {
      name,
      version: String(tokenVersion),
      chainId,
      token: asset,
    });
    return { digest, signature, call: settlementCall(authorization, asset) };
  }
  const authorization = asPermit2Authorization(claim as Permit2Claim, signature, undefined);
  if (authorization === undefined) throw new Error('the factory made no authorization');
  return {
    digest: permit2Digest(authorization, chainId),
    signature,
    call: settlementCall(authorization, asset),
  };
}

/** Parsing, hashing and recovering without a network. @param bodies - one use each per round. */
export async function recoveryBaselines(bodies: readonly string[]): Promise<readonly Baseline[]> {
  const { recoverSigner } = loadSignerRecovery();
  const ready = bodies.map(prepared);
  const one = (index: number): (typeof ready)[number] => {
    const found = ready[index % ready.length];
    if (found === undefined) throw new Error('no payments');
    return found;
  };
  return [
    await rateOf('parse, hash and recover (native)', 1, (index) => {
      const { digest, signature } = prepared(bodies[index % bodies.length] ?? '');
      return recoverSigner(digest, signature);
    }),
    await rateOf('recover only, native', 1, (index) => {
      const { digest, signature } = one(index);
      return recoverSigner(digest, signature);
    }),
    await rateOf('recover only, noble', 1, (index) => {
      const { digest, signature } = one(index);
      return recoverSignerWithNoble(digest, signature);
    }),
    await rateOf('recover only, viem', 1, (index) => {
      const { digest, signature } = one(index);
      return recoverAddress({ hash: digest, signature });
    }),
    await rateOf('hashTypedData, viem', 1, () => hashTypedData(EXAMPLE_TYPED_DATA)),
  ];
}

const EXAMPLE_TYPED_DATA = {
  domain: { name: 'Token', version: '1', chainId: 1, verifyingContract: EXACT_PROXY },
  types: {
    TransferWithAuthorization: [
      { name: 'from', type: 'address' },
      { name: 'to', type: 'address' },
      { name: 'value', type: 'uint256' },
      { name: 'validAfter', type: 'uint256' },
      { name: 'validBefore', type: 'uint256' },
      { name: 'nonce', type: 'bytes32' },
    ],
  },
  primaryType: 'TransferWithAuthorization',
  message: {
    from: EXACT_PROXY,
    to: EXACT_PROXY,
    value: 1n,
    validAfter: 0n,
    validBefore: 1n,
    nonce: `0x${'11'.repeat(32)}`,
  },
} as const;

const BATCH = 50;
const FLIGHTS = 4;

/** The simulation of a settlement, pre-built, straight to the node. */
export async function rpcBaselines(
  rpcUrl: string,
  bodies: readonly string[],
): Promise<readonly Baseline[]> {
  const { origin } = new URL(rpcUrl);
  const pool = new Pool(origin, { connections: 32 });
  const calls = bodies.map((body, id) => ({
    jsonrpc: '2.0',
    id,
    method: 'eth_call',
    params: [prepared(body).call, 'latest'],
  }));
  const singles = calls.map((call) => JSON.stringify(call));
  const batches = Array.from({ length: Math.ceil(calls.length / BATCH) }, (_, index) =>
    JSON.stringify(calls.slice(index * BATCH, (index + 1) * BATCH)),
  );
  const post = async (body: string | undefined): Promise<void> => {
    const response = await pool.request({
      method: 'POST',
      path: '/',
      headers: { 'content-type': 'application/json' },
      body: body ?? '',
    });
    const answer: unknown = await response.body.json();
    const all = Array.isArray(answer) ? answer : [answer];
    if (!all.every((one: { result?: unknown }) => one.result !== undefined)) {
      throw new Error('a simulation failed');
    }
  };
  const together = (texts: readonly string[], count: number, index: number): Promise<unknown> =>
    Promise.all(
      Array.from({ length: count }, (_, at) => post(texts[(index * count + at) % texts.length])),
    );
  const baselines = [
    await rateOf('eth_call alone, one at a time', 1, (index) => together(singles, 1, index)),
    await rateOf('eth_call alone, 32 at a time', 32, (index) => together(singles, 32, index)),
    await rateOf(`eth_call in batches of ${BATCH}, one at a time`, BATCH, (index) =>
      together(batches, 1, index),
    ),
    await rateOf(
      `eth_call in batches of ${BATCH}, ${FLIGHTS} at a time`,
      BATCH * FLIGHTS,
      (index) => together(batches, FLIGHTS, index),
    ),
  ];
  await pool.close();
  return baselines;
}
