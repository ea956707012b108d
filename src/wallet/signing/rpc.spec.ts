import { afterEach, describe, expect, it, jest } from '@jest/globals';
import type { ChainRegistry } from '../../platform/chain/chain-registry.js';
import type { Session } from '../session.js';
import type { ReplyStore } from './reply-store.js';
import { WalletRpc } from './rpc.js';
import type { WalletSigner } from './signer.js';

describe('a request to sign that is malformed', () => {
  const chains = { served: (chainId: number) => (chainId === 56 ? {} : undefined) };
  const rpc = new WalletRpc(
    {} as unknown as WalletSigner,
    {} as unknown as ReplyStore,
    chains as unknown as ChainRegistry,
  );
  const session = { wallet: { address: `0x${'11'.repeat(20)}` } } as unknown as Session;
  const caip2 = 'eip155:56';

  afterEach(() => {
    jest.restoreAllMocks();
  });

  it.each<[string, unknown, string]>([
    ['a list', [], 'body'],
    ['another method', { method: 'eth_sign' }, 'method'],
    ['no message', { method: 'personal_sign', params: {} }, 'params'],
    ['a long message', { method: 'personal_sign', params: ['x'.repeat(65_537)] }, 'params.message'],
    ['half a character', { method: 'personal_sign', params: ['a\ud800'] }, 'params.message'],
    ['no JSON', { method: 'eth_signTypedData_v4', params: ['', '{'] }, 'params.typed_data'],
    ['no typed data', { method: 'eth_signTypedData_v4', params: {} }, 'params.typed_data'],
    ['another network', { method: 'eth_sendTransaction', caip2: 'eip155:1' }, 'caip2'],
    ['no transaction', { method: 'eth_sendTransaction', caip2 }, 'params.transaction'],
    ['no address', { method: 'eth_getBalance', caip2, params: ['0x1'] }, 'params'],
    ['no call', { method: 'eth_call', caip2, params: {} }, 'params.transaction'],
  ])('names its place: %s', async (_, body, path) => {
    await expect(rpc.call(session, body, undefined)).rejects.toMatchObject({
      facts: { place: { path, expected: expect.any(String), got: expect.any(String) } },
    });
  });

  it('is refused before it is parsed where its typed data has too many values', async () => {
    const parsed = jest.spyOn(JSON, 'parse');
    const params = ['', `{"types":[${'{},'.repeat(50_000)}{}]}`];
    await expect(
      rpc.call(session, { method: 'eth_signTypedData_v4', params }, undefined),
    ).rejects.toThrow('with at most 32768 characters');
    expect(parsed.mock.calls.length).toBe(0);
  });
});

describe('a call that an agent wants run', () => {
  it('has no more gas than a transaction of it, and counts as its wallet’s', async () => {
    const ran: unknown[] = [];
    const view = {
      callChosenBy: (...asked: readonly unknown[]) => {
        ran.push(asked);
        return Promise.resolve({ status: 'returned', data: '0x2a' });
      },
    };
    const chain = { withView: (work: (one: typeof view) => unknown) => work(view) };
    const rpc = new WalletRpc(
      {} as unknown as WalletSigner,
      {} as unknown as ReplyStore,
      { served: () => chain } as unknown as ChainRegistry,
    );
    const address = `0x${'11'.repeat(20)}`;
    const session = { wallet: { address } } as unknown as Session;
    const transaction = { to: `0x${'22'.repeat(20)}`, data: '0x01' };
    const body = { method: 'eth_call', caip2: 'eip155:56', params: { transaction } };
    const answered = await rpc.call(session, body, undefined);
    expect(answered).toEqual({ method: 'eth_call', data: { result: '0x2a' } });
    expect(ran).toEqual([[address, transaction, 1_000_000n]]);
  });
});
