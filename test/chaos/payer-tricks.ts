import type { Address, Hex } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import { authorizationOf } from '../differential/cases.js';
import { cancellationData } from '../support/cancellation.js';
import { type Body, newAccount } from '../support/payments.js';
import { presentationData, transferData } from '../support/token-calls.js';
import type { World } from '../support/world.js';
import { delay } from './client.js';

/** Actions of a payer, or of a watcher of the pool, while a payment is pending. */
export const PAYER_TRICKS = [
  'cancels',
  'spends',
  /** And is rich again a moment later. */
  'spends_for_a_while',
  /** By an account that also asks the service for the sale. */
  'is_copied',
  'gains_code',
  /** Signs two authorizations of one nonce, for two payees. */
  'equivocates',
  /** Sends one header twice, and the seller charges each its own amount. */
  'is_charged_twice',
] as const;
/** The last is played in the place of another and never drawn; see `makeDeal`. */
export type PayerTrick = (typeof PAYER_TRICKS)[number] | 'gains_code_for_a_while';

/** Ahead of everything a facilitator would offer. */
const FIRST_IN_LINE = 10n ** 11n;
/** Loops until the gas is gone. */
const GAS_BURNER: Hex = '0x5b600056';
/** Without the money, or with code. Longer than a block that is replaced lives. */
const UNABLE_FOR_MS = 1200;

export async function commit(
  trick: PayerTrick,
  world: World,
  body: Body,
  payer: PrivateKeyAccount,
): Promise<void> {
  switch (trick) {
    case 'cancels':
      return cancel(world, body, payer);
    case 'spends':
      await spend(world, payer);
      return;
    case 'spends_for_a_while': {
      const balance = await spend(world, payer);
      await delay(UNABLE_FOR_MS);
      return giveBack(world, payer, balance);
    }
    case 'is_copied':
      return copy(world, body);
    case 'gains_code':
      return setCode(world, payer, GAS_BURNER);
    case 'gains_code_for_a_while':
      await setCode(world, payer, GAS_BURNER);
      for (let times = 0; times < 2; times += 1) {
        // A block that is replaced in between brings the code back: then once more.
        await delay(UNABLE_FOR_MS);
        await setCode(world, payer, '0x');
      }
      return;
    case 'equivocates':
    case 'is_charged_twice':
      // Done when the payments were signed.
      return;
  }
}

function setCode({ client }: World, { address }: PrivateKeyAccount, bytecode: Hex): Promise<void> {
  return client.setCode({ address, bytecode });
}

async function cancel(world: World, body: Body, payer: PrivateKeyAccount): Promise<void> {
  const { nonce } = authorizationOf(body) as { nonce: Hex };
  const data = await cancellationData(payer, world.chainId, world.usd, nonce);
  await sendAs(world, newAccount().address, { to: world.usd, data });
}

/** Anybody may hold what the payer has not: it comes back from there. */
const PURSE = newAccount().address;

async function spend(world: World, payer: PrivateKeyAccount): Promise<bigint> {
  const balance = await world.balance(world.usd, payer.address);
  await sendAs(world, payer.address, { to: world.usd, data: transferData(PURSE, balance) });
  return balance;
}

function giveBack(world: World, payer: PrivateKeyAccount, balance: bigint): Promise<void> {
  const data = transferData(payer.address, balance);
  return sendAs(world, PURSE, { to: world.usd, data });
}

function copy(world: World, body: Body): Promise<void> {
  return sendAs(world, newAccount().address, { to: world.usd, data: presentationData(body) });
}

/** A block that is taken back takes the gas balance with it: then once more. */
export async function sendAs(
  world: World,
  from: Address,
  call: { readonly to: Address; readonly data: Hex; readonly gas?: bigint },
  tries = 3,
): Promise<void> {
  const { client } = world;
  await client.setBalance({ address: from, value: 10n ** 18n });
  await client.impersonateAccount({ address: from });
  try {
    const price = { gas: 300_000n, gasPrice: FIRST_IN_LINE };
    await client.sendUnsignedTransaction({ from, ...price, ...call });
  } catch (error) {
    if (tries === 1) throw error;
    await sendAs(world, from, call, tries - 1);
  }
}
