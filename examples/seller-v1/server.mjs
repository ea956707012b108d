import { createServer } from 'node:http';

// A seller without a library: x402 V1 is two headers and two requests.
const {
  FACILITATOR_URL = 'http://127.0.0.1:4022',
  NETWORK = 'anvil',
  ASSET,
  ASSET_NAME = 'Sandbox USD',
  ASSET_VERSION = '1',
  PAY_TO,
  PORT = '4032',
} = process.env;
if (ASSET === undefined || PAY_TO === undefined) {
  console.error('ASSET (a token) and PAY_TO (who is paid) are required.');
  process.exit(1);
}

const requirements = {
  scheme: 'exact',
  network: NETWORK,
  maxAmountRequired: '100000000000000000',
  resource: `http://127.0.0.1:${PORT}/report`,
  description: 'A report',
  mimeType: 'application/json',
  payTo: PAY_TO,
  maxTimeoutSeconds: 300,
  asset: ASSET,
  extra: { name: ASSET_NAME, version: ASSET_VERSION },
};

async function ask(what, paymentPayload) {
  const response = await fetch(`${FACILITATOR_URL}/v1/${what}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ x402Version: 1, paymentPayload, paymentRequirements: requirements }),
  });
  return response.json();
}

function readPayment(header) {
  try {
    return JSON.parse(Buffer.from(header, 'base64').toString());
  } catch {
    return undefined;
  }
}

function answer(response, status, body, headers = {}) {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

const refuse = (response, error) =>
  answer(response, 402, { x402Version: 1, error, accepts: [requirements] });

async function serve(request, response) {
  if (request.url !== '/report') return answer(response, 404, { error: 'not found' });
  const header = request.headers['x-payment'];
  if (header === undefined) return refuse(response, 'X-PAYMENT header is required');
  const payment = readPayment(header);
  if (payment === undefined) return refuse(response, 'X-PAYMENT is not JSON in base64');
  const verified = await ask('verify', payment);
  if (!verified.isValid) return refuse(response, verified.invalidReason);
  const settled = await ask('settle', payment);
  // Deliver when it says success, and only then.
  if (!settled.success) return refuse(response, settled.errorReason);
  const receipt = Buffer.from(JSON.stringify(settled)).toString('base64');
  answer(response, 200, { report: 'All is well.' }, { 'x-payment-response': receipt });
}

createServer((request, response) => {
  serve(request, response).catch(() => refuse(response, 'the facilitator did not answer'));
}).listen(Number(PORT), '127.0.0.1', () => {
  console.log(`selling at http://127.0.0.1:${PORT}/report`);
});
