import { formatUnits } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { PAYER, SELLER } from './accounts.js';
import { stockBuyerAs } from './buyer.js';
import { PERMIT2, sandboxClient } from './deploy.js';
import { smartWallet } from './smart-wallet.js';
import { readState } from './state.js';
import { approve, balanceOf, mint } from './tokens.js';
import { buyByV1 } from './v1.js';

/** `npm run pay [report|permit2|sponsored|approval|upto|smart-wallet|v1]`: one purchase, with the stock client but for V1. */
const resource = process.argv[2] ?? 'report';
const state = readState();
if (state === undefined) {
  console.error('No sandbox is running. Start one with: npm start');
  process.exit(1);
}
if (
  !['report', 'permit2', 'sponsored', 'approval', 'upto', 'smart-wallet', 'v1'].includes(resource)
) {
  console.error('npm run pay [report | permit2 | sponsored | approval | upto | smart-wallet | v1]');
  process.exit(1);
}

const client = sandboxClient(state.rpcUrl, PAYER.key);
const isCoin = resource === 'permit2' || resource === 'approval';
const token = isCoin ? state.coin : state.usd;
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

// A plain token needs one approval of Permit2 by its owner, once.
if (resource === 'permit2') await approve(client, token, PERMIT2, 10n ** 24n);

const path = { 'smart-wallet': 'report', v1: 'v1/report' }[resource] ?? resource;
const url = `${state.sellerUrl}/${path}`;
if (wallet !== undefined) await sayWhatIsThere('before');
console.log(`before       ${await balances()}`);
const begun = performance.now();
const purchase =
  resource === 'v1'
    ? await buyByV1(url, PAYER.key)
    : await stockBuyerAs(signer, state.rpcUrl).buy(url);
const seconds = ((performance.now() - begun) / 1000).toFixed(2);
console.log(`GET ${url} -> ${purchase.status} in ${seconds} s`);
console.log(`content      ${purchase.body}`);
if (purchase.receipt?.amount !== undefined) {
  console.log(`charged      ${formatUnits(BigInt(purchase.receipt.amount), 18)} ${symbol}`);
}
const { transaction = '' } = purchase.receipt ?? {};
console.log(`transaction  ${transaction === '' ? 'none' : transaction}`);
if (purchase.receipt?.success === false) {
  const { errorReason, errorMessage } = purchase.receipt;
  console.log(`refused      ${errorReason ?? 'without a reason'}: ${errorMessage ?? ''}`);
}
console.log(`after        ${await balances()}`);
if (wallet !== undefined) await sayWhatIsThere('after');
process.exit(purchase.status === 200 ? 0 : 1);
