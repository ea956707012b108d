import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  type Abi,
  type Address,
  BaseError,
  concat,
  ContractFunctionRevertedError,
  encodeAbiParameters,
  encodeFunctionData,
  getAddress,
  hashTypedData,
  type Hex,
  hexToBytes,
  keccak256,
  maxUint128,
  parseAbiParameters,
  parseEventLogs,
  parseSignature,
  serializeSignature,
  toEventSelector,
  toFunctionSelector,
  toHex,
  zeroAddress,
} from 'viem';
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import { sandboxAccount } from '../../sandbox/accounts.js';
import { type Anvil, startAnvil } from '../../sandbox/anvil.js';
import { type Artifacts, compileFolder } from '../../sandbox/compile.js';
import {
  artifactOf,
  BATCH_SETTLEMENT,
  CONTRACTS,
  deploy,
  type Deployment,
  deploySandbox,
  ERC3009_COLLECTOR,
  PERMIT2,
  PERMIT2_COLLECTOR,
  type SandboxClient,
  sandboxClient,
  sendNow,
} from '../../sandbox/deploy.js';
import { freePort } from '../../sandbox/processes.js';
import { approve, balanceOf, mint } from '../../sandbox/tokens.js';
import {
  type ChannelConfig,
  Channels,
  type Claim,
  eip3009Deposit,
  ESCROW_ABI,
  permit2Deposit,
} from '../support/channels.js';
import { newNonce } from '../support/payments.js';

/** Selectors, by name. */
const FUNCTIONS: Readonly<Record<string, Hex>> = {
  deposit: '0x140f1e75',
  claim: '0x29237b0c',
  claimWithSignature: '0xe43ce1f2',
  settle: '0x9db32a8f',
  refund: '0xdce4bfae',
  refundWithSignature: '0xb77433e9',
  initiateWithdraw: '0xcf5cf3dc',
  finalizeWithdraw: '0xe88377b1',
  multicall: '0xac9650d8',
  channels: '0x7a7ebd7b',
  pendingWithdrawals: '0xb7f06ebe',
  refundNonce: '0xf0dc792e',
  receivers: '0x21ff6389',
  getChannelId: '0x5e5e0b87',
  getVoucherDigest: '0x862bb199',
  getRefundDigest: '0xe25cf189',
  getClaimBatchDigest: '0x488ccc3b',
};

const EVENTS: Readonly<Record<string, Hex>> = {
  ChannelCreated: '0x69d8248d5566bdb2ebc4d218970710d8378a2ff9b709a999e052b71970f808fa',
  ChannelClosed: '0x8d5942f197f362dfd44dfdc1b0b7a9721c9151b67f55817c83349271d3c08d37',
  Deposited: '0x6c2a09353b5e75e70d0b9778b80a413809bb235d46c211811c474b3346791d89',
  Claimed: '0x36bd546bb573e8921fdbfd934bbed62d872796b01792cd240cce27f79dd3eddd',
  Settled: '0x7337b4386b690fdb8ba66905b92b9d45d33bc6626ee2620c905fb150ec0cc47d',
  Refunded: '0xa84286cf8ebc7903a663c77c8d99aa92b600d4c2fcca872a5d4a663db4eb394b',
  WithdrawInitiated: '0xe4280d0d903c7f258f62b07c62f262377cbaa23f7791d78126e6446e0f0e3c23',
  WithdrawFinalized: '0x546ce1e2242cd930c196bd08b894443562d709b4fffe4f028a75a6d233efc6e3',
};

const ERRORS: Readonly<Record<string, Hex>> = {
  InvalidChannel: '0xea3a9a39',
  ZeroDeposit: '0x56316e87',
  DepositOverflow: '0x1132981b',
  InvalidSignature: '0x8baa579f',
  NotReceiverAuthorizer: '0xf5e2237d',
  NotAuthorizedToClaim: '0xdefb7069',
  NotAuthorizedToRefund: '0x7864f008',
  ClaimExceedsCeiling: '0xf1789775',
  ClaimExceedsBalance: '0x7d8242b6',
  WithdrawDelayOutOfRange: '0x4574fab6',
  EmptyBatch: '0xc2e5347d',
  DepositCollectionFailed: '0xeb43592c',
  InvalidCollector: '0x18b1afd4',
  InvalidRefundNonce: '0x164f1afe',
  ZeroRefund: '0xd758525c',
  ECDSAInvalidSignature: '0xf645eedf',
  ReentrancyGuardReentrantCall: '0x3ee5aeb5',
};

const TYPE_HASHES: Readonly<Record<string, Hex>> = {
  CHANNEL_CONFIG_TYPEHASH: '0x1c9a06ceab9b0ebbd3301dc56c9111bb6d9af421356dc9ccb3b7084c755db308',
  VOUCHER_TYPEHASH: '0x1e1bd6ff84c3e0d9029a292b212e039c0ca97ec497c55191a4a5874294609a69',
  REFUND_TYPEHASH: '0xbe23ad087435072cd69b49cc5b92de10ee610fce7ae0ab428307972d764bb216',
  CLAIM_ENTRY_TYPEHASH: '0x30b9a0367528fca13c3e8ec6134c3113f1887ebe7a1ad61de0955aac288b0cf5',
  CLAIM_BATCH_TYPEHASH: '0x42bd57c010b870c2e96203c66341f28a6a19b4d56a74533a8eb5f706b9fd6d57',
};

const DELAY = 900;
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

describe("the sandbox's escrow of batch-settlement", () => {
  let chain: Anvil;
  let client: SandboxClient;
  let deployment: Deployment;
  let artifacts: Artifacts;
  let abi: Abi;
  let channels: Channels;
  let freeCollector: Address;
  const [payer, receiver, authorizer, stranger] = [1, 2, 3, 5].map((index) =>
    privateKeyToAccount(sandboxAccount(index).key),
  ) as [PrivateKeyAccount, PrivateKeyAccount, PrivateKeyAccount, PrivateKeyAccount];
  let config: ChannelConfig;

  beforeAll(async () => {
    chain = await startAnvil({ port: await freePort(), chainId: 31_337 });
    artifacts = compileFolder(CONTRACTS);
    const { usd, coin, walletFactory } = await deploySandbox(chain.url, artifacts);
    // As events carry them.
    deployment = { usd: getAddress(usd), coin: getAddress(coin), walletFactory };
    client = sandboxClient(chain.url);
    abi = artifactOf(artifacts, 'SandboxBatchSettlement').abi;
    channels = new Channels(chain.chainId);
    const tests = compileFolder(fileURLToPath(new URL('../contracts', import.meta.url)));
    freeCollector = await deploy(client, artifactOf(tests, 'FreeCollector'));
    for (const token of [deployment.usd, deployment.coin]) {
      await mint(client, token, payer.address, 10n ** 24n);
      await approve(sandboxClient(chain.url, sandboxAccount(1).key), token, PERMIT2, 2n ** 255n);
    }
  });
  afterAll(() => chain.stop('SIGKILL'));
  beforeEach(() => {
    config = aConfig();
  });

  const aConfig = (more: Partial<ChannelConfig> = {}): ChannelConfig => ({
    payer: payer.address,
    payerAuthorizer: payer.address,
    receiver: receiver.address,
    receiverAuthorizer: authorizer.address,
    token: deployment.usd,
    withdrawDelay: DELAY,
    salt: newNonce(),
    ...more,
  });

  /** Sends a call of the escrow, and returns what it emitted; a revert throws. */
  async function does(account: PrivateKeyAccount, functionName: string, args: readonly unknown[]) {
    const data = encodeFunctionData({ abi, functionName, args });
    const hash = await client.sendTransaction({ account, chain: null, to: BATCH_SETTLEMENT, data });
    const receipt = await client.waitForTransactionReceipt({ hash });
    if (receipt.status !== 'success') throw new Error(`${functionName} reverted`);
    const logs = receipt.logs.filter(
      ({ address }) => address.toLowerCase() === BATCH_SETTLEMENT.toLowerCase(),
    );
    return parseEventLogs({ abi: ESCROW_ABI, logs }).map(({ eventName, args: values }) => ({
      event: eventName,
      ...values,
    }));
  }

  /** The name of the error that a call ends in. */
  async function errorOf(
    account: PrivateKeyAccount,
    functionName: string,
    args: readonly unknown[],
  ): Promise<string | undefined> {
    try {
      await client.simulateContract({
        account,
        address: BATCH_SETTLEMENT,
        abi,
        functionName,
        args,
      });
    } catch (error) {
      const reverted =
        error instanceof BaseError &&
        error.walk((one) => one instanceof ContractFunctionRevertedError);
      if (!(reverted instanceof ContractFunctionRevertedError)) throw error;
      return reverted.data?.errorName === 'Error'
        ? reverted.reason
        : (reverted.data?.errorName ?? reverted.signature);
    }
    return undefined;
  }

  const escrow = { address: BATCH_SETTLEMENT, abi: ESCROW_ABI } as const;
  const channelOf = (of: ChannelConfig) =>
    client.readContract({ ...escrow, functionName: 'channels', args: [channels.idOf(of)] });
  const nonceOf = (of: ChannelConfig) =>
    client.readContract({ ...escrow, functionName: 'refundNonce', args: [channels.idOf(of)] });
  const pendingOf = (of: ChannelConfig) =>
    client.readContract({
      ...escrow,
      functionName: 'pendingWithdrawals',
      args: [channels.idOf(of)],
    });
  const sumsOf = (of: ChannelConfig) =>
    client.readContract({ ...escrow, functionName: 'receivers', args: [of.receiver, of.token] });
  const balance = (owner: Address, token = deployment.usd) => balanceOf(client, token, owner);

  /** A channel with money in it. */
  async function opened(amount: bigint, more: Partial<ChannelConfig> = {}): Promise<ChannelConfig> {
    const made = aConfig(more);
    await does(stranger, 'deposit', await eip3009Deposit(channels, payer, made, amount));
    return made;
  }
  /** A call of `claimWithSignature`. */
  async function signedClaims(
    rows: readonly Claim[],
    signer = authorizer,
  ): Promise<readonly [readonly Claim[], Hex]> {
    return [rows, await signer.signTypedData(channels.claimBatch(rows))];
  }
  /** A call of `refundWithSignature`. */
  async function signedRefund(
    of: ChannelConfig,
    amount: bigint,
    nonce: bigint,
    signer = authorizer,
  ) {
    const signature = await signer.signTypedData(channels.refund(channels.idOf(of), nonce, amount));
    return [of, amount, nonce, signature] as const;
  }
  const free = (amount: bigint, inner: Hex = '0x'): Hex =>
    encodeAbiParameters(parseAbiParameters('uint256, bytes'), [amount, inner]);

  describe('its interface', () => {
    const selectors = (type: string, selectorOf: (item: never) => Hex): Record<string, Hex> =>
      Object.fromEntries(
        abi
          .filter((item) => item.type === type && 'name' in item)
          .map((item) => [(item as { name: string }).name, selectorOf(item as never)]),
      );

    it('has the functions, events and errors that are known of the canonical one', () => {
      expect(selectors('function', toFunctionSelector)).toMatchObject(FUNCTIONS);
      expect(selectors('event', toEventSelector)).toEqual(EVENTS);
      const errorSelector = (item: never): Hex =>
        toFunctionSelector({
          ...(item as object),
          type: 'function',
          outputs: [],
          stateMutability: 'view',
        } as never);
      expect(selectors('error', errorSelector)).toMatchObject(ERRORS);
    });

    it('hashes types, channels, vouchers, refunds and claims as they are signed', async () => {
      for (const [functionName, hash] of Object.entries(TYPE_HASHES)) {
        const read = await client.readContract({ address: BATCH_SETTLEMENT, abi, functionName });
        expect(`${functionName} ${String(read)}`).toBe(`${functionName} ${hash}`);
      }
      const channelId = channels.idOf(config);
      const read = (functionName: string, args: readonly unknown[]) =>
        client.readContract({ address: BATCH_SETTLEMENT, abi, functionName, args });
      expect(await read('getChannelId', [config])).toBe(channelId);
      expect(await read('getVoucherDigest', [channelId, 5n])).toBe(
        hashTypedData(channels.voucher(channelId, 5n)),
      );
      expect(await read('getRefundDigest', [channelId, 2n, 5n])).toBe(
        hashTypedData(channels.refund(channelId, 2n, 5n)),
      );
      const rows = [await channels.claim(payer, config, 3n, 4n)];
      expect(await read('getClaimBatchDigest', [rows])).toBe(
        hashTypedData(channels.claimBatch(rows)),
      );
      const unsigned = rows.map((row) => ({ ...row, signature: '0x' }));
      expect(await read('getClaimBatchDigest', [unsigned])).toBe(
        hashTypedData(channels.claimBatch(rows)),
      );
      expect(keccak256(toHex('DepositWitness(bytes32 channelId)'))).toBe(
        '0xba0000097e86dabe64178afe31109221193339a6861598f2133fcbdc92c84479',
      );
    });
  });

  describe('deposits', () => {
    it('opens a channel by EIP-3009 and tops it up, presented by a stranger', async () => {
      const channelId = channels.idOf(config);
      const before = await balance(BATCH_SETTLEMENT);
      const first = await does(
        stranger,
        'deposit',
        await eip3009Deposit(channels, payer, config, 100n),
      );
      expect(first).toEqual([
        { event: 'ChannelCreated', channelId, config },
        { event: 'Deposited', channelId, sender: stranger.address, amount: 100n, newBalance: 100n },
      ]);
      const second = await does(
        stranger,
        'deposit',
        await eip3009Deposit(channels, payer, config, 50n),
      );
      expect(second).toEqual([
        { event: 'Deposited', channelId, sender: stranger.address, amount: 50n, newBalance: 150n },
      ]);
      expect(await channelOf(config)).toEqual([150n, 0n]);
      expect((await balance(BATCH_SETTLEMENT)) - before).toBe(150n);
    });

    it('takes an EIP-3009 authorization once, and for the channel that its nonce names alone', async () => {
      const deposit = await eip3009Deposit(channels, payer, config, 100n);
      const [, amount, collector, data] = deposit;
      expect(await errorOf(stranger, 'deposit', [aConfig(), amount, collector, data])).toBe(
        'EIP3009: invalid signature',
      );
      await does(stranger, 'deposit', deposit);
      expect(await errorOf(stranger, 'deposit', deposit)).toBe(
        'EIP3009: authorization is used or canceled',
      );
    });

    it('opens a channel by Permit2, for the channel that its witness names alone', async () => {
      config = aConfig({ token: deployment.coin });
      const deposit = await permit2Deposit(channels, payer, config, 100n);
      const [, amount, collector, data] = deposit;
      const other = aConfig({ token: deployment.coin });
      expect(await errorOf(stranger, 'deposit', [other, amount, collector, data])).toBeDefined();
      await does(stranger, 'deposit', deposit);
      expect(await channelOf(config)).toEqual([100n, 0n]);
      expect(await errorOf(stranger, 'deposit', deposit)).toBeDefined();
    });

    it('presents an EIP-2612 permit with a Permit2 deposit, whose value is the amount', async () => {
      const poor = privateKeyToAccount(sandboxAccount(6).key);
      await mint(client, deployment.usd, poor.address, 1000n);
      config = aConfig({ payer: poor.address, payerAuthorizer: poor.address });
      const deadline = 2n ** 40n;
      const permit = async (value: bigint): Promise<Hex> => {
        const signature = await poor.signTypedData({
          domain: {
            name: 'Sandbox USD',
            version: '1',
            chainId: chain.chainId,
            verifyingContract: deployment.usd,
          },
          types: {
            Permit: [
              { name: 'owner', type: 'address' },
              { name: 'spender', type: 'address' },
              { name: 'value', type: 'uint256' },
              { name: 'nonce', type: 'uint256' },
              { name: 'deadline', type: 'uint256' },
            ],
          },
          primaryType: 'Permit',
          message: { owner: poor.address, spender: PERMIT2, value, nonce: 0n, deadline },
        });
        const { r, s, yParity } = parseSignature(signature);
        return encodeAbiParameters(
          parseAbiParameters('uint256, uint256, uint8, bytes32, bytes32'),
          [value, deadline, 27 + yParity, r, s],
        );
      };
      const without = await permit2Deposit(channels, poor, config, 100n);
      expect(await errorOf(stranger, 'deposit', without)).toBeDefined();
      const other = await permit2Deposit(channels, poor, config, 100n, await permit(99n));
      expect(await errorOf(stranger, 'deposit', other)).toBe('0x050cda49');
      const presented = await permit2Deposit(channels, poor, config, 100n, await permit(100n));
      await does(stranger, 'deposit', presented);
      expect(await channelOf(config)).toEqual([100n, 0n]);
    });

    it.each<[string, Partial<ChannelConfig>]>([
      ['InvalidChannel', { payer: zeroAddress }],
      ['InvalidChannel', { receiver: zeroAddress }],
      ['InvalidChannel', { receiverAuthorizer: zeroAddress }],
      ['InvalidChannel', { token: zeroAddress }],
      ['WithdrawDelayOutOfRange', { withdrawDelay: 899 }],
      ['WithdrawDelayOutOfRange', { withdrawDelay: 2_592_001 }],
    ])('refuses with %s a channel with %o', async (error, more) => {
      const made = aConfig(more);
      expect(await errorOf(stranger, 'deposit', [made, 1n, freeCollector, free(1n)])).toBe(error);
    });

    it('takes any collector, and refuses money that does not arrive whole', async () => {
      const asked = (amount: bigint, minted: bigint, inner?: Hex) =>
        errorOf(stranger, 'deposit', [config, amount, freeCollector, free(minted, inner)]);
      expect(await asked(0n, 0n)).toBe('ZeroDeposit');
      expect(await asked(100n, 99n)).toBe('DepositCollectionFailed');
      expect(await asked(100n, 101n)).toBe('DepositCollectionFailed');
      expect(await errorOf(stranger, 'deposit', [config, 1n, zeroAddress, '0x'])).toBe(
        'InvalidCollector',
      );
      const settle = encodeFunctionData({
        abi: ESCROW_ABI,
        functionName: 'settle',
        args: [receiver.address, deployment.usd],
      });
      expect(await asked(100n, 100n, settle)).toBe('ReentrancyGuardReentrantCall');
      await does(stranger, 'deposit', [config, 100n, freeCollector, free(100n)]);
      expect(await channelOf(config)).toEqual([100n, 0n]);
    });

    it('holds no more than 128 bits', async () => {
      config = aConfig({ token: deployment.coin });
      await does(stranger, 'deposit', [
        config,
        maxUint128 - 1n,
        freeCollector,
        free(maxUint128 - 1n),
      ]);
      expect(await errorOf(stranger, 'deposit', [config, 2n, freeCollector, free(2n)])).toBe(
        'DepositOverflow',
      );
      await does(stranger, 'deposit', [config, 1n, freeCollector, free(1n)]);
      expect(await channelOf(config)).toEqual([maxUint128, 0n]);
      const data = encodeFunctionData({
        abi,
        functionName: 'deposit',
        args: [config, 1n, freeCollector, '0x'],
      });
      const beyond = data.replace(
        '1'.padStart(64, '0'),
        toHex(maxUint128 + 1n, { size: 32 }).slice(2),
      ) as Hex;
      expect(beyond).not.toBe(data);
      await expect(client.call({ to: BATCH_SETTLEMENT, data: beyond })).rejects.toThrow('revert');
    });

    it('lets nobody but the escrow have a collector collect', async () => {
      for (const [name, address] of [
        ['SandboxErc3009Collector', ERC3009_COLLECTOR],
        ['SandboxPermit2Collector', PERMIT2_COLLECTOR],
      ] as const) {
        const { abi: itsAbi } = artifactOf(artifacts, name);
        const functionName = 'collect';
        const args = [payer.address, deployment.usd, 1n, newNonce(), '0x'];
        expect(encodeFunctionData({ abi: itsAbi, functionName, args }).slice(0, 10)).toBe(
          '0xe416d8d3',
        );
        await expect(
          client.simulateContract({ account: stranger, address, abi: itsAbi, functionName, args }),
        ).rejects.toThrow('OnlyX402BatchSettlement');
      }
    });
  });

  describe('claims', () => {
    it('claims by the receiver, and by its authorizer, and by no other', async () => {
      config = await opened(100n);
      const channelId = channels.idOf(config);
      const row = await channels.claim(payer, config, 30n, 40n);
      expect(await errorOf(stranger, 'claim', [[row]])).toBe('NotAuthorizedToClaim');
      expect(await errorOf(payer, 'claim', [[row]])).toBe('NotAuthorizedToClaim');
      expect(await does(receiver, 'claim', [[row]])).toEqual([
        {
          event: 'Claimed',
          channelId,
          sender: receiver.address,
          claimAmount: 30n,
          newTotalClaimed: 30n,
        },
      ]);
      expect(await does(authorizer, 'claim', [[{ ...row, totalClaimed: 40n }]])).toEqual([
        {
          event: 'Claimed',
          channelId,
          sender: authorizer.address,
          claimAmount: 10n,
          newTotalClaimed: 40n,
        },
      ]);
      // A claim leaves the balance as it is.
      expect(await channelOf(config)).toEqual([100n, 40n]);
    });

    it('claims for many channels by one signature, presented by a stranger', async () => {
      const made = [await opened(100n), await opened(200n), await opened(300n)];
      const [claimedBefore] = await sumsOf(config);
      const rows = await Promise.all(
        made.map((of, index) => channels.claim(payer, of, BigInt(10 * (index + 1)))),
      );
      const emitted = await does(stranger, 'claimWithSignature', await signedClaims(rows));
      expect(emitted.map(({ event }) => event)).toEqual(['Claimed', 'Claimed', 'Claimed']);
      expect(await Promise.all(made.map(channelOf))).toEqual([
        [100n, 10n],
        [200n, 20n],
        [300n, 30n],
      ]);
      expect((await sumsOf(config))[0] - claimedBefore).toBe(60n);
    });

    it('skips a row whose total is claimed already, whatever its voucher', async () => {
      const [old, fresh] = [await opened(100n), await opened(100n)];
      const first = await signedClaims([await channels.claim(payer, old, 50n)]);
      await does(stranger, 'claimWithSignature', first);
      expect(await does(stranger, 'claimWithSignature', first)).toEqual([]);
      const bad = { ...(await channels.claim(payer, old, 50n)), signature: '0x1234' as Hex };
      const rows = [bad, await channels.claim(payer, fresh, 7n)];
      const emitted = await does(stranger, 'claimWithSignature', await signedClaims(rows));
      expect(emitted).toMatchObject([{ channelId: channels.idOf(fresh), claimAmount: 7n }]);
    });

    it('reverts whole for one bad row', async () => {
      const [good, bad] = [await opened(100n), await opened(100n)];
      const first = await channels.claim(payer, good, 10n);
      const whole = async (row: Claim) =>
        errorOf(stranger, 'claimWithSignature', await signedClaims([first, row]));
      expect(await whole(await channels.claim(payer, bad, 11n, 10n))).toBe('ClaimExceedsCeiling');
      expect(await whole(await channels.claim(payer, bad, 101n))).toBe('ClaimExceedsBalance');
      expect(await whole(await channels.claim(stranger, bad, 10n))).toBe('InvalidSignature');
      const row = await channels.claim(payer, bad, 10n);
      expect(await whole({ ...row, signature: '0x1234' })).toBe('ECDSAInvalidSignatureLength');
      const { r, s, yParity } = parseSignature(row.signature);
      const highS = serializeSignature({
        r,
        s: toHex(ORDER - BigInt(s), { size: 32 }),
        yParity: yParity === 0 ? 1 : 0,
      });
      expect(await whole({ ...row, signature: highS })).toBe('ECDSAInvalidSignatureS');
      const zeroV = concat([r, s, toHex(yParity, { size: 1 })]);
      expect(await whole({ ...row, signature: zeroV })).toBe('ECDSAInvalidSignature');
      expect(await whole(row)).toBeUndefined();
    });

    it('wants the signature of the one authorizer of all rows', async () => {
      const [one, other] = [
        await opened(10n),
        await opened(10n, { receiverAuthorizer: stranger.address }),
      ];
      const row = await channels.claim(payer, one, 1n);
      expect(await errorOf(stranger, 'claimWithSignature', [[], '0x'])).toBe('EmptyBatch');
      const mixed = await signedClaims([row, await channels.claim(payer, other, 1n)]);
      expect(await errorOf(stranger, 'claimWithSignature', mixed)).toBe('NotReceiverAuthorizer');
      const forged = await signedClaims([row], receiver);
      expect(await errorOf(stranger, 'claimWithSignature', forged)).toBe('InvalidSignature');
    });

    it('asks the payer itself where no authorizer is named, a contract by ERC-1271', async () => {
      const own = await opened(10n, { payerAuthorizer: zeroAddress });
      await does(receiver, 'claim', [[await channels.claim(payer, own, 3n)]]);
      expect(await channelOf(own)).toEqual([10n, 3n]);

      const { walletFactory } = deployment;
      const factory = {
        address: walletFactory,
        abi: artifactOf(artifacts, 'SandboxWalletFactory').abi,
      };
      const args = [payer.address, 1n];
      const wallet = (await client.readContract({
        ...factory,
        functionName: 'addressOf',
        args,
      })) as Address;
      await sendNow(client, {
        to: walletFactory,
        data: encodeFunctionData({ abi: factory.abi, functionName: 'createAccount', args }),
      });
      const walletConfig = aConfig({ payer: wallet, payerAuthorizer: zeroAddress });
      await does(stranger, 'deposit', [walletConfig, 10n, freeCollector, free(10n)]);
      const forged = await channels.claim(stranger, walletConfig, 4n);
      expect(await errorOf(receiver, 'claim', [[forged]])).toBe('InvalidSignature');
      await does(receiver, 'claim', [[await channels.claim(payer, walletConfig, 4n)]]);
      expect(await channelOf(walletConfig)).toEqual([10n, 4n]);
    });
  });

  describe('settles', () => {
    it('pays the receiver what it has claimed, once, and says nothing where nothing is due', async () => {
      const token = deployment.coin;
      const made = aConfig({ token });
      await does(stranger, 'deposit', await permit2Deposit(channels, payer, made, 100n));
      await does(receiver, 'claim', [[await channels.claim(payer, made, 60n)]]);
      const before = await balance(receiver.address, token);
      expect(await does(stranger, 'settle', [receiver.address, token])).toEqual([
        {
          event: 'Settled',
          receiver: receiver.address,
          token,
          sender: stranger.address,
          amount: 60n,
        },
      ]);
      expect((await balance(receiver.address, token)) - before).toBe(60n);
      expect(await does(stranger, 'settle', [receiver.address, token])).toEqual([]);
      expect(await sumsOf(made)).toEqual([60n, 60n]);
      expect(await channelOf(made)).toEqual([100n, 60n]);
    });
  });

  describe('refunds', () => {
    it('gives back what is free and no more, by the nonce that is due', async () => {
      config = await opened(100n);
      const channelId = channels.idOf(config);
      await does(receiver, 'claim', [[await channels.claim(payer, config, 30n)]]);
      const before = await balance(payer.address);
      const first = await signedRefund(config, 20n, 0n);
      expect(await does(stranger, 'refundWithSignature', first)).toEqual([
        { event: 'Refunded', channelId, sender: stranger.address, amount: 20n },
      ]);
      expect(await errorOf(stranger, 'refundWithSignature', first)).toBe('InvalidRefundNonce');
      const forged = await signedRefund(config, 20n, 1n, receiver);
      expect(await errorOf(stranger, 'refundWithSignature', forged)).toBe('InvalidSignature');
      const none = await signedRefund(config, 0n, 1n);
      expect(await errorOf(stranger, 'refundWithSignature', none)).toBe('ZeroRefund');
      const capped = await does(
        stranger,
        'refundWithSignature',
        await signedRefund(config, 1000n, 1n),
      );
      expect(capped).toMatchObject([{ event: 'Refunded', amount: 50n }]);
      expect(await channelOf(config)).toEqual([30n, 30n]);
      expect((await balance(payer.address)) - before).toBe(70n);
      // Nothing is free: the nonce goes on, and nothing is emitted.
      expect(
        await does(stranger, 'refundWithSignature', await signedRefund(config, 1n, 2n)),
      ).toEqual([]);
      expect(await nonceOf(config)).toBe(3n);
    });

    it('closes a channel that nothing was claimed of, and a deposit opens it again', async () => {
      config = await opened(100n);
      const channelId = channels.idOf(config);
      expect(await errorOf(payer, 'refund', [config, 1n])).toBe('NotAuthorizedToRefund');
      expect(await does(receiver, 'refund', [config, 100n])).toEqual([
        { event: 'Refunded', channelId, sender: receiver.address, amount: 100n },
        { event: 'ChannelClosed', channelId, config },
      ]);
      const again = await does(
        stranger,
        'deposit',
        await eip3009Deposit(channels, payer, config, 5n),
      );
      expect(again.map(({ event }) => event)).toEqual(['ChannelCreated', 'Deposited']);
    });

    it('shrinks a withdrawal that is pending, and ends it where nothing is left', async () => {
      config = await opened(100n);
      await does(payer, 'initiateWithdraw', [config, 80n]);
      await does(receiver, 'refund', [config, 10n]);
      expect((await pendingOf(config))[0]).toBe(80n);
      await does(receiver, 'refund', [config, 50n]);
      expect((await pendingOf(config))[0]).toBe(40n);
      await does(receiver, 'refund', [config, 40n]);
      expect(await pendingOf(config)).toEqual([0n, 0]);
    });
  });

  describe('withdrawals', () => {
    it('gives the payer after the delay what was not claimed meanwhile', async () => {
      config = await opened(100n);
      const channelId = channels.idOf(config);
      expect(await errorOf(receiver, 'initiateWithdraw', [config, 1n])).toBe(
        'NotAuthorizedToWithdraw',
      );
      expect(await errorOf(payer, 'initiateWithdraw', [config, 101n])).toBe(
        'WithdrawalExceedsFreeBalance',
      );
      const [begun] = await does(payer, 'initiateWithdraw', [config, 100n]);
      expect(begun).toMatchObject({ event: 'WithdrawInitiated', channelId, amount: 100n });
      const [, initiatedAt] = await pendingOf(config);
      expect(begun).toMatchObject({ finalizeAfter: initiatedAt + DELAY });
      expect(await errorOf(payer, 'finalizeWithdraw', [config])).toBe('WithdrawalTooEarly');
      // A claim that lands first wins.
      await does(receiver, 'claim', [[await channels.claim(payer, config, 70n)]]);
      await client.increaseTime({ seconds: DELAY });
      await client.mine({ blocks: 1 });
      expect(await errorOf(stranger, 'finalizeWithdraw', [config])).toBe('NotAuthorizedToWithdraw');
      const before = await balance(payer.address);
      expect(await does(payer, 'finalizeWithdraw', [config])).toEqual([
        { event: 'WithdrawFinalized', channelId, sender: payer.address, amount: 30n },
      ]);
      expect((await balance(payer.address)) - before).toBe(30n);
      expect(await channelOf(config)).toEqual([70n, 70n]);
      expect(await errorOf(payer, 'finalizeWithdraw', [config])).toBe('NoWithdrawalPending');
    });
  });

  describe('several calls in one', () => {
    it('claims and refunds in one transaction, all or nothing', async () => {
      config = await opened(100n);
      const call = (functionName: string, args: readonly unknown[]): Hex =>
        encodeFunctionData({ abi, functionName, args });
      const claim = call(
        'claimWithSignature',
        await signedClaims([await channels.claim(payer, config, 40n)]),
      );
      const stale = call('refundWithSignature', await signedRefund(config, 60n, 1n));
      expect(await errorOf(stranger, 'multicall', [[claim, stale]])).toBe('InvalidRefundNonce');
      const refund = call('refundWithSignature', await signedRefund(config, 60n, 0n));
      const emitted = await does(stranger, 'multicall', [[claim, refund]]);
      // The sender is the one that called the escrow, and not the escrow itself.
      expect(emitted).toMatchObject([
        { event: 'Claimed', sender: stranger.address },
        { event: 'Refunded', sender: stranger.address, amount: 60n },
      ]);
      expect(await channelOf(config)).toEqual([40n, 40n]);
    });
  });

  describe('its gas', () => {
    /** Gas of a call beyond its base cost and its calldata. */
    async function gasOf(functionName: string, args: readonly unknown[]): Promise<number> {
      const data = encodeFunctionData({ abi, functionName, args });
      const { gasUsed } = await sendNow(client, { to: BATCH_SETTLEMENT, data });
      const calldata = hexToBytes(data).reduce((sum, byte) => sum + (byte === 0 ? 4 : 16), 0);
      return Number(gasUsed) - 21_000 - calldata;
    }

    // By the snapshots that come with the canonical contracts.
    it('is near that of the canonical one', async () => {
      const deposit = await eip3009Deposit(channels, payer, config, 100n);
      expect(Math.abs((await gasOf('deposit', deposit)) / 111_738 - 1)).toBeLessThan(0.15);
      const made: ChannelConfig[] = [];
      for (let count = 0; count < 10; count += 1) made.push(await opened(100n));
      const rows = await Promise.all(made.map((of) => channels.claim(payer, of, 10n)));
      const claimed = await gasOf('claimWithSignature', await signedClaims(rows));
      expect(Math.abs(claimed / 192_043 - 1)).toBeLessThan(0.15);
    });
  });
});
