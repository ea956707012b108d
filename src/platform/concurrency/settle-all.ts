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
