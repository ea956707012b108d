export function delay(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}

/** The outcome of a task with a time-out. */
type InTime<T> = { readonly inTime: true; readonly value: T } | { readonly inTime: false };

/**
 * Waits for a task, and no longer than so many milliseconds. The task itself goes on.
 *
 * @throws what the task throws in its time; a later error is dropped.
 */
export async function withTimeout<T>(ms: number, task: Promise<T>): Promise<InTime<T>> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<InTime<T>>((resolve) => {
    timer = setTimeout(resolve, Math.max(0, ms), { inTime: false });
  });
  try {
    return await Promise.race([task.then((value): InTime<T> => ({ inTime: true, value })), late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Waits for all tasks, also when one of them fails: nothing of them goes on after this.
 *
 * @throws what the first of them in order threw.
 */
export async function settleAll<T>(tasks: readonly Promise<T>[]): Promise<T[]> {
  const results = await Promise.allSettled(tasks);
  const failed = results.find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') throw failed.reason;
  return results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
}
