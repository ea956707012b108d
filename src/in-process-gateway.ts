import { Inject, Injectable } from '@nestjs/common';
import { FacilitatorService } from './facilitator/facilitator.service.js';
import { GatewayUnavailableError } from './hub/errors.js';
import type {
  PaymentGateway,
  PresentedPayment,
  SettleReply,
  VerifyReply,
} from './hub/sales/payment-gateway.js';

const VERSIONS = [2] as const;

/**
 * The facilitator of this process, for the hub beside it. Idempotency keys are scoped by payee and payer,
 * as those of any seller without an API key are.
 */
@Injectable()
export class InProcessGateway implements PaymentGateway {
  constructor(
    @Inject(FacilitatorService)
    private readonly facilitator: Pick<FacilitatorService, 'verify' | 'settle' | 'defaultFinality'>,
  ) {}

  verify(payment: PresentedPayment): Promise<VerifyReply> {
    const noKey = { value: undefined, caller: undefined };
    return this.facilitator.verify({ x402Version: 2, ...payment }, VERSIONS, noKey);
  }

  async settle(payment: PresentedPayment, idempotencyKey: string): Promise<SettleReply> {
    const answer = await this.facilitator.settle({ x402Version: 2, ...payment }, VERSIONS, {
      idempotencyKey: { value: idempotencyKey, caller: undefined },
      address: undefined,
      isAsync: false,
      finality: this.facilitator.defaultFinality,
      arrivedAt: Date.now(),
      // The hub keeps the answer itself, also when its buyer hangs up.
      connection: { closed: new Promise(() => undefined), isWritable: true },
    });
    if (answer === undefined) throw new GatewayUnavailableError('settle');
    return answer.body;
  }
}
