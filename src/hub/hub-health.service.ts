import { Inject, Injectable } from '@nestjs/common';
import { FeatureHealth, type HealthReport } from '../platform/observability/feature-health.js';
import { HubIndex } from './index/hub-index.js';
import { StorageProvider } from './storage/storage-provider.js';

/** Interval of storage probes, because health is requested often. */
const SHARED_MS = 2000;
/** A storage that takes longer for a few bytes counts as failed. */
const PROBE_TIMEOUT_MS = 500;

type HubCondition = 'storage_unavailable' | 'storage_slow' | 'index_unavailable';

/** Whether the hub can store and find files now: writes and reads a probe, and checks the index. */
@Injectable()
export class HubHealth extends FeatureHealth {
  readonly name = 'hub';
  #shared:
    { readonly at: number; readonly condition: Promise<HubCondition | undefined> } | undefined;

  constructor(
    @Inject(StorageProvider) private readonly storage: StorageProvider,
    private readonly index: HubIndex,
  ) {
    super();
  }

  async report(): Promise<HealthReport> {
    const code = await this.condition();
    const facts = { isWriter: this.storage.isWriter };
    return code === undefined ? { isUp: true, facts } : { isUp: false, facts: { code, ...facts } };
  }

  /** Cached for a short time for all callers. */
  condition(): Promise<HubCondition | undefined> {
    const now = performance.now();
    if (this.#shared === undefined || now - this.#shared.at > SHARED_MS) {
      this.#shared = { at: now, condition: this.#probe() };
    }
    return this.#shared.condition;
  }

  freeBytes(): Promise<number | undefined> {
    return this.storage.freeBytes();
  }

  /** Whether the storage was opened since the process began: before that the hub answers no request. */
  get isOpen(): boolean {
    return this.index.isOpen;
  }

  async #probe(): Promise<HubCondition | undefined> {
    if (!this.isOpen) return 'storage_unavailable';
    const storage = this.storage.probe().then(
      () => undefined,
      () => 'storage_unavailable' as const,
    );
    const index = this.index.check().then(
      () => undefined,
      () => 'index_unavailable' as const,
    );
    return (await inTime(storage)) ?? (await index);
  }
}

/** Gates readiness only in a process with no other role, because payments must not wait for files. */
@Injectable()
export class HubStorageHealth extends FeatureHealth {
  readonly name = 'hub_storage';
  override readonly gatesReadiness = true;

  constructor(private readonly index: HubIndex) {
    super();
  }

  report(): HealthReport {
    return this.index.isOpen
      ? { isUp: true, facts: {} }
      : { isUp: false, facts: { code: 'storage_unavailable' } };
  }
}

async function inTime<T>(answer: Promise<T>): Promise<T | 'storage_slow'> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'storage_slow'>((resolve) => {
    timer = setTimeout(() => {
      resolve('storage_slow');
    }, PROBE_TIMEOUT_MS);
  });
  const first = await Promise.race([answer, late]);
  clearTimeout(timer);
  return first;
}
