/**
 * Verifies and settles one payment with the types that were generated from the served description.
 * They are beside this file where it is checked and run: `node settle.js <url>`, the request on standard
 * input.
 */
import { readFileSync } from 'node:fs';
import createClient from 'openapi-fetch';
import type { components, paths } from './api.js';

const client = createClient<paths>({ baseUrl: process.argv[2] ?? '' });
const body = JSON.parse(readFileSync(0, 'utf8')) as components['schemas']['RequestV2'];

const verdict = await client.POST('/v2/verify', { body });
const answer = await client.POST('/v2/settle', {
  body,
  params: { header: { 'Idempotency-Key': 'order-of-a-test' } },
});
if (answer.data === undefined) throw new Error(answer.error?.errorReason);
const again = await client.POST('/v2/settle', { body });
const { transaction, success, extra } = answer.data;
const found = await client.GET('/v2/settlements/{id}', {
  params: { path: { id: extra?.settlementId ?? '' } },
});
const supported = await client.GET('/v2/supported');

// The types are what is tested: each of these lines fails to compile where one is not what it says.
const hash: string = transaction;
const reason: components['schemas']['Reason'] | undefined = again.data?.errorReason;
const state: components['schemas']['Settlement']['state'] | undefined = found.data?.state;
const call: components['schemas']['WalletCall'] = {
  method: 'eth_call',
  params: [{ to: '0x' }, 'latest'],
};
// @ts-expect-error a method that the wallet does not have
const other: components['schemas']['WalletCall'] = { method: 'eth_sign' };

console.log(
  JSON.stringify({
    networks: supported.data?.kinds.map(({ network }) => network),
    isValid: verdict.data?.isValid,
    success,
    transaction: hash,
    again: reason,
    state,
    params: call.params,
    other: other.method,
  }),
);
