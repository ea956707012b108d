import { encodeFunctionData, parseAbi } from 'viem';
import { sendNow } from '../../sandbox/deploy.js';
import { mint } from '../../sandbox/tokens.js';
import { post } from '../support/http.js';
import { eip3009Body, newAccount, newNonce, permit2Body } from '../support/payments.js';
import type { World } from '../support/world.js';
import type { Stage } from './cases.js';

/** Sets up the accounts, tokens and wallets of the cases. */
export async function setStage(world: World, v1Network: string): Promise<Stage> {
  const payer = await world.payer({ approves: true });
  const poorApproved = await world.payer({ balance: 1n, approves: true });
  const payTo = newAccount().address;
  const fickle = await world.deployTest('FickleToken');
  const setBlock = parseAbi(['function setRevertsFromBlock(uint256)']);
  await sendNow(world.client, {
    to: fickle,
    data: encodeFunctionData({ abi: setBlock, functionName: 'setRevertsFromBlock', args: [0n] }),
  });
  const glutton = await world.deployTest('GluttonToken');
  await mint(world.client, glutton, payer.address, 10n ** 24n);
  const wallet = await world.deployTest('OwnedWallet', [payer.address]);
  await world.fund(wallet, 10n ** 24n);
  const burningWallet = await world.deployTest('BurningWallet');
  await world.fund(burningWallet, 10n ** 24n);
  const delegated = await world.payer();
  await world.client.setCode({
    address: delegated.address,
    bytecode: `0xef0100${wallet.slice(2)}`,
  });

  const usedNonce = newNonce();
  const base = { payer, chainId: world.chainId, payTo };
  const used = await eip3009Body({ ...base, token: world.usd, nonce: usedNonce });
  const usedPermit2 = await permit2Body({ ...base, token: world.coin });
  // Used by a foreign transaction: the ledger must not know them.
  const other = await world.service({ REDIS_URL: `${world.redis.url}/5` });
  for (const body of [used, usedPermit2]) {
    const settled = await post(`${other.url}/settle`, body);
    if (settled.body['success'] !== true) throw new Error('a payment was not settled');
  }
  await other.stop();
  return {
    world,
    v1Network,
    payer,
    poor: await world.payer({ balance: 1n }),
    payTo,
    bare: await world.deployTest('BareToken'),
    fickle,
    glutton,
    wallet,
    burningWallet,
    factory: await world.deployTest('WalletFactory'),
    delegated,
    usedNonce,
    usedPermit2,
    poorApproved,
    unapproved: await world.payer(),
  };
}
