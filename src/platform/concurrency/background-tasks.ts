import type { Clock } from './clock.js';

interface BackgroundTasksOptions {
  /** Tasks under way at once, altogether and of one group. */
  readonly most: number;
  readonly mostOfGroup: number;
  /** A task that takes longer counts as failed. What it returns later is dropped. */
  readonly limitMs: number;
  /** Told when a result can be collected. */
  readonly onResult: () => void;
  readonly clock: Clock;
}

/** The outcome of one task. */
type TaskResult<T> =
  | { readonly key: string; readonly kind: 'done'; readonly value: T }
  | { readonly key: string; readonly kind: 'late' }
  | { readonly key: string; readonly kind: 'failed'; readonly error: unknown };

/**
 * Work that is done beside a loop: the loop starts it, goes on, and collects what came of it. Each task
 * has a key, under which at most one is under way, and a group, so that slow tasks of one kind leave
 * room for those of others.
 */
export class BackgroundTasks<T> {
  readonly #running = new Map<string, string>();
  #results: TaskResult<T>[] = [];
  #generation = 0;

  constructor(private readonly options: BackgroundTasksOptions) {}

  /** Tasks under way, and results not collected yet. */
  get size(): number {
    return this.#running.size + this.#results.length;
  }

  has(key: string): boolean {
    return this.#running.has(key) || this.#results.some((result) => result.key === key);
  }

  /** @returns `false` when there is one of this key, or no room for another one. */
  start(key: string, group: string, work: () => Promise<T>): boolean {
    const { most, mostOfGroup } = this.options;
    if (this.has(key) || this.#running.size >= most) return false;
    const ofGroup = [...this.#running.values()].filter((one) => one === group).length;
    if (ofGroup >= mostOfGroup) return false;
    this.#running.set(key, group);
    void this.#run(key, work, this.#generation);
    return true;
  }

  /** The results since the last call. */
  collect(): readonly TaskResult<T>[] {
    const results = this.#results;
    this.#results = [];
    return results;
  }

  /** Forgets everything; what is still under way comes to nothing. */
  clear(): void {
    this.#generation += 1;
    this.#running.clear();
    this.#results = [];
  }

  async #run(key: string, work: () => Promise<T>, generation: number): Promise<void> {
    const result = await this.#resultOf(key, work);
    if (generation !== this.#generation) return;
    this.#running.delete(key);
    this.#results.push(result);
    this.options.onResult();
  }

  async #resultOf(key: string, work: () => Promise<T>): Promise<TaskResult<T>> {
    const { clock, limitMs } = this.options;
    // The loop that starts a task has its turn first.
    const task = Promise.resolve()
      .then(work)
      .then(
        (value): TaskResult<T> => ({ key, kind: 'done', value }),
        (error: unknown): TaskResult<T> => ({ key, kind: 'failed', error }),
      );
    const limit = clock.sleep(limitMs).then((): TaskResult<T> => ({ key, kind: 'late' }));
    return Promise.race([task, limit]);
  }
}
