import { isSettlementId } from '../../protocol/payment/wire-values.js';

/**
 * A job says which settlements to work on; everything else is in the ledger. It is open until the last of them is
 * finished.
 */
export interface SettlementJob {
  /**
   * One, or all that were claimed in one turn of a process; at least one, at most {@link SETTLEMENTS_OF_A_JOB}. Of a job that is
   * read, whether there are such settlements the ledger knows.
   */
  readonly settlementIds: readonly string[];
  /** Span of the request that made it, see `JobObserver`: such a job has one settlement. */
  readonly traceparent?: string;
}

/** A settlement that is to be in a job. */
export interface ClaimedSettlement {
  readonly settlementId: string;
  readonly traceparent?: string;
}

/** A larger number means fewer jobs, but a job stays open until its slowest settlement is done. */
export const SETTLEMENTS_OF_A_JOB = 64;

const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

/**
 * Reads what lay in a queue. The Redis of the queues may hold what this deployment never wrote: jobs of another one
 * or anybody's.
 *
 * @returns `undefined` where it is no job.
 */
export function readJob(data: unknown): SettlementJob | undefined {
  if (typeof data !== 'object' || data === null) return undefined;
  const { settlementIds, traceparent } = data as Readonly<Record<string, unknown>>;
  if (!Array.isArray(settlementIds) || settlementIds.length === 0) return undefined;
  if (settlementIds.length > SETTLEMENTS_OF_A_JOB) return undefined;
  if (!settlementIds.every(isSettlementId)) return undefined;
  const isTraced = typeof traceparent === 'string' && TRACEPARENT.test(traceparent);
  return { settlementIds, ...(isTraced && { traceparent }) };
}

/**
 * Jobs for settlements in the order they came. A traced settlement has a job of its own, as its spans belong to one
 * request.
 */
export function jobsFor(claimed: readonly ClaimedSettlement[]): readonly SettlementJob[] {
  const jobs: SettlementJob[] = [];
  let gathered: string[] = [];
  for (const { settlementId, traceparent } of claimed) {
    if (traceparent !== undefined) {
      jobs.push({ settlementIds: [settlementId], traceparent });
      continue;
    }
    if (gathered.length === 0) jobs.push({ settlementIds: gathered });
    gathered.push(settlementId);
    if (gathered.length >= SETTLEMENTS_OF_A_JOB) gathered = [];
  }
  return jobs;
}

/** The jobs that a process has taken and that are not at their end, by what they carry. */
export class OpenJobs {
  readonly #of = new Map<string, Set<OpenJob>>();

  get settlements(): readonly string[] {
    return [...this.#of.keys()];
  }

  /**
   * @param ids - at least one.
   * @returns how it ended: all of these were finished, or it was given up.
   */
  open(ids: readonly string[]): Promise<JobEnd> {
    return new Promise((end) => {
      const job = { open: new Set(ids), end };
      for (const id of job.open) {
        const jobs = this.#of.get(id);
        if (jobs === undefined) this.#of.set(id, new Set([job]));
        else jobs.add(job);
      }
    });
  }

  finish(ids: readonly string[]): void {
    for (const id of ids) {
      for (const { open, end } of this.#of.get(id) ?? []) {
        open.delete(id);
        if (open.size === 0) end('finished');
      }
      this.#of.delete(id);
    }
  }

  giveUp(): void {
    const jobs = new Set([...this.#of.values()].flatMap((some) => [...some]));
    this.#of.clear();
    for (const { end } of jobs) end('given_up');
  }
}

type JobEnd = 'finished' | 'given_up';

interface OpenJob {
  readonly open: Set<string>;
  readonly end: (end: JobEnd) => void;
}
