import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import { count, flag, text } from '../../../platform/http/openapi.js';
import type { Fault, Reason } from '../../../protocol/reasons.js';
import { CHANNEL_ACTIONS, type ChannelAction } from '../../../protocol/schemes/scheme.js';
import type { SwitchedBy } from '../../../settlement/ledger/queries/lane-queries.js';
import type { Attempt } from '../../../settlement/model/attempt.js';
import type { LaneStatus } from '../../../settlement/model/lane-status.js';
import type { LastRefill, TreasuryStatus } from '../../../settlement/model/refill.js';
import type { ApiKeyStatus } from '../../access/api-key-store.js';
import type { UnclaimedHealth } from '../../health/unclaimed-health.js';
import type { SettleTotals } from '../../settles/settle-counts.js';

/** One account nonce in flight. */
export class AttemptView {
  @ApiProperty(count)
  readonly accountNonce!: number;

  @ApiProperty({ ...text, enum: ['single', 'batch', 'noop', 'fund', 'refill'] })
  readonly kind!: Attempt['kind'];

  @ApiProperty({ type: [String] })
  readonly settlementIds!: readonly string[];

  @ApiProperty({
    type: [String],
    description: 'Newest last; each after the first has a higher fee.',
  })
  readonly transactions!: readonly string[];

  @ApiProperty(text)
  readonly maxFeePerGasWei!: string;

  @ApiProperty(count)
  readonly ageMs!: number;
}

/** An attempt with its lane. */
export class LaneAttemptView extends AttemptView {
  @ApiProperty(text)
  readonly lane!: string;
}

class LaneSwitched implements SwitchedBy {
  @ApiProperty({ ...count, description: 'Milliseconds since the epoch.' })
  readonly at!: number;

  @ApiProperty({ ...text, description: 'Id of an API key.' })
  readonly by!: string;
}

class RefillView implements LastRefill {
  @ApiProperty({ ...text, description: 'Address of the lane.' })
  readonly to!: string;

  @ApiProperty(text)
  readonly valueWei!: string;

  @ApiProperty({ ...count, description: 'Account nonce of the treasury.' })
  readonly accountNonce!: number;

  @ApiProperty({ ...count, description: 'Milliseconds since the epoch.' })
  readonly at!: number;
}

/** The account that refills the lanes. */
class TreasuryView implements TreasuryStatus {
  @ApiProperty({ ...text, description: 'The maximum that the treasury may spend per day (UTC).' })
  readonly dailyCapWei!: string;

  @ApiProperty({
    ...text,
    description: 'Wei that the treasury reserved or spent since 0:00 UTC, with gas.',
  })
  readonly spentTodayWei!: string;

  @ApiPropertyOptional()
  readonly lastRefill?: RefillView;
}

@ApiSchema({ name: 'Lane' })
export class LaneView {
  @ApiProperty(text)
  readonly lane!: string;

  @ApiProperty(count)
  readonly chainId!: number;

  @ApiProperty(text)
  readonly signer!: string;

  @ApiProperty({ ...text, description: 'Id of the process that writes the lane.' })
  readonly process!: string;

  @ApiProperty({
    ...text,
    nullable: true,
    description: 'Why the lane takes no work; `silent` without a living process.',
  })
  readonly trouble!: LaneStatus['trouble'] | 'silent' | null;

  @ApiProperty({ ...text, description: 'Whole native coins.' })
  readonly balance!: string;

  @ApiProperty({
    ...count,
    description: 'Settlements that the balance pays for at the current price.',
  })
  readonly settlementsLeft!: number;

  @ApiPropertyOptional({
    ...flag,
    description:
      'The lane got a settlement that costs more than its balance. The balance still pays for other settlements.',
  })
  readonly isShort?: boolean;

  @ApiProperty(count)
  readonly inFlight!: number;

  @ApiProperty({ ...count, description: 'Maximum number of attempts in flight.' })
  readonly window!: number;

  @ApiProperty({
    ...count,
    description:
      'Number of account nonces that are allocated and not finalized, without a stored attempt.',
  })
  readonly gaps!: number;

  @ApiProperty(count)
  readonly nextNonce!: number;

  @ApiProperty(count)
  readonly oldestNonce!: number;

  @ApiProperty(count)
  readonly oldestInFlightMs!: number;

  @ApiProperty(count)
  readonly inclusionMs!: number;

  @ApiProperty({ type: 'number' })
  readonly perSecond!: number;

  @ApiProperty({ ...text, description: 'Wei per unit of gas.' })
  readonly gasPriceWei!: string;

  @ApiProperty({
    type: [String],
    description: 'Assets that the lane no longer serves, because their transfers moved no tokens.',
  })
  readonly suspendedAssets!: readonly string[];

  @ApiPropertyOptional({
    ...flag,
    description: 'The lane serves only payments that name its signer.',
  })
  readonly isRetiring?: boolean;

  @ApiProperty(count)
  readonly silentMs!: number;

  @ApiProperty({
    type: LaneSwitched,
    nullable: true,
    description: 'The time of the pause, and the id of the API key of the operator.',
  })
  readonly paused!: LaneSwitched | null;

  @ApiProperty({
    type: LaneSwitched,
    nullable: true,
    description:
      'The time of the retirement, and the id of the API key of the operator; null if only the setting `RETIRING_SIGNERS` retires the lane, or nothing does.',
  })
  readonly retiring!: LaneSwitched | null;

  @ApiProperty({ type: [AttemptView] })
  readonly attempts!: readonly AttemptView[];

  @ApiPropertyOptional({ description: 'The treasury, on its own lane.' })
  readonly treasury?: TreasuryView;
}

export class HistoryFacts {
  @ApiProperty({ ...flag, description: 'Whether `DATABASE_URL` is set.' })
  readonly enabled!: boolean;

  @ApiProperty(flag)
  readonly webhooks!: boolean;

  @ApiProperty({ ...flag, description: 'Whether a reconciliation starts every day.' })
  readonly reconciles!: boolean;

  @ApiProperty({ ...flag, description: 'Whether the catalogue is on.' })
  readonly catalogue!: boolean;
}

/** A process of the deployment, in its wire form. */
class ProcessView {
  @ApiProperty(text)
  readonly process!: string;

  @ApiProperty({ type: [String] })
  readonly roles!: readonly string[];

  @ApiProperty(text)
  readonly version!: string;
}

/** The unfinished work of one chain, in its wire form. */
export class QueueView {
  @ApiProperty({
    ...count,
    description: 'Number of claimed settlements without a signed transaction.',
  })
  readonly queued!: number;

  @ApiProperty({
    ...count,
    description:
      'Milliseconds since the claim of the oldest queued settlement; 0 if none is queued.',
  })
  readonly oldestQueuedMs!: number;

  @ApiProperty({
    ...count,
    description: 'Number of settlements that are queued, sent, or included and not final.',
  })
  readonly unfinished!: number;
}

class AssetSum {
  @ApiProperty(text)
  readonly asset!: string;

  @ApiProperty(count)
  readonly count!: number;

  @ApiProperty({ ...text, description: 'Atomic units.' })
  readonly amount!: string;
}

class UnclaimedView implements Omit<UnclaimedHealth, 'network'> {
  @ApiProperty({ ...count, description: 'Number of settlements that are paid and not delivered.' })
  readonly count!: number;

  @ApiProperty(count)
  readonly oldestMs!: number;

  @ApiProperty({ type: [AssetSum], description: 'Sums of the 5,000 that wait longest.' })
  readonly sums!: readonly AssetSum[];
}

class EndpointsView {
  @ApiProperty(count)
  readonly reachable!: number;

  @ApiProperty(count)
  readonly all!: number;
}

export class NetworkView {
  @ApiProperty(text)
  readonly network!: string;

  @ApiPropertyOptional({ ...text, description: 'Symbol of the native coin; absent if not known.' })
  readonly coin?: string;

  @ApiPropertyOptional({
    ...text,
    description: 'URL of a block explorer, which has `/address/…` and `/tx/…` below it.',
  })
  readonly explorer?: string;

  @ApiProperty()
  readonly queue!: QueueView;

  @ApiProperty()
  readonly unclaimed!: UnclaimedView;

  @ApiProperty({ type: 'integer', nullable: true })
  readonly headAgeMs!: number | null;

  @ApiProperty()
  readonly endpoints!: EndpointsView;

  @ApiProperty({ type: [LaneView] })
  readonly lanes!: readonly LaneView[];
}

class ApiKeysView implements ApiKeyStatus {
  @ApiProperty(count)
  readonly keys!: number;

  @ApiProperty({ ...count, description: 'Milliseconds since the epoch.' })
  readonly loadedAt!: number;

  @ApiPropertyOptional({
    ...text,
    description:
      'Why the file cannot be used; absent if it can. Until then the earlier keys are in force.',
  })
  readonly code?: NonNullable<ApiKeyStatus['code']>;
}

class SellerCount {
  @ApiProperty({ ...text, description: 'Id of an API key.' })
  readonly key!: string;

  @ApiProperty(count)
  readonly count!: number;
}

class RefusedFor {
  @ApiProperty(text)
  readonly reason!: Reason;

  @ApiProperty({ ...text, enum: ['buyer', 'seller', 'facilitator', 'chain'] })
  readonly fault!: Fault;

  @ApiProperty(count)
  readonly count!: number;

  @ApiProperty({ type: [SellerCount] })
  readonly sellers!: readonly SellerCount[];
}

class ReasonCount {
  @ApiProperty(text)
  readonly reason!: Reason;

  @ApiProperty(count)
  readonly count!: number;
}

class ChannelTotals {
  @ApiProperty({ ...text, enum: CHANNEL_ACTIONS })
  readonly action!: ChannelAction;

  @ApiProperty(count)
  readonly succeeded!: number;

  @ApiProperty(count)
  readonly pending!: number;

  @ApiProperty(count)
  readonly refused!: number;

  @ApiProperty({ type: [ReasonCount] })
  readonly reasons!: readonly ReasonCount[];
}

class SettlesView implements SettleTotals {
  @ApiProperty(count)
  readonly succeeded!: number;

  @ApiProperty(count)
  readonly pending!: number;

  @ApiProperty(count)
  readonly refused!: number;

  @ApiProperty({ type: [RefusedFor] })
  readonly reasons!: readonly RefusedFor[];

  @ApiProperty({
    type: [ChannelTotals],
    description: 'Requests about channels among them; empty without such requests.',
  })
  readonly channels!: readonly ChannelTotals[];
}

export class Overview {
  @ApiProperty(text)
  readonly version!: string;

  @ApiProperty({ ...count, description: 'Milliseconds since the epoch.' })
  readonly at!: number;

  @ApiProperty()
  readonly apiKeys!: ApiKeysView;

  @ApiProperty()
  readonly history!: HistoryFacts;

  @ApiProperty({ description: 'Answers to settle requests of this hour and the 23 hours before.' })
  readonly settles24h!: SettlesView;

  @ApiProperty({ type: [ProcessView] })
  readonly processes!: readonly ProcessView[];

  @ApiProperty({ type: [NetworkView] })
  readonly networks!: readonly NetworkView[];
}

export class ClosedSettlement {
  @ApiProperty(text)
  readonly settlementId!: string;
}
