import type { LookupAddress } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import type { LookupFunction } from 'node:net';
import { isPublicAddress } from './address-guard.js';

/** Of the first question; a second one has twice the time. */
const SILENCE_MS = 1500;

/** A name that leads to an address that is not public. */
export class NotPublicError extends Error {
  constructor() {
    super('the address is not public');
    this.name = 'NotPublicError';
  }
}

/**
 * Gives a connection the addresses of a name if all of them are public; the connection uses one of these.
 *
 * The DNS is asked without a thread. `dns.lookup` holds one of Node's threads for as long as a name server is silent,
 * and no more than two look-ups have one at a time: two names of a stranger would delay those of RPC endpoints. The hosts
 * file of this machine is not read.
 */
export function publicLookup(
  resolver: Pick<Resolver, 'resolve4' | 'resolve6'> = new Resolver({
    timeout: SILENCE_MS,
    tries: 2,
  }),
): LookupFunction {
  return (hostname, { all }, callback) => {
    publicAddressesOf(resolver, hostname).then(
      (addresses) => {
        const [{ address, family }] = addresses;
        if (all === true) callback(null, [...addresses]);
        else callback(null, address, family);
      },
      (error: unknown) => {
        callback(error as NodeJS.ErrnoException, '');
      },
    );
  };
}

type Addresses = readonly [LookupAddress, ...LookupAddress[]];

/** @throws NotPublicError, or the error of the DNS. */
async function publicAddressesOf(
  resolver: Pick<Resolver, 'resolve4' | 'resolve6'>,
  hostname: string,
): Promise<Addresses> {
  if (isThisMachine(hostname)) throw new NotPublicError();
  const [four, six] = await Promise.allSettled([
    resolver.resolve4(hostname),
    resolver.resolve6(hostname),
  ]);
  const [first, ...others] = [...foundIn(four, 4), ...foundIn(six, 6)];
  if (first === undefined && four.status === 'rejected') throw four.reason as Error;
  if (first === undefined) throw new NotPublicError();
  const addresses: Addresses = [first, ...others];
  if (addresses.every(({ address }) => isPublicAddress(address))) return addresses;
  throw new NotPublicError();
}

/** RFC 6761, section 6.3: such a name is never asked of the DNS. */
function isThisMachine(hostname: string): boolean {
  return /(^|\.)localhost\.?$/i.test(hostname);
}

function foundIn(answer: PromiseSettledResult<string[]>, family: 4 | 6): LookupAddress[] {
  return answer.status === 'rejected' ? [] : answer.value.map((address) => ({ address, family }));
}
