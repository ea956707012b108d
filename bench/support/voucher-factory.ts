import { createBatchSettlementEIP3009DepositPayload } from '@x402/evm/batch-settlement/client';
import { getAddress, type Hex, toHex, zeroHash } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { USD_NAME, USD_VERSION } from '../../sandbox/deploy.js';
import {
  type ChannelConfig,
  channelIdOf,
  voucherDigest,
} from '../../src/protocol/schemes/batch-settlement/channel.js';
import { runLoad, settleProblem } from './load.js';
import { bodyV2, type Payer, type PaymentFactory, sign } from './payment-factory.js';
import { CHAIN_ID } from './stage.js';

const CHANNELS = 64;
/** Atomic units that each channel holds: more than there are vouchers. */
const DEPOSIT = 10n ** 12n;
/** Seconds; the least that the escrow allows. */
const WITHDRAW_DELAY = 900;

interface Channel {
  readonly payer: Payer;
  readonly config: ChannelConfig;
  readonly id: Hex;
}

/** Channels that are open, and vouchers of them that were never seen before. */
export class VoucherFactory {
  #made = 0;

  private constructor(
    private readonly requirements: ReturnType<typeof requirementsOf>,
    private readonly channels: readonly Channel[],
  ) {}

  /**
   * Opens channels of several payers to one payee.
   *
   * @param url - of the facilitator that settles the deposits.
   * @throws Error when one was not settled.
   */
  static async open(factory: PaymentFactory, url: string): Promise<VoucherFactory> {
    const [payee = '0x'] = factory.payees;
    const requirements = requirementsOf(getAddress(payee), factory.tokenOf('eip3009'));
    const channels = factory.payers.slice(0, CHANNELS).map((payer) => {
      const config = configOf(payer, requirements);
      return { payer, config, id: channelIdOf(config, CHAIN_ID) };
    });
    const bodies = await Promise.all(
      channels.map(async ({ payer, config }) => {
        const { payload } = await createBatchSettlementEIP3009DepositPayload(
          privateKeyToAccount(toHex(payer.key)),
          2,
          requirements,
          config,
          DEPOSIT.toString(),
          requirements.amount,
        );
        return bodyV2(requirements, payload);
      }),
    );
    const deposits = { url, path: '/settle', concurrency: CHANNELS, bodies };
    const { failed, failures } = await runLoad({ ...deposits, problemOf: settleProblem });
    if (failed > 0) throw new Error(`channels were not opened: ${JSON.stringify(failures)}`);
    return new VoucherFactory(requirements, channels);
  }

  /** Bodies as the wire carries them: the total of each channel grows from voucher to voucher. */
  make(count: number): string[] {
    return Array.from({ length: count }, () => {
      const channel = this.channels[this.#made % this.channels.length];
      if (channel === undefined) throw new Error('a factory without channels');
      this.#made += 1;
      const maxClaimable = BigInt(this.#made);
      const digest = voucherDigest({ channelId: channel.id, maxClaimable }, CHAIN_ID);
      return bodyV2(this.requirements, {
        type: 'voucher',
        channelConfig: channel.config,
        voucher: {
          channelId: channel.id,
          maxClaimableAmount: maxClaimable.toString(),
          signature: sign(digest, channel.payer),
        },
      });
    });
  }
}

/** What a seller with an authorizer of its own asks for a call. */
function requirementsOf(payTo: Hex, asset: Hex) {
  return {
    scheme: 'batch-settlement',
    network: `eip155:${CHAIN_ID}`,
    amount: '1',
    asset,
    payTo,
    maxTimeoutSeconds: 300,
    extra: {
      receiverAuthorizer: payTo,
      withdrawDelay: WITHDRAW_DELAY,
      name: USD_NAME,
      version: USD_VERSION,
    },
  } as const;
}

/** A channel whose payer signs the vouchers itself. */
function configOf(
  { address }: Payer,
  { payTo, asset }: ReturnType<typeof requirementsOf>,
): ChannelConfig {
  const payer = getAddress(address);
  return {
    payer,
    payerAuthorizer: payer,
    receiver: payTo,
    receiverAuthorizer: payTo,
    token: asset,
    withdrawDelay: WITHDRAW_DELAY,
    salt: zeroHash,
  };
}
