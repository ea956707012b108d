import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { type SmartWallet, smartWallet } from '../../sandbox/smart-wallet.js';
import { newAccount } from '../support/payments.js';
import { signed, WalletWorld } from './wallet-world.js';

describe('an owner that is a smart wallet', () => {
  let wallets: WalletWorld;

  beforeAll(async () => {
    wallets = await WalletWorld.start(({ chainId }) =>
      Promise.resolve({ WALLET_CONTRACT_OWNERS: `eip155:${chainId}` }),
    );
  });
  afterAll(() => wallets.stop());

  const walletOf = (key = generatePrivateKey()): Promise<SmartWallet> =>
    smartWallet(wallets.world.client, wallets.world.walletFactory, key);
  const messageFor = async (address: string): Promise<string> =>
    String((await wallets.post('/v1/login/nonce', { address })).body['message']);
  const login = async ({ address, signMessage }: SmartWallet) => {
    const message = await messageFor(address);
    return wallets.post('/v1/login', { address, message, signature: await signMessage(message) });
  };
  /** Makes the wallet, as its first transaction would. */
  const deploy = async (key: `0x${string}`): Promise<void> => {
    const { client, walletFactory } = wallets.world;
    const hash = await client.writeContract({
      chain: null,
      address: walletFactory,
      abi: [
        {
          type: 'function',
          name: 'createAccount',
          stateMutability: 'nonpayable',
          inputs: [
            { name: 'owner', type: 'address' },
            { name: 'salt', type: 'uint256' },
          ],
          outputs: [{ name: '', type: 'address' }],
        },
      ] as const,
      functionName: 'createAccount',
      args: [privateKeyToAccount(key).address, 0n],
    });
    await client.waitForTransactionReceipt({ hash });
  };

  it('signs in before it is there, and after', async () => {
    const key = generatePrivateKey();
    const wallet = await walletOf(key);
    expect(await wallet.isDeployed()).toBe(false);
    const first = await login(wallet);
    expect(first.status).toBe(200);
    // Being asked has made nothing.
    expect(await wallet.isDeployed()).toBe(false);
    await deploy(key);
    const second = await login(wallet);
    expect(second.status).toBe(200);
    const owners = [first, second].map(({ body }) =>
      wallets.send('GET', '/v1/wallets/me', String(body['token'])),
    );
    const [one, other] = await Promise.all(owners);
    expect(one?.body).toMatchObject({ owner: wallet.address.toLowerCase() });
    expect(other?.body).toEqual(one?.body);
  });

  it('lets an agent in', async () => {
    const wallet = await walletOf();
    const { address } = wallet;
    const { body } = await wallets.post('/v1/init', 'true');
    const code = String(body['user_code']);
    const asked = await wallets.post('/v1/approve/nonce', { code, address });
    const message = String(asked.body['message']);
    const approval = { code, address, message, signature: await wallet.signMessage(message) };
    expect((await wallets.post('/v1/approve', approval)).status).toBe(200);
    const collected = await wallets.post('/v1/status', { code: body['code'] });
    const agent = String(collected.body['token']);
    expect((await wallets.send('GET', '/v1/wallets/me', agent)).body).toMatchObject({
      owner: address.toLowerCase(),
    });
  });

  it('is nobody else: not by another key, another message or a second time', async () => {
    const key = generatePrivateKey();
    const wallet = await walletOf(key);
    await deploy(key);
    const { address } = wallet;
    const message = await messageFor(address);
    const signature = await wallet.signMessage(message);
    const stranger = await newAccount().signMessage({ message });
    const other = await messageFor(address);
    for (const sent of [
      { address, message, signature: stranger },
      { address, message: other, signature },
      { address, message: `${message} `, signature },
      { address: newAccount().address, message, signature },
      { address, message, signature: '0x' },
    ]) {
      expect((await wallets.post('/v1/login', sent)).status).toBe(401);
    }
    expect((await wallets.post('/v1/login', { address, message, signature })).status).toBe(200);
    expect((await wallets.post('/v1/login', { address, message, signature })).status).toBe(401);
  });

  it('is not made by a factory of whoever asks', async () => {
    const victim = newAccount();
    const wallet = await walletOf();
    const message = await messageFor(victim.address);
    // The wrapper makes a wallet, and not at the address it is to be.
    const signature = await wallet.signMessage(message);
    const { status } = await wallets.post('/v1/login', {
      address: victim.address,
      message,
      signature,
    });
    expect(status).toBe(401);
  });

  it('leaves owners with a key as they are', async () => {
    const owner = newAccount();
    const message = await messageFor(owner.address);
    expect(message).toContain(`\nChain ID: ${wallets.world.chainId}\n`);
    expect((await wallets.post('/v1/login', await signed(owner, message))).status).toBe(200);
  });
});

describe('a smart wallet where contracts are no owners', () => {
  let wallets: WalletWorld;

  beforeAll(async () => {
    wallets = await WalletWorld.start();
  });
  afterAll(() => wallets.stop());

  it('is refused', async () => {
    const { client, walletFactory } = wallets.world;
    const { address, signMessage } = await smartWallet(client, walletFactory, generatePrivateKey());
    const asked = await wallets.post('/v1/login/nonce', { address });
    const message = String(asked.body['message']);
    const signature = await signMessage(message);
    expect((await wallets.post('/v1/login', { address, message, signature })).status).toBe(401);
  });
});
