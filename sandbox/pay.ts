import { formatUnits } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { PAYER, SELLER } from './accounts.js';
import { stockBuyerAs } from './buyer.js';
import { CALL_PRICE, tradeByChannel } from './channel-trade.js';
import { PERMIT2, sandboxClient } from './deploy.js';
import { smartWallet } from './smart-wallet.js';
import { readState } from './state.js';
import { approve, balanceOf, mint } from './tokens.js';
import { buyByV1 } from './v1.js';

/**
 * `npm run pay [report|permit2|sponsored|approval|upto|smart-wallet|v1]`: one purchase, with the stock client but for V1.
 * `npm run pay channel [CALLS]`: many calls by one channel, with the stock client, server and manager.
 */
const KINDS = [
  'report',
  'permit2',
  'sponsored',
  'approval',
  'upto',
  'smart-wallet',
  'v1',
  'channel [CALLS]',
];
const CALLS_MOST = 100_000;
const [resource = 'report', callsGiven = '1000'] = process.argv.slice(2);
const calls = Number(callsGiven);
const state = readState();
if (state === undefined) {
  console.error('No sandbox is running. Start one with: npm start');
  process.exit(1);
}
if (!KINDS.some((kind) => kind.split(' ')[0] === resource)) {
  console.error(`npm run pay [${KINDS.join(' | ')}]`);
  process.exit(1);
}
const isCount = Number.isInteger(calls) && calls >= 1 && calls <= CALLS_MOST;
if (resource === 'channel' && !isCount) {
  console.error(`CALLS is a number from 1 to ${CALLS_MOST}.`);
  process.exit(1);
}

const { rpcUrl, facilitatorUrl, usd, chainId } = state;
const client = sandboxClient(rpcUrl, PAYER.key);
const isCoin = resource === 'permit2' || resource === 'approval';
const token = isCoin ? state.coin : usd;
const symbol = isCoin ? 'SCOIN' : 'SUSD';
// A buyer of approvals owns nothing but the token.
const key = resource === 'approval' ? generatePrivateKey() : PAYER.key;

// A wallet that has an address, money, and no code before its first payment.
const wallet =
  resource === 'smart-wallet'
    ? await smartWallet(client, state.walletFactory, PAYER.key)
    : undefined;
const signer = wallet ?? privateKeyToAccount(key);
const account = signer.address;
if (account !== PAYER.address) await mint(client, token, account, 10n ** 18n);

async function balances(): Promise<string> {
  const [payer, payee] = await Promise.all(
    [account, SELLER.address].map(async (owner) =>
      formatUnits(await balanceOf(client, token, owner), 18),
    ),
  );
  return `payer ${payer} ${symbol}, payee ${payee} ${symbol}`;
}

async function sayWhatIsThere(when: 'before' | 'after'): Promise<void> {
  const isThere = await wallet?.isDeployed();
  console.log(
    `${when.padEnd(12)} wallet ${account} is ${isThere ? 'deployed' : 'not deployed yet'}`,
  );
}

if (resource === 'channel') {
  console.log(`before       ${await balances()}`);
  const isPaid = await payByChannel();
  console.log(`after        ${await balances()}`);
  process.exit(isPaid ? 0 : 1);
}

/** @returns whether all calls were paid, claimed and paid out. */
async function payByChannel(): Promise<boolean> {
  try {
    const { seconds, transactions, gasEach } = await tradeByChannel({
      facilitatorUrl,
      rpcUrl,
      client,
      network: `eip155:${chainId}`,
      usd,
      buyer: PAYER.key,
      seller: SELLER.key,
      calls,
      onPaid: (paid) => {
        if (paid === 1) console.log('opened       a channel that holds the price of all calls');
        if (paid % 250 === 0) console.log(`paid         ${paid} of ${calls} calls`);
      },
    });
    const each = `${formatUnits(CALL_PRICE, 18)} SUSD each`;
    const rate = (calls / seconds).toFixed(1);
    console.log(`calls        ${calls} in ${seconds.toFixed(1)} s, ${rate} a second, ${each}`);
    for (const { what, hash, gas } of transactions) {
      console.log(`${what.padEnd(12)} ${hash}  ${gas} gas`);
    }
    console.log(`gas          ${gasEach.toFixed(1)} for each paid call`);
    return true;
  } catch (error) {
    console.log(`refused      ${error instanceof Error ? error.message : String(error)}`);
    return false;
  }
}

// A plain token needs one approval of Permit2 by its owner, once.
if (resource === 'permit2') await approve(client, token, PERMIT2, 10n ** 24n);

const path = { 'smart-wallet': 'report', v1: 'v1/report' }[resource] ?? resource;
const url = `${state.sellerUrl}/${path}`;
if (wallet !== undefined) await sayWhatIsThere('before');
console.log(`before       ${await balances()}`);
const begun = performance.now();
const purchase =
  resource === 'v1' ? await buyByV1(url, PAYER.key) : await stockBuyerAs(signer, rpcUrl).buy(url);
const seconds = ((performance.now() - begun) / 1000).toFixed(2);
console.log(`GET ${url} -> ${purchase.status} in ${seconds} s`);
console.log(`content      ${purchase.body}`);
if (purchase.receipt?.amount !== undefined) {
  console.log(`charged      ${formatUnits(BigInt(purchase.receipt.amount), 18)} ${symbol}`);
}
const { transaction = '' } = purchase.receipt ?? {};
console.log(`transaction  ${transaction === '' ? 'none' : transaction}`);
if (purchase.refusal !== undefined) console.log(`refused      ${purchase.refusal}`);
console.log(`after        ${await balances()}`);
if (wallet !== undefined) await sayWhatIsThere('after');
process.exit(purchase.status === 200 ? 0 : 1);
