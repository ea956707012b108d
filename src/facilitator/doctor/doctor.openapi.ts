import {
  BODY_REFUSALS,
  describing,
  jsonAnswer,
  KEY_IF_IN_USE,
  NO_KEY,
  type OpenApiPart,
  problem,
  RATE,
} from '../../platform/http/openapi.js';
import { LOOK_UP_UNAVAILABLE } from '../../platform/http/unavailable.filter.js';
import { DoctorReport } from './dto/doctor-report.response.js';

const EXAMPLE = {
  url: 'https://seller.example/report',
  method: 'GET',
  status: 402,
  isSound: false,
  counts: { error: 1, warning: 0, note: 0 },
  offers: [
    {
      path: 'terms.accepts[0]',
      version: 2,
      scheme: 'exact',
      method: 'eip3009',
      network: 'eip155:56',
      asset: '0xcE24439F2D9C6a2289F741120FE202248B666666',
      payTo: '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC',
      amount: '100000000000000000',
      price: '0.1 U',
    },
  ],
  findings: [
    {
      code: 'name_differs',
      severity: 'error',
      path: 'terms.accepts[0].extra.name',
      expected: '"United Stables"',
      got: '"U"',
      fix: 'Buyers sign for this name and version, and the token checks them to the letter.',
    },
  ],
};

/** The description of `POST /v2/doctor`. */
export const DescribesCheck = (): MethodDecorator =>
  describing({ tag: 'Sellers', security: KEY_IF_IN_USE })(
    'examineSeller',
    'Checks a seller with the requests of a buyer',
    {
      200: jsonAnswer('The report.', DoctorReport, EXAMPLE, RATE),
      400: problem('The URL, the method or the body is missing or wrong.', {
        error: 'body must be absent with GET and HEAD.',
        code: 'invalid_request',
        path: 'body',
        expected: 'nothing, with GET and HEAD',
        got: 'an object',
      }),
      401: NO_KEY,
      403: problem('The API key lacks the scope.', {
        error: 'This API key does not have the scope `verify`.',
      }),
      ...BODY_REFUSALS,
      429: problem(
        'This caller asks for too many checks, or too many checks run at once.',
        { error: 'Too many requests.' },
        ['Retry-After'],
      ),
      503: problem('The rate limit cannot be checked now.', {
        error: LOOK_UP_UNAVAILABLE,
      }),
    },
    'Fetches the URL, reads the 402, compares it with the chain and lets a payment of an empty ' +
      'account be verified. It pays nothing. Only public addresses are fetched, unless settings say ' +
      'otherwise. Served only where `DOCTOR` is on.',
  );

/** The check of sellers. */
export const DOCTOR_OPENAPI: OpenApiPart = {
  tags: [{ name: 'Sellers', description: 'What keeps buyers from paying a resource server.' }],
};
