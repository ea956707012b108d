import { type Hex, numberToHex } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import { mint } from '../../sandbox/tokens.js';
import { newAccount } from '../support/payments.js';
import type { World } from '../support/world.js';

/** A token whose code is not on anybody's side, and those who have some of it. */
export interface Hostile {
  readonly name: string;
  readonly address: Hex;
  readonly payers: readonly PrivateKeyAccount[];
}

/*
 * Small pieces of EVM code. A guard leaves one word on the stack: not zero, and the token misbehaves;
 * zero, and it is the sandbox's own token, by delegation.
 */
const NEVER = '6000';
const GUARDS: Readonly<Record<string, string>> = {
  always: '6001',
  /** GASPRICE: a transaction has one, a simulation need not. */
  'by price': '3a',
  /** GAS < 200 000: a transaction has a limit, a simulation need not. */
  'by gas': '62030d405a10',
  /** The balance of ORIGIN: who sends transactions has a gas balance. */
  'by caller': '3231',
};
/** From the place in the code where it stands. */
const MISBEHAVIOURS: Readonly<Record<string, (at: number) => string>> = {
  /** REVERT without data. */
  reverts: () => '60006000fd',
  /** An invalid instruction. */
  halts: () => 'fe',
  /** A loop that ends with the gas. */
  burns: (at) => `5b60${byte(at)}56`,
};
/** STOP: takes every call and does nothing, as a token with a fallback does. */
const TAKES_ALL: Hex = '0x00';

/** 20 000 turns of a loop, about half a million gas, and then honest. */
const DEAR = `614e205b600190038060035750${NEVER}`;

const PAYERS = 3;
const SUPPLY = 10n ** 24n;
const NAMED_SLOTS = 4;

export async function makeHostileTokens(world: World): Promise<readonly Hostile[]> {
  const payers = Array.from({ length: PAYERS }, () => newAccount());
  const tokens: Hostile[] = [];
  for (const [when, guard] of Object.entries(GUARDS)) {
    for (const [what, code] of Object.entries(MISBEHAVIOURS)) {
      const name = when === 'always' ? what : `${what} ${when}`;
      tokens.push(await place(world, name, codeOf(guard, code, world.usd), payers));
    }
  }
  tokens.push(await place(world, 'takes all', TAKES_ALL, payers));
  return tokens;
}

/** Half a million gas a transfer, and nothing wrong with it. */
export async function makeFatToken(
  world: World,
  payers: readonly PrivateKeyAccount[],
): Promise<Hex> {
  const { address } = await place(
    world,
    'fat',
    codeOf(DEAR, () => 'fe', world.usd),
    payers,
  );
  return address;
}

/** Behaves until everybody has money, with the state that gives the honest token its name. */
async function place(
  world: World,
  name: string,
  bytecode: Hex,
  payers: readonly PrivateKeyAccount[],
): Promise<Hostile> {
  const { client, usd } = world;
  const { address } = newAccount();
  await client.setCode({ address, bytecode: codeOf(NEVER, () => 'fe', usd) });
  for (let slot = 0; slot < NAMED_SLOTS; slot += 1) {
    const index = numberToHex(slot, { size: 32 });
    const value = await client.getStorageAt({ address: usd, slot: index });
    await client.setStorageAt({ address, index, value: value ?? numberToHex(0, { size: 32 }) });
  }
  for (const payer of payers) await mint(client, address, payer.address, SUPPLY);
  await client.setCode({ address, bytecode });
  return { name, address, payers };
}

function codeOf(guard: string, misbehaviour: (at: number) => string, honest: Hex): Hex {
  const delegation = [
    '366000600037', // CALLDATACOPY of everything
    '6000600036600073',
    honest.slice(2),
    '5af4', // DELEGATECALL
    '3d600060003e', // RETURNDATACOPY of everything
  ].join('');
  const success = lengthOf(guard) + 3 + lengthOf(delegation) + 3 + 4;
  const bad = success + 5;
  return `0x${[
    guard,
    `60${byte(bad)}57`,
    delegation,
    `60${byte(success)}57`,
    '3d6000fd', // REVERT with what came back
    '5b3d6000f3', // RETURN it
    '5b',
    misbehaviour(bad + 1),
  ].join('')}`;
}

const byte = (value: number): string => value.toString(16).padStart(2, '0');
const lengthOf = (code: string): number => code.length / 2;
