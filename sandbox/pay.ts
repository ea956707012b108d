import { type Address, formatUnits, type Hex } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { PAYER, SELLER } from './accounts.js';
import { stockBuyer } from './buyer.js';
import { PERMIT2, sandboxClient } from './deploy.js';
import { readState } from './state.js';
import { approve, balanceOf, mint } from './tokens.js';
import { buyByV1 } from './v1.js';

/** `npm run pay [report|permit2|sponsored|approval|upto|v1]`: one purchase, with the stock client but for V1. */
const resource = process.argv[2] ?? 'report';
const state = readState();
if (state === undefined) {
  console.error('No sandbox is running. Start one with: npm start');
  process.exit(1);
}
if (!['report', 'permit2', 'sponsored', 'approval', 'upto', 'v1'].includes(resource)) {
  console.error('npm run pay [report | permit2 | sponsored | approval | upto | v1]');
  process.exit(1);
}

const client = sandboxClient(state.rpcUrl, PAYER.key);
const isCoin = resource === 'permit2' || resource === 'approval';
const token = isCoin ? state.coin : state.usd;
const symbol = isCoin ? 'SCOIN' : 'SUSD';
// One that owns nothing but the token.
const buyer = resource === 'approval' ? newcomer() : PAYER;

function newcomer(): { readonly key: Hex; readonly address: Address } {
  const key = generatePrivateKey();
  return { key, address: privateKeyToAccount(key).address };
}

async function balances(): Promise<string> {
  const [payer, payee] = await Promise.all(
    [buyer.address, SELLER.address].map(async (owner) =>
      formatUnits(await balanceOf(client, token, owner), 18),
    ),
  );
  return `payer ${payer} ${symbol}, payee ${payee} ${symbol}`;
}

// A plain token needs one approval of Permit2 by its owner, once.
if (resource === 'permit2') await approve(client, token, PERMIT2, 10n ** 24n);

if (buyer !== PAYER) await mint(client, token, buyer.address, 10n ** 18n);

const url = `${state.sellerUrl}/${resource === 'v1' ? 'v1/report' : resource}`;
console.log(`before       ${await balances()}`);
const begun = performance.now();
const purchase =
  resource === 'v1'
    ? await buyByV1(url, PAYER.key)
    : await stockBuyer(buyer.key, state.rpcUrl).buy(url);
const seconds = ((performance.now() - begun) / 1000).toFixed(2);
console.log(`GET ${url} -> ${purchase.status} in ${seconds} s`);
console.log(`content      ${purchase.body}`);
if (purchase.receipt?.amount !== undefined) {
  console.log(`charged      ${formatUnits(BigInt(purchase.receipt.amount), 18)} ${symbol}`);
}
console.log(`transaction  ${purchase.receipt?.transaction ?? 'none'}`);
console.log(`after        ${await balances()}`);
process.exit(purchase.status === 200 ? 0 : 1);
