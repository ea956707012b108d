import type { Clock } from './clock.js';

interface BackgroundTasksOptions {
  /** Limits for concurrent tasks: in total, and in one group. */
  readonly most: number;
  readonly mostOfGroup: number;
  /** A slower task counts as failed, and its later result is dropped. */
  readonly limitMs: number;
  /** Called when a result can be collected. */
  readonly onResult: () => void;
  readonly clock: Clock;
}

/** The outcome of one task. */
type TaskResult<T> =
  | { readonly key: string; readonly kind: 'done'; readonly value: T }
  | { readonly key: string; readonly kind: 'late' }
  | { readonly key: string; readonly kind: 'failed'; readonly error: unknown };

/**
 * Tasks that run beside a loop: the loop starts them, continues, and collects their results. Each task has a key and
 * a group. At most one task runs per key. The limit per group leaves room for other groups when tasks of one group
 * are slow.
 */
export class BackgroundTasks<T> {
  readonly #running = new Map<string, string>();
  #results: TaskResult<T>[] = [];
  #generation = 0;

  constructor(private readonly options: BackgroundTasksOptions) {}

  /** Number of running tasks and uncollected results. */
  get size(): number {
    return this.#running.size + this.#results.length;
  }

  has(key: string): boolean {
    return this.#running.has(key) || this.#results.some((result) => result.key === key);
  }

  /** @returns `false` if a task with this key is running, or no task may start now. */
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

  /** Drops all results, also those of running tasks. */
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
    // The caller continues before the task starts.
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
