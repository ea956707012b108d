/**
 * The server has become a replica, the slot has moved, or the cluster is down: the connection has
 * to find the primary again.
 */
const IS_ELSEWHERE = /^(READONLY|MOVED|CLUSTERDOWN) /;
/** Without a primary each answer says so: the next look is as long after the last one. */
const LEAVES_EACH_MS = 500;

/**
 * When a connection leaves its server for an answer, and looks for another one. One for each connection.
 *
 * @param clock - milliseconds that only grow.
 */
export function leavingFor(
  clock: () => number = () => performance.now(),
): (error: Error) => boolean {
  let leftAt = Number.NEGATIVE_INFINITY;
  return ({ message }) => {
    if (!IS_ELSEWHERE.test(message) || clock() - leftAt < LEAVES_EACH_MS) return false;
    leftAt = clock();
    return true;
  };
}
