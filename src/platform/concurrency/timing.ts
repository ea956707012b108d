export function delay(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}

/** The result of a task with a time-out. */
type InTime<T> = { readonly inTime: true; readonly value: T } | { readonly inTime: false };

/**
 * Waits for a task for at most this time. The task itself continues.
 *
 * @throws errors of the task within the time; later errors are dropped.
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
 * Waits for all tasks, also if one fails, so that none is still running afterwards.
 *
 * @throws the error of the first failed task in order.
 */
export async function settleAll<T>(tasks: readonly Promise<T>[]): Promise<T[]> {
  const results = await Promise.allSettled(tasks);
  const failed = results.find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') throw failed.reason;
  return results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
}
