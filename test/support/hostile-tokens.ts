import { fileURLToPath } from 'node:url';
import { type Address, encodeFunctionData, type Hex } from 'viem';
import { type Artifacts, compileFolder } from '../../sandbox/compile.js';
import { artifactOf, deploy, type SandboxClient, sendNow } from '../../sandbox/deploy.js';

const CONTRACTS = fileURLToPath(new URL('../contracts', import.meta.url));

/** The moods of `MoodyToken`, in the order of its enum. */
const MOODS = [
  'honest',
  'reverts_all',
  'halts_all',
  'burns_all',
  'burns_uncapped',
  'burns_transfer',
  'burns_state',
  'reverts_state',
  'reverts_for_sender',
  'reverts_for_others',
  'reverts_below_gas',
  'reverts_at_price',
  'does_nothing',
  'does_nothing_for_sender',
  'does_nothing_at_price',
  'does_nothing_in_blocks',
  'pays_half',
  'returns_much',
] as const;

export type Mood = (typeof MOODS)[number];

/** What EIP-712 domain a moody token has. */
export const MOODY_NAME = 'Moody';

interface MoodyOptions {
  /** The sender that it tells from others; a lane's signer as a rule. */
  readonly watched?: Address;
  /** Gas it compares with, for moods that tell by gas. */
  readonly threshold?: bigint;
}

/** A token that burns what it is given from here on behaves under the cap of a settlement. */
const DEFAULT_THRESHOLD = 1_000_000n;

/** Puts a token of this mood on a chain; it can be changed later by {@link setMood}. */
export function deployMoody(
  client: SandboxClient,
  mood: Mood,
  { watched = ZERO, threshold = DEFAULT_THRESHOLD }: MoodyOptions = {},
  artifacts: Artifacts = compileFolder(CONTRACTS),
): Promise<Address> {
  const artifact = artifactOf(artifacts, 'MoodyToken');
  return deploy(client, artifact, [MOODS.indexOf(mood), watched, threshold]);
}

/** An asset that takes any call and does nothing. */
export function deployWrappedLike(
  client: SandboxClient,
  artifacts: Artifacts = compileFolder(CONTRACTS),
): Promise<Address> {
  return deploy(client, artifactOf(artifacts, 'WrappedLikeToken'), []);
}

/** Changes what a token does from the next block on. */
export async function setMood(client: SandboxClient, token: Address, mood: Mood): Promise<void> {
  await send(client, token, 'setMood', [MOODS.indexOf(mood)]);
}

/** The same, mined with the next block and before what waits in the pool. */
export async function setMoodFirst(
  client: SandboxClient,
  token: Address,
  mood: Mood,
): Promise<void> {
  await client.sendTransaction({
    chain: null,
    to: token,
    gas: 100_000n,
    maxFeePerGas: HIGHEST_PRICE,
    maxPriorityFeePerGas: HIGHEST_PRICE,
    data: dataOf('setMood', [MOODS.indexOf(mood)]),
  });
}

/** Wei. */
const HIGHEST_PRICE = 10n ** 12n;

async function send(
  client: SandboxClient,
  token: Address,
  functionName: string,
  args: readonly unknown[],
): Promise<void> {
  await sendNow(client, { to: token, data: dataOf(functionName, args) });
}

function dataOf(functionName: string, args: readonly unknown[]): Hex {
  const { abi } = artifactOf(compileFolder(CONTRACTS), 'MoodyToken');
  return encodeFunctionData({ abi, functionName, args });
}

const ZERO: Address = '0x0000000000000000000000000000000000000000';
