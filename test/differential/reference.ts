import { x402Facilitator } from '@x402/core/facilitator';
import type { FacilitatorClient } from '@x402/core/server';
import type { PaymentPayload, PaymentRequirements, SupportedResponse } from '@x402/core/types';
import { toFacilitatorEvmSigner } from '@x402/evm';
import { BatchSettlementEvmScheme } from '@x402/evm/batch-settlement/facilitator';
import { ExactEvmScheme } from '@x402/evm/exact/facilitator';
import { ExactEvmSchemeV1 } from '@x402/evm/exact/v1/facilitator';
import { UptoEvmScheme } from '@x402/evm/upto/facilitator';
import { createWalletClient, type Hex, http, publicActions } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import type { Body } from '../support/payments.js';

/** What a facilitator says of a payment; `throws` is what the reference does with malformed input. */
export interface ReferenceAnswer {
  readonly verdict: 'valid' | 'invalid' | 'throws';
  readonly reason: string | undefined;
  readonly payer: string | undefined;
}

/** What a facilitator says it has settled; `throws` as above. */
export interface Settled {
  readonly verdict: 'success' | 'failure' | 'throws';
  readonly reason: string | undefined;
  readonly payer: string | undefined;
  /** Only where the scheme says it. */
  readonly amount: string | undefined;
  readonly hasTransaction: boolean;
}

/** The reference facilitator's own classes on the same chain. */
export class Reference {
  readonly #facilitator: x402Facilitator;

  /** @param factories - of wallets, which it may call. */
  constructor(
    rpcUrl: string,
    chainId: number,
    v1Network: string,
    key: Hex,
    factories: readonly Hex[] = [],
  ) {
    const account = privateKeyToAccount(key);
    const client = createWalletClient({
      account,
      pollingInterval: 50,
      transport: http(rpcUrl, { retryCount: 0 }),
      chain: {
        id: chainId,
        name: 'local',
        nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
        rpcUrls: { default: { http: [rpcUrl] } },
      },
    }).extend(publicActions);
    const signer = toFacilitatorEvmSigner({
      ...client,
      address: account.address,
    } as unknown as Parameters<typeof toFacilitatorEvmSigner>[0]);
    const eip6492AllowedFactories = [...factories];
    this.#facilitator = new x402Facilitator()
      .register(`eip155:${chainId}`, new ExactEvmScheme(signer, { eip6492AllowedFactories }))
      .register(`eip155:${chainId}`, new UptoEvmScheme(signer))
      .register(
        `eip155:${chainId}`,
        new BatchSettlementEvmScheme(signer, undefined, { eip6492AllowedFactories }),
      )
      .registerV1(
        v1Network as `${string}:${string}`,
        new ExactEvmSchemeV1(signer, { eip6492AllowedFactories }),
      );
  }

  /** As a stock seller asks it, without HTTP between. */
  get client(): FacilitatorClient {
    const facilitator = this.#facilitator;
    return {
      verify: (payload, requirements) => facilitator.verify(payload, requirements),
      settle: (payload, requirements) => facilitator.settle(payload, requirements),
      getSupported: () => Promise.resolve(facilitator.getSupported() as SupportedResponse),
    };
  }

  async settle({ paymentPayload, paymentRequirements }: Body): Promise<Settled> {
    try {
      const answer = await this.#facilitator.settle(
        paymentPayload as unknown as PaymentPayload,
        paymentRequirements as unknown as PaymentRequirements,
      );
      return {
        verdict: answer.success ? 'success' : 'failure',
        reason: answer.errorReason,
        payer: answer.payer,
        amount: answer.amount,
        hasTransaction: answer.transaction !== '',
      };
    } catch {
      const nothing = { reason: undefined, payer: undefined, amount: undefined };
      return { verdict: 'throws', ...nothing, hasTransaction: false };
    }
  }

  async verify({ paymentPayload, paymentRequirements }: Body): Promise<ReferenceAnswer> {
    try {
      const answer = await this.#facilitator.verify(
        paymentPayload as unknown as PaymentPayload,
        paymentRequirements as unknown as PaymentRequirements,
      );
      return {
        verdict: answer.isValid ? 'valid' : 'invalid',
        reason: answer.invalidReason,
        payer: answer.payer,
      };
    } catch {
      return { verdict: 'throws', reason: undefined, payer: undefined };
    }
  }
}
