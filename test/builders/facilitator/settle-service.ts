import { AcknowledgedAnswers } from '../../../src/facilitator/settle/acknowledged-answers.js';
import { ActionDetailsReader } from '../../../src/facilitator/settle/action-details.js';
import { Claiming } from '../../../src/facilitator/settle/claiming.js';
import { DeferredSteps } from '../../../src/facilitator/settle/deferred-steps.js';
import type { LostClaims } from '../../../src/facilitator/settle/lost-claims.js';
import { PastAnswers } from '../../../src/facilitator/settle/past-answers.js';
import { SettleService } from '../../../src/facilitator/settle/settle.service.js';
import { ArchivedPayments } from '../../../src/facilitator/status/archived-payments.js';
import type { UsedAuthorizationFinder } from '../../../src/facilitator/status/used-authorization-finder.js';
import { PaymentVerifier } from '../../../src/facilitator/verify/payment-verifier.js';
import type { ChainRegistry } from '../../../src/platform/chain/chain-registry.js';
import type { EvmChain } from '../../../src/platform/chain/evm-chain.js';
import type { Admission } from '../../../src/settlement/admission.js';
import type { LabelStore } from '../../../src/settlement/ledger/label-store.js';
import type { SettlementArchive } from '../../../src/settlement/ledger/settlement-archive.js';
import type { SettlementEvents } from '../../../src/settlement/ledger/settlement-events.js';
import type { SettlementStore } from '../../../src/settlement/ledger/settlement-store.js';

/** What a settle asks of the world around it. */
interface SettleWorld {
  readonly store: SettlementStore;
  readonly labels: Pick<LabelStore, 'note'>;
  readonly events: Pick<SettlementEvents, 'listen'>;
  readonly admission: Partial<Admission>;
  readonly verifier: Pick<PaymentVerifier, 'verify' | 'verifyTerms' | 'match'> &
    Partial<Pick<PaymentVerifier, 'completed' | 'isFinallyDone'>>;
  readonly archive: SettlementArchive;
  readonly finder: Pick<UsedAuthorizationFinder, 'until' | 'isUsed' | 'userOf'>;
  readonly lostClaims: Pick<LostClaims, 'adopt'>;
  readonly addJob: (id: string) => void;
  readonly onTrouble: (what: string) => void;
  readonly chainId: number;
  /** Where facts of actions are read; none are, where it is left out. */
  readonly chain?: EvmChain;
  readonly waitMs: number;
  /** Is given what the process calls when it ends. */
  readonly onClaiming?: (claiming: Claiming) => void;
}

/** The service with all of its own parts, on a ledger, a chain and an archive that are played. */
export function aSettleService(world: SettleWorld): SettleService {
  const { store, labels, events, finder, lostClaims, chainId } = world;
  const settings = { settleWaitMs: world.waitMs, shutdownGraceMs: 8000, networks: [] };
  const logger = {
    warn: (line: unknown, message?: string) => {
      world.onTrouble((line as { readonly what?: string }).what ?? message ?? '');
    },
  };
  const processes = { processId: 'p' };
  const verifier = aVerifier(world.verifier);
  const archived = new ArchivedPayments(world.archive, verifier);
  const owed = new DeferredSteps(logger);
  const acknowledgedAnswers = new AcknowledgedAnswers(store, owed, processes, settings, logger);
  const claiming = new Claiming(
    store,
    labels,
    new Map([[chainId, { add: world.addJob }]]),
    events,
    world.admission as Admission,
    owed,
    acknowledgedAnswers,
    settings,
    logger,
  );
  world.onClaiming?.(claiming);
  const past = new PastAnswers(finder, archived, lostClaims, acknowledgedAnswers);
  const chains = { served: () => world.chain ?? {} } as unknown as ChainRegistry;
  return new SettleService(
    store,
    chains,
    verifier,
    claiming,
    past,
    archived,
    owed,
    processes,
    new ActionDetailsReader(),
    settings,
  );
}

/** One that lets these verify, and does the rest itself. */
export function aVerifier(methods: SettleWorld['verifier']): PaymentVerifier {
  const verifier = Object.create(PaymentVerifier.prototype) as PaymentVerifier;
  return Object.assign(verifier, { refusalByLists: () => undefined }, methods);
}
