import { readAddress } from '../../protocol/payment/wire-values.js';
import type { DenialKind, DenialName } from './moderation-store.js';

/** Of what an operator gives as a reason. */
export const REASON_MAX = 200;
/** Of a name in the DNS. */
const HOST_MAX = 253;

/** `payee:0x…` or `host:shop.example`. */
export function denialNameOf(text: string): DenialName | undefined {
  const [, kind, value] = /^(payee|host):(.{1,300})$/.exec(text) ?? [];
  return kind === undefined || value === undefined
    ? undefined
    : nameOf(kind === 'payee' ? 'payee' : 'host', value);
}

/** As it is compared: in lower case. */
export function nameOf(kind: DenialKind, text: string): DenialName | undefined {
  const value = kind === 'payee' ? readAddress(text) : readHost(text);
  return value === undefined ? undefined : { kind, value };
}

/** As it is in the URLs of entries: names beyond ASCII in their form of the DNS, no dot at the end. */
export function readHost(text: string): string | undefined {
  const plain = text.trim().replace(/\.$/, '');
  if (plain.length > HOST_MAX || !/^(\[[0-9a-fA-F:.]+\]|[^\s/:@?#\\[\]<>]+)$/.test(plain)) {
    return undefined;
  }
  try {
    // Outside the web a name beyond ASCII is written with percent signs, and stays so.
    const url = new URL(`${plain.includes('%') ? 'mcp' : 'http'}://${plain}`);
    const host = url.hostname.replace(/\.$/, '').toLowerCase();
    return host !== '' && host.length <= HOST_MAX ? host : undefined;
  } catch {
    return undefined;
  }
}
