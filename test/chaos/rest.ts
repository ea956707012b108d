import { delay } from './client.js';
import { readHealth } from './health.js';
import type { Stage } from './stage.js';

/**
 * A success that a reorganisation removed while its payer could not pay is tried again after 5, 15
 * and 60 s.
 */
const QUIET_TIMEOUT_MS = 100_000;

/** Waits for all work to be done, as anybody can see it; says what does not come to rest. */
export async function unrest(stage: Stage, areJobsDone: boolean): Promise<string[]> {
  const deadline = Date.now() + QUIET_TIMEOUT_MS;
  for (;;) {
    const open = await openWork(stage);
    if (areJobsDone) open.push(...(await stage.openJobs()));
    if (open.length === 0) return [];
    if (Date.now() > deadline) return open;
    await delay(150);
  }
}

async function openWork(stage: Stage): Promise<string[]> {
  const { client } = stage.world;
  const open: string[] = [];
  const health = await readHealth(stage);
  if (health === undefined) return ['no process says how it is'];
  if (health.depth > 0) open.push(`${health.depth} settlements wait to be signed`);
  if (health.live > 0) open.push(`${health.live} settlements are not finished`);
  for (const address of stage.accounts) {
    const lane = health.lanes.find(({ signer }) => signer.toLowerCase() === address.toLowerCase());
    if (lane === undefined) {
      open.push(`no lane of ${address}`);
      continue;
    }
    const { code, inFlight, gaps } = lane;
    if (code !== undefined) open.push(`the lane of ${address} says ${code}`);
    if (inFlight > 0 || gaps > 0) open.push(`${address} has ${inFlight} in flight, ${gaps} gaps`);
    const latest = await client.getTransactionCount({ address, blockTag: 'latest' });
    const pending = await client.getTransactionCount({ address, blockTag: 'pending' });
    if (latest !== pending) open.push(`${address} has ${pending - latest} in the pool`);
  }
  return open;
}
