import { compressionOf } from '../../platform/fetch/safe-fetch.js';
import { parseSellerJson } from '../../protocol/payment/seller-json.js';
import type { JsonObject } from '../../protocol/payment/wire-values.js';
import type { SellerAnswer } from './answer.js';
import type { DoctorFinding } from './dto/doctor-report.response.js';
import { about } from './finding.js';

/** The payment requirements of a 402 answer, in the form of one protocol version. */
export interface Terms {
  readonly version: 1 | 2;
  /** The place of the terms; findings name their paths from there. */
  readonly place: 'header' | 'body';
  readonly sent: JsonObject;
}

interface ReadTerms {
  readonly terms: readonly Terms[];
  readonly findings: readonly DoctorFinding[];
}

const HEADER = 'payment-required';
const HEADER_PATH = 'header.PAYMENT-REQUIRED';
/** The base64 alphabet that stock clients accept; they refuse the URL-safe one. */
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
/** The most that common proxies pass on, for all headers together. */
const HEADER_CAREFUL_CHARACTERS = 6000;
/** The most that Node's own client accepts, for all headers together. */
const HEADERS_OF_CLIENTS = 16_384;
const ENCODE = 'Encode once: JSON, then base64 of its UTF-8 bytes (RFC 4648, section 4).';

/** Reads a 402 of either version: V2 from the header `PAYMENT-REQUIRED`, V1 from the body. */
export function readTerms(answer: SellerAnswer): ReadTerms {
  const { headers, body, isCutOff } = answer;
  const encoding = compressionOf(answer);
  if (encoding !== undefined && headers[HEADER] === undefined) {
    const expected = 'an answer as it is: the request did not offer to read compressed ones';
    const fix = 'Compress only what Accept-Encoding names.';
    const path = 'header.Content-Encoding';
    return {
      terms: [],
      findings: [about('compressed_unasked', 'error', { path, expected, got: encoding, fix })],
    };
  }
  const header = headers[HEADER] === undefined ? undefined : readHeader(headers[HEADER]);
  const inBody = isCutOff ? undefined : parseSellerJson(body.toString('utf8'));
  const ofBody = termsOfBody(inBody, header !== undefined);
  const terms = [...(header?.terms ?? []), ...ofBody.terms];
  const findings = [...(header?.findings ?? []), ...ofBody.findings];
  if (terms.length > 0 || findings.length > 0) return { terms, findings };
  return { terms, findings: [noTerms(answer, inBody)] };
}

function readHeader(value: string): ReadTerms {
  const long =
    value.length <= HEADER_CAREFUL_CHARACTERS
      ? []
      : [
          about('header_too_long', value.length < HEADERS_OF_CLIENTS ? 'warning' : 'error', {
            path: HEADER_PATH,
            expected: `at most ${HEADER_CAREFUL_CHARACTERS} characters: proxies and clients refuse long headers`,
            got: `${value.length} characters`,
            fix: 'Offer fewer ways to pay, and shorten descriptions and schemas of extensions.',
          }),
        ];
  const broken = (code: string, expected: string): ReadTerms => ({
    terms: [],
    findings: [
      ...long,
      about(code, 'error', { path: HEADER_PATH, expected, got: value, fix: ENCODE }),
    ],
  });
  if (!BASE64.test(value)) return broken('header_not_base64', 'base64 of a JSON object');
  const text = Buffer.from(value, 'base64').toString('utf8');
  const sent = parseSellerJson(text);
  if (sent === undefined) {
    const isTwice =
      BASE64.test(text) && parseSellerJson(Buffer.from(text, 'base64').toString('utf8'));
    return isTwice
      ? broken('header_encoded_twice', 'base64 of a JSON object, once')
      : broken('header_not_json', 'base64 of a JSON object of moderate size');
  }
  if (sent['x402Version'] !== 2) {
    const found = about('version_of_header', 'error', {
      path: `${HEADER_PATH}.x402Version`,
      expected: '2: the header belongs to version 2',
      got: sent['x402Version'],
      fix: 'Send the number 2. Version 1 belongs in the body.',
    });
    return { terms: [], findings: [...long, found] };
  }
  return { terms: [{ version: 2, place: 'header', sent }], findings: long };
}

function termsOfBody(sent: JsonObject | undefined, hasHeader: boolean): ReadTerms {
  if (sent === undefined || !('accepts' in sent || 'x402Version' in sent)) {
    return { terms: [], findings: [] };
  }
  const version = sent['x402Version'];
  if (version === 1) return { terms: [{ version, place: 'body', sent }], findings: [] };
  // Clients ignore a body if the header is present.
  if (hasHeader) return { terms: [], findings: [] };
  if (version !== 2) {
    const found = about('version_unknown', 'error', {
      path: 'body.x402Version',
      expected: '1 or 2, as a number',
      got: version,
      fix: 'Send version 1 in the body, or version 2 in the header PAYMENT-REQUIRED.',
    });
    return { terms: [], findings: [found] };
  }
  const found = about('v2_in_body_only', 'error', {
    path: HEADER_PATH,
    expected: 'the terms of version 2: clients of version 2 read only the header',
    got: undefined,
    fix: `Send the same JSON in the header PAYMENT-REQUIRED. ${ENCODE}`,
  });
  return { terms: [{ version, place: 'body', sent }], findings: [found] };
}

function noTerms({ headers, isCutOff }: SellerAnswer, body: JsonObject | undefined): DoctorFinding {
  const type = `${isCutOff ? 'the body is too long to read, ' : ''}content type ${headers['content-type'] ?? 'unknown'}`;
  return about('no_terms', 'error', {
    path: HEADER_PATH,
    expected: 'the terms of a payment: version 2 in this header, version 1 in the body',
    got: body ?? type,
    fix: 'Let x402 middleware answer, before any page or error handler of yours.',
  });
}
