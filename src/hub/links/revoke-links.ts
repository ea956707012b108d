import type { HubLinksTakenBack } from '../api/hub.response.js';

/** Links of one kind, as their owners take them back. */
interface RevocableLinks {
  revoke(owner: string, link: string): Promise<void>;
  takeFamilyBack(owner: string, family: string): Promise<void>;
  takeAllBack(owner: string): Promise<number>;
}

/**
 * Revokes one link, a family, or all links of an owner where neither is named.
 */
export async function revokeLinks(
  links: RevocableLinks,
  owner: string,
  { link, family }: { readonly link: string; readonly family: string },
): Promise<HubLinksTakenBack> {
  if (link !== '') {
    await links.revoke(owner, link);
    return { Owner: owner, Links: 'one' };
  }
  if (family !== '') {
    await links.takeFamilyBack(owner, family);
    return { Owner: owner, Links: 'family' };
  }
  return { Owner: owner, Links: 'all', IssuedUntil: await links.takeAllBack(owner) };
}
