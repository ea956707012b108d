import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { GradeBuyer, NotPlayable } from './grade/buyer.js';
import { GradeFacilitator } from './grade/facilitator.js';
import { playAll } from './grade/plays.js';
import { faultsIn, junitOf, lineOf, verdictOf } from './grade/report.js';

/** `npm run grade -- URL [METHOD] [BODY]`: what a seller does when payments do not go well. */

const USAGE = `npm run grade -- URL [METHOD] [BODY] [options]

Be the facilitator of a seller for a minute, play what can happen to payments, and say what it does wrong.
Point the seller at the address that is printed, and start it. No money and no chain are needed.

  --port N        where it listens as a facilitator (4402)
  --host H        and on which address (127.0.0.1)
  --network N     a CAIP-2 network it serves beside those that are known; may be repeated
  --patience N    seconds after which a buyer gives up (30)
  --wait N        seconds to wait for the seller to be there (60)
  --junit FILE    write the result as JUnit too

It ends with 0 where nothing was found, 1 where faults were, 2 where nothing could be played.`;

class Misused extends Error {}

function wholeNumber(name: string, text: string, most: number): number {
  const value = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (value < 1 || value > most) throw new Misused(`--${name}: 1 to ${most} is expected.`);
  return value;
}

function readOptions() {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        port: { type: 'string', default: '4402' },
        host: { type: 'string', default: '127.0.0.1' },
        network: { type: 'string', multiple: true, default: [] },
        patience: { type: 'string', default: '30' },
        wait: { type: 'string', default: '60' },
        junit: { type: 'string' },
      },
    });
    const [url = '', method = 'GET', body] = positionals;
    if (!/^https?:\/\//.test(url)) throw new Misused('A URL is expected.');
    return {
      url,
      method,
      body,
      host: values.host,
      networks: values.network,
      junit: values.junit,
      port: wholeNumber('port', values.port, 65_535),
      patienceMs: wholeNumber('patience', values.patience, 600) * 1000,
      waitMs: wholeNumber('wait', values.wait, 3600) * 1000,
    };
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : 'Misused.'}\n\n${USAGE}`);
    return process.exit(2);
  }
}

const options = readOptions();
/** So long after its buyer has given up that a seller without a time limit is seen. */
const SILENT_MORE_MS = 5000;

const facilitator = new GradeFacilitator({
  port: options.port,
  host: options.host,
  networks: options.networks,
  silentMs: options.patienceMs + SILENT_MORE_MS,
});
const buyer = new GradeBuyer(options, facilitator.chainIds, options.patienceMs);

/** The seller may be started after this: then it finds its facilitator. */
async function untilItSells(): Promise<void> {
  const until = Date.now() + options.waitMs;
  for (;;) {
    try {
      await buyer.sign();
      return;
    } catch (error) {
      if (!(error instanceof NotPlayable) || Date.now() > until) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

async function grade(): Promise<number> {
  await facilitator.start();
  console.log(`Facilitator of the seller: ${facilitator.url}`);
  await untilItSells();
  console.log(options.url);
  const played = await playAll(buyer, facilitator, (one) => {
    console.log(lineOf(one));
  });
  console.log(`\n${verdictOf(played)}`);
  if (options.junit !== undefined) writeFileSync(options.junit, junitOf(options.url, played));
  return faultsIn(played).length === 0 ? 0 : 1;
}

const code = await grade().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  return 2;
});
await facilitator.stop();
process.exit(code);
