import { checkTerms, type ListingRules } from '../../../protocol/listing/check-terms.js';
import type { JsonObject } from '../../../protocol/payment/wire-values.js';
import type { DoctorFinding } from '../dto/doctor-report.response.js';
import { about } from '../finding.js';
import type { Terms } from '../terms.js';

const FIX = 'Declare it otherwise: payments are settled all the same, and list nothing.';

/** The errors that keep a seller out of the catalogue: the same checks as in a payment. */
export function listingFindings(
  { version, place, sent }: Terms,
  rules: ListingRules,
): readonly DoctorFinding[] {
  const root = place === 'header' ? 'terms' : 'body';
  const checked = checkTerms(version, sent, rules);
  const warning = (code: string, path: string, expected: string, fix = FIX): DoctorFinding =>
    about(code, 'warning', { path: `${root}.${path}`, expected, got: valueAt(sent, path), fix });
  if (checked.kind === 'none') return [];
  if (checked.kind === 'fault') {
    const { code, path, expected } = checked.fault;
    return [warning(code, path, expected)];
  }
  const { unknownAsset, contradiction, notes } = checked;
  const found: DoctorFinding[] = [];
  if (unknownAsset !== undefined) {
    const expected = 'a token that this deployment knows: those of /v2/assets';
    const fix = 'Offer one of these too: others are settled, and list nothing.';
    found.push(warning('asset_not_known', unknownAsset, expected, fix));
  }
  if (contradiction !== undefined) {
    const { path, keyword } = contradiction;
    const expected = `what ${keyword} of its own schema demands`;
    const fix = 'Mend info or its schema: it is listed here, and other catalogues drop it.';
    found.push(warning('info_not_of_schema', path, expected, fix));
  }
  if (notes.includes('schema_missing')) {
    const path = 'extensions.bazaar.schema';
    found.push(
      about('schema_missing', 'note', {
        path: `${root}.${path}`,
        expected: 'a JSON schema of info (other catalogues require one)',
        got: valueAt(sent, path),
        fix: 'Add it, or have declareDiscoveryExtension of the SDK make it.',
      }),
    );
  }
  return found;
}

/** @param path - names and places in lists, such as `accepts[0].asset`. */
function valueAt(sent: JsonObject, path: string): unknown {
  let at: unknown = sent;
  for (const [name] of path.matchAll(/[^.[\]]+/g)) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined;
    at = (at as JsonObject)[name];
  }
  return at;
}
