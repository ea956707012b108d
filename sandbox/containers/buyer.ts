/** Buys one report in the sandbox's shop with the stock client; ends with 0 when it was paid and delivered. */
import { PAYER } from '../accounts.js';
import { stockBuyer } from '../buyer.js';
import { required } from './deployment.js';

const url = `${required('SELLER_URL')}/report`;
const purchase = await stockBuyer(PAYER.key, required('RPC_URL')).buy(url);
console.log(`GET ${url} -> ${purchase.status}`);
console.log(`content      ${purchase.body}`);
console.log(`transaction  ${purchase.receipt?.transaction ?? 'none'}`);
process.exit(purchase.status === 200 && purchase.receipt?.success === true ? 0 : 1);
