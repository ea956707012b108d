import { readAddress } from '../../protocol/payment/wire-values.js';
import type { DenialKind, DenialName } from './moderation-store.js';

/** Limit of an operator's reason. */
export const REASON_MAX = 200;
/** Limit of a DNS name. */
const HOST_MAX = 253;

/** `payee:0x…` or `host:shop.example`. */
export function denialNameOf(text: string): DenialName | undefined {
  const [, kind, value] = /^(payee|host):(.{1,300})$/.exec(text) ?? [];
  return kind === undefined || value === undefined
    ? undefined
    : nameOf(kind === 'payee' ? 'payee' : 'host', value);
}

/** The form for comparison: in lower case. */
export function nameOf(kind: DenialKind, text: string): DenialName | undefined {
  const value = kind === 'payee' ? readAddress(text) : readHost(text);
  return value === undefined ? undefined : { kind, value };
}

/** The form in the URLs of entries: internationalized names in their DNS form, without a final dot. */
export function readHost(text: string): string | undefined {
  const plain = text.trim().replace(/\.$/, '');
  if (plain.length > HOST_MAX || !/^(\[[0-9a-fA-F:.]+\]|[^\s/:@?#\\[\]<>]+)$/.test(plain)) {
    return undefined;
  }
  try {
    // Outside the web, a name beyond ASCII is percent-encoded and stays so.
    const url = new URL(`${plain.includes('%') ? 'mcp' : 'http'}://${plain}`);
    const host = url.hostname.replace(/\.$/, '').toLowerCase();
    return host !== '' && host.length <= HOST_MAX ? host : undefined;
  } catch {
    return undefined;
  }
}
