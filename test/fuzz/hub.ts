import { fuzz } from '../support/hub-fuzz.js';
import { HubWorld } from '../support/hub-world.js';

/**
 * Thousands of requests that make little sense against a hub on disk. Prints its seed; the same seed sends
 * the same requests.
 *
 *   npm run fuzz:hub [requests] [seed]
 */
const [count = '10000', given] = process.argv.slice(2);
const seed = Number(given ?? Math.floor(Math.random() * 2 ** 32));

const world = await HubWorld.start();
try {
  const modes = [
    {},
    { HUB_MODE: 'private' },
    { HUB_LEGACY_STATUS: 'true', RATE_LIMIT_HUB: '100000' },
  ];
  for (const settings of modes) {
    const hub = await world.hub(settings);
    const { sent, byStatus, failures } = await fuzz(hub, seed, Number(count));
    // The status that stands for 4xx in the original is no failure of the server.
    const wrong = failures.filter((failure) => !failure.startsWith('599'));
    console.log(JSON.stringify({ seed, settings, sent, byStatus, failures: wrong.slice(0, 10) }));
    if (wrong.length > 0) process.exitCode = 1;
    await hub.service.stop();
  }
} finally {
  await world.stop();
}
