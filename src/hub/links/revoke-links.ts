/** Links of one kind, as their owners take them back. */
interface RevocableLinks {
  revoke(owner: string, link: string): Promise<void>;
  takeFamilyBack(owner: string, family: string): Promise<void>;
  takeAllBack(owner: string): Promise<number>;
}

/**
 * Takes back one link, those of a family, or every one of an owner where neither is named.
 *
 * @returns what is answered.
 */
export async function revokeLinks(
  links: RevocableLinks,
  owner: string,
  { link, family }: { readonly link: string; readonly family: string },
): Promise<object> {
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
