import { Inject, Injectable } from '@nestjs/common';
import type { Hex } from 'viem';
import { AppConfig } from '../../platform/config/app-config.js';
import {
  redisCall,
  type Script,
  type ScriptArgument,
  type ScriptReply,
} from '../../platform/redis/redis-scripts.js';
import { type PaymentIdentity, settlementIdOf } from '../../protocol/payment/identity.js';
import { needsNoTransaction } from '../../protocol/payment/payment-facts.js';
import type { Finality, SettlementView } from '../model/settlement.js';
import type { Binding, BoundPayment } from './binding.js';
import { AWAITED_MS } from './epoch.js';
import * as keys from './keys.js';
import { LedgerScripts } from './ledger-scripts.js';
import { adoptionFields, encodeHash, paymentFields, presentView, readView } from './record.js';
import { RedisBindings } from './redis-bindings.js';
import { asList, asText, asTexts } from './reply.js';
import type { Requester } from './requester.js';
import { REQUESTER_SCRIPTS } from './requester-scripts.js';
import type { JointScript } from './script-files.js';
import {
  type AcknowledgedSale,
  type AcknowledgedWithdrawal,
  type Adoption,
  type AdoptResult,
  type BindResult,
  type Claim,
  type ClaimedPayment,
  type ClaimRef,
  type ClaimResult,
  type InFlight,
  type JoinResult,
  type LeaveResult,
  type LedgerLimits,
  lifeOf,
  type Look,
  type PayerRef,
  type RedeemResult,
  RESTATE_MS,
  type SettlementStore,
  UNSURE_MS,
  WAITING_MAX,
} from './settlement-store.js';

/** {@link SettlementStore} in Redis. */
@Injectable()
export class RedisSettlementStore implements SettlementStore {
  readonly #bindings: RedisBindings;

  constructor(
    private readonly scripts: LedgerScripts,
    @Inject(AppConfig) private readonly limits: LedgerLimits,
  ) {
    this.#bindings = new RedisBindings(scripts.ledger.shared, limits.retentionSeconds);
  }

  async look(
    identity: PaymentIdentity,
    { chainId, asset, payer, blamed }: PayerRef,
  ): Promise<Look> {
    const { authorizationId } = identity;
    const reply = asList(
      await this.scripts.runJointly(chainId, {
        script: REQUESTER_SCRIPTS.look,
        keys: [
          keys.authorizationKey(chainId, authorizationId),
          keys.inFlightKey(chainId, asset, payer),
          ...blamed.map((one) => keys.revertsKey(chainId, one)),
        ],
        args: [authorizationId],
      }),
    );
    return {
      known: readView(asText(reply[0]), reply[1]),
      isWaitedFor: reply[2] === 1,
      inFlight: readInFlight(asTexts(reply[3])),
      recentReverts: Number(asText(reply[4])),
      acknowledgedKeyTag: asTexts(reply[5])[0],
      hasGoneBack: reply[6] === 1,
    };
  }

  refOf(
    { chainId }: ClaimedPayment,
    identity: Pick<PaymentIdentity, 'authorizationId' | 'termsTag'>,
    requester: Pick<Requester, 'id'>,
  ): ClaimRef {
    return { chainId, id: settlementIdOf(identity, requester.id) };
  }

  bindingOf(keyTag: string): Promise<Binding | undefined> {
    return this.#bindings.of(keyTag);
  }

  bind(requester: Requester, payment: BoundPayment): Promise<BindResult> {
    return this.#bindings.bind(requester, payment);
  }

  takeOver(requester: Requester, payment: BoundPayment, from: Binding): Promise<boolean> {
    return this.#bindings.takeOver(requester, payment, from);
  }

  unbind(requester: Requester, payment: BoundPayment): Promise<void> {
    return this.#bindings.unbind(requester, payment);
  }

  async hasClaim(chainId: number, authorizationId: string): Promise<boolean> {
    const key = keys.authorizationKey(chainId, authorizationId);
    return (await redisCall('hasClaim', this.scripts.ledger.of(chainId).exists(key))) > 0;
  }

  async claim(requester: Requester, claim: Claim): Promise<ClaimResult> {
    const { identity, payment, means, isAccepted } = claim;
    const { chainId, asset, authorization } = payment;
    const { id } = this.refOf(payment, identity, requester);
    const fields = paymentFields(payment, { ...identity, arrivedAt: requester.arrivedAt });
    const reply = asList(
      await this.scripts.runJointly(chainId, {
        script: REQUESTER_SCRIPTS.claim,
        keys: [
          keys.recordKey(chainId, id),
          keys.authorizationKey(chainId, identity.authorizationId),
          keys.inFlightKey(chainId, asset, authorization.from),
          keys.payerKey(chainId, authorization.from),
        ],
        args: [
          requester.id,
          requester.keyTag,
          identity.authorizationId,
          means.balance?.toString() ?? '',
          means.allowance?.toString() ?? '',
          this.limits.queueMax,
          this.limits.retentionSeconds,
          isAccepted ? '1' : '',
          needsNoTransaction(payment) ? '1' : '',
          RESTATE_MS,
          fields.length,
          ...fields,
          ...requester.credentials,
        ],
      }),
    );
    const kind = asText(reply[0]);
    switch (kind) {
      case 'claimed':
        return { kind, id, queued: Number(asText(reply[1])) };
      case 'queue_full':
        return { kind, queued: Number(asText(reply[1])) };
      case 'known':
      case 'acknowledged_to_another':
      case 'in_flight_changed':
      case 'permit_in_flight':
      case 'had_its_place':
      case 'not_yet':
        return { kind };
      default:
        throw new TypeError(`unexpected reply of the script claim: ${kind}`);
    }
  }

  async join(ref: ClaimRef, requester: Requester): Promise<JoinResult> {
    const { kind, view } = await this.#joint(REQUESTER_SCRIPTS.join, ref, [
      requester.id,
      requester.keyTag,
      this.limits.saleGraceMs,
      WAITING_MAX,
      ...requester.credentials,
    ]);
    if (view === undefined) return { kind: 'gone' };
    switch (kind) {
      case 'waiting':
      case 'owner':
      case 'non_owner':
      case 'too_many':
        return { kind, view };
      default:
        throw new TypeError(`unexpected reply of the script join: ${kind}`);
    }
  }

  async redeem(ref: ClaimRef, requester: Requester, at: Finality | 'async'): Promise<RedeemResult> {
    const { kind, view } = await this.#joint(REQUESTER_SCRIPTS.redeem, ref, [
      requester.id,
      requester.keyTag,
      at,
      this.limits.saleGraceMs,
      RESTATE_MS,
      ...requester.credentials,
    ]);
    if (view === undefined) return { kind: 'gone' };
    switch (kind) {
      case 'sold':
      case 'lost':
      case 'unpaid':
      case 'not_eligible':
      case 'not_yet':
      case 'over':
        return { kind, view };
      default:
        throw new TypeError(`unexpected reply of the script redeem: ${kind}`);
    }
  }

  async rollBack(
    { chainId, id }: ClaimRef,
    authorizationId: string,
    requester: Requester,
  ): Promise<boolean> {
    const taken = await this.#run(
      REQUESTER_SCRIPTS.rollBack,
      chainId,
      [keys.recordKey(chainId, id), keys.lostSaleKey(chainId, authorizationId)],
      [requester.id, ...lifeOf(this.limits), UNSURE_MS],
    );
    return taken === 1;
  }

  async leave(
    ref: ClaimRef,
    requester: Requester,
    cause: 'timeout' | 'closed',
    knownHash: Hex | undefined,
  ): Promise<LeaveResult> {
    const reply = await this.#runOn(REQUESTER_SCRIPTS.leave, ref, [
      requester.id,
      cause,
      knownHash === undefined ? '' : encodeHash(knownHash),
      UNSURE_MS,
      ...lifeOf(this.limits),
    ]);
    const { kind, view } = readStep(ref.id, reply);
    if (view === undefined) return { kind: 'gone' };
    switch (kind) {
      case 'withdrawn':
      case 'left':
      case 'unsure':
        return { kind, view };
      default:
        throw new TypeError(`unexpected reply of the script leave: ${kind}`);
    }
  }

  async replaySale({
    ref: { chainId, id },
    authorizationId,
    requester,
    isAccepted,
  }: AcknowledgedSale): Promise<boolean> {
    const stored = await this.#run(
      REQUESTER_SCRIPTS.replaySale,
      chainId,
      [keys.recordKey(chainId, id), keys.lostSaleKey(chainId, authorizationId)],
      [requester.id, requester.keyTag, isAccepted ? '1' : '', this.limits.tombstoneSeconds],
    );
    return stored === 1;
  }

  async replayWithdrawal({ ref, reason }: AcknowledgedWithdrawal): Promise<boolean> {
    const args = [reason, ...lifeOf(this.limits)];
    return (await this.#runOn(REQUESTER_SCRIPTS.replayWithdrawal, ref, args)) === 1;
  }

  async heartbeat(chainId: number, processId: string, hasReplayed: () => boolean): Promise<void> {
    const epoch = await this.scripts.epochs.of(chainId);
    await this.scripts.runAt(
      { chainId, epoch },
      {
        script: REQUESTER_SCRIPTS.heartbeat,
        keys: keys.speakersKeys(chainId),
        args: [processId, hasReplayed() ? '1' : '', AWAITED_MS],
      },
    );
  }

  async depart(chainId: number, processId: string, hasReplayed: () => boolean): Promise<void> {
    const epoch = await this.scripts.epochs.of(chainId);
    if (!hasReplayed()) return;
    await this.scripts.runAt(
      { chainId, epoch },
      { script: REQUESTER_SCRIPTS.depart, keys: keys.speakersKeys(chainId), args: [processId] },
    );
  }

  async adopt(requester: Requester, adoption: Adoption): Promise<AdoptResult> {
    const { chainId, id, identity } = adoption;
    const reply = asList(
      await this.#run(
        REQUESTER_SCRIPTS.adopt,
        chainId,
        [
          keys.recordKey(chainId, id),
          keys.authorizationKey(chainId, identity.authorizationId),
          keys.lostSaleKey(chainId, identity.authorizationId),
        ],
        [
          requester.id,
          requester.keyTag,
          this.limits.tombstoneSeconds,
          RESTATE_MS,
          ...adoptionFields(adoption),
        ],
      ),
    );
    const kind = asText(reply[0]);
    switch (kind) {
      case 'sold':
        return { kind, view: presentView(id, reply[1]) };
      case 'known':
      case 'not_yet':
        return { kind };
      default:
        throw new TypeError(`unexpected reply of the script adopt: ${kind}`);
    }
  }

  onEpochChange(listener: (chainId: number) => void): () => void {
    return this.scripts.epochs.onChange(listener);
  }

  /** Runs a joint script that only needs the record of one claim. */
  async #joint(
    script: JointScript,
    { chainId, id }: ClaimRef,
    args: readonly ScriptArgument[],
  ): Promise<StepReply> {
    const own = [keys.recordKey(chainId, id)];
    return readStep(id, await this.scripts.runJointly(chainId, { script, keys: own, args }));
  }

  /** Runs a script that only needs the record of one claim. */
  #runOn(
    script: Script,
    { chainId, id }: ClaimRef,
    args: readonly ScriptArgument[],
  ): Promise<ScriptReply> {
    return this.#run(script, chainId, [keys.recordKey(chainId, id)], args);
  }

  #run(
    script: Script,
    chainId: number,
    own: readonly string[],
    args: readonly ScriptArgument[],
  ): Promise<ScriptReply> {
    return this.scripts.runAgain(chainId, { script, keys: own, args });
  }
}

interface StepReply {
  readonly kind: string;
  /** `undefined` where the record is gone. */
  readonly view: SettlementView | undefined;
}

/** Reads the reply of a script of one claim: {kind, view} or {'gone'}. */
function readStep(id: string, reply: ScriptReply): StepReply {
  const [kind, view] = asList(reply);
  const text = asText(kind);
  return { kind: text, view: text === 'gone' ? undefined : presentView(id, view) };
}

/**
 * Reads the totals of a payer and token, without the entry of a settlement itself (`<kind>:<amount>`, or empty if it
 * is not in flight), and the number of claims.
 */
export function readInFlight(totals: readonly string[]): InFlight {
  const [balance = '0', allowance = '0', permits = '0', own = '', claims = '0'] = totals;
  const ownAmount = own === '' ? 0n : BigInt(own.slice(2));
  const isOwn = (kind: string): boolean => own.startsWith(kind);
  return {
    balanceNeeded: BigInt(balance) - ownAmount,
    allowanceNeeded: BigInt(allowance) - (isOwn('p') ? ownAmount : 0n),
    hasSponsoredPermit: Number(permits) - (isOwn('s') ? 1 : 0) > 0,
    claims: Number(claims),
  };
}
