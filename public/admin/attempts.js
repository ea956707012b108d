/** Columns of the transactions that lanes have sent. */

import { Transaction } from '../components/address.js';
import { duration, gwei } from '../components/format.js';
import { html } from '../components/html.js';

/** @param what - the column that says what an attempt is for. */
export const attemptColumns = (network, what) => [
  { name: 'Nonce', cell: ({ accountNonce }) => String(accountNonce), isNumber: true },
  {
    name: 'Transaction',
    cell: ({ transactions }) =>
      html`<${Transaction} value=${transactions.at(-1)} network=${network} isShort />`,
  },
  what,
  {
    name: 'Fee bumps',
    cell: ({ transactions }) => String(transactions.length - 1),
    isNumber: true,
  },
  { name: 'Highest fee', cell: ({ maxFeePerGasWei }) => gwei(maxFeePerGasWei), isNumber: true },
  { name: 'Age', cell: ({ ageMs }) => duration(ageMs), isNumber: true },
];
