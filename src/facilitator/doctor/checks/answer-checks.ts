import type { Observed, SellerAnswer } from '../answer.js';
import type { DoctorFinding } from '../dto/doctor-report.response.js';
import { about } from '../finding.js';

/** Statuses other than 402, by what they show about the order of a seller's checks. */
function wrongStatus(status: number, method: string): Pick<DoctorFinding, 'code' | 'fix'> {
  if (status >= 200 && status < 300) {
    const fix =
      'Put the payment middleware in front of the handler, for this method and this path. Routes are matched exactly.';
    return { code: 'answers_without_payment', fix };
  }
  if (status >= 300 && status < 400) {
    const fix = `Offer the address it leads to: clients do not send a ${method} on.`;
    return { code: 'redirects', fix };
  }
  if (status === 400 || status === 413 || status === 415 || status === 422) {
    const fix =
      'Demand payment first and look at the body after it: buyers and catalogues ask without one to learn the price.';
    return { code: 'validates_before_payment', fix };
  }
  if (status === 401 || status === 403) {
    const fix =
      'Take login and bot protection off this route: the payment is what lets a buyer in.';
    return { code: 'asks_for_login', fix };
  }
  if (status === 404 || status === 405) {
    return { code: 'not_found', fix: 'Compare path and method with the route.' };
  }
  if (status >= 500) {
    const fix =
      'Look at the log of the seller. Stock middleware fails like this when it cannot read /supported of its facilitator.';
    return { code: 'seller_fails', fix };
  }
  return { code: 'other_status', fix: 'Answer a request without payment with 402.' };
}

/** Whether the seller demands payment, and does so before anything else. */
export function statusFindings({
  method,
  hasBody,
  answer,
  bare,
}: Observed): readonly DoctorFinding[] {
  const first = statusFinding(answer, method, hasBody ? 'with the body' : 'without payment');
  if (first !== undefined) return [first];
  const second = bare && statusFinding(bare, method, 'without a body');
  return second === undefined ? [] : [second];
}

function statusFinding(
  { status }: SellerAnswer,
  method: string,
  how: string,
): DoctorFinding | undefined {
  if (status === 402) return undefined;
  const { code, fix } = wrongStatus(status, method);
  const expected = `402 to ${method} ${how}`;
  return about(code, 'error', { path: 'status', expected, got: status, fix });
}

const PAYMENT_HEADER = 'payment-signature';
const EXPOSE = 'Access-Control-Expose-Headers';

/** Whether a page in a browser can read the terms and send a payment. */
export function browserFindings({ answer, preflight }: Observed): readonly DoctorFinding[] {
  const { headers } = answer;
  if (headers['access-control-allow-origin'] === undefined) {
    return [
      about('no_browsers', 'note', {
        path: 'header.Access-Control-Allow-Origin',
        expected: '*, or the origin of the request, if pages of other sites may buy',
        got: undefined,
        fix: 'If buyers are programs only, change nothing. Else allow the origin and expose PAYMENT-REQUIRED and PAYMENT-RESPONSE.',
      }),
    ];
  }
  const findings: DoctorFinding[] = [];
  const isInHeader = headers['payment-required'] !== undefined;
  if (isInHeader && !names(headers['access-control-expose-headers'], 'payment-required')) {
    findings.push(
      about('terms_hidden_from_browsers', 'warning', {
        path: `header.${EXPOSE}`,
        expected: 'PAYMENT-REQUIRED, PAYMENT-RESPONSE',
        got: headers['access-control-expose-headers'],
        fix: `Send ${EXPOSE}: PAYMENT-REQUIRED, PAYMENT-RESPONSE. Without this header a script in a browser can read the 402 but not its terms.`,
      }),
    );
  }
  if (preflight !== undefined && isInHeader && !allowsPayment(preflight)) {
    findings.push(
      about('payment_refused_in_browsers', 'warning', {
        path: 'preflight.header.Access-Control-Allow-Headers',
        expected: 'status 2xx, with PAYMENT-SIGNATURE in the list',
        got: `status ${preflight.status}, ${preflight.headers['access-control-allow-headers'] ?? 'no such header'}`,
        fix: 'Answer OPTIONS in front of the payment middleware, and allow the header PAYMENT-SIGNATURE.',
      }),
    );
  }
  return findings;
}

function allowsPayment({ status, headers }: SellerAnswer): boolean {
  const isOk = status >= 200 && status < 300;
  return isOk && names(headers['access-control-allow-headers'], PAYMENT_HEADER);
}

/** Whether a list of a header has a name; without credentials a star stands for all. */
function names(list: string | undefined, name: string): boolean {
  const parts = (list ?? '').split(',').map((part) => part.trim().toLowerCase());
  return parts.includes('*') || parts.includes(name);
}
